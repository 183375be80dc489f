#include "server/decisions/decision_cost.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace sortition {
namespace {

// Measured on a core of 2022 (bench/MEASUREMENTS.md), rounded up.
constexpr double kPerCandidate = 150e-9;  // Exponential, logarithm, sort.
constexpr double kPerCell = 9e-9;         // Of the table of a sized subset.
constexpr double kPerProduct = 4e-9;      // Of the sums over sets of a head.
// An estimate: of a candidate, at a rank drawn on its own.
constexpr double kPerRank = 15e-9;
constexpr double kPerTree = 15e-9;        // Of a candidate.
constexpr double kPerUnit = 50e-9;        // Of a candidate.
constexpr double kPerConnection = 1e-9;   // Of a candidate to a hidden unit.
constexpr double kPerStep = 60e-9;        // Of features that are made.
constexpr double kPerColumnByte = 10e-9;  // To check and to copy.
constexpr double kPerScore = 100e-9;      // Of a source: scale, sort, compare.
constexpr double kPerWork = 10e-9;        // Of a bootstrap.
constexpr uint32_t kShortGame = 32;
constexpr uint32_t kDefaultHead = 12;  // model.proto

}  // namespace

double DrawSeconds(const model::v1::Policy& policy, uint32_t num_eligible,
                   uint32_t size) {
  const double n = num_eligible;
  const double seconds = kPerCandidate * n;
  switch (policy.kind_case()) {
    case model::v1::Policy::kIndependentSubset:
      return seconds + kPerCell * n * size;
    case model::v1::Policy::kBoltzmannRanking: {
      const uint32_t asked = policy.boltzmann_ranking().head();
      const double head =
          std::min(asked == 0 ? kDefaultHead : asked, num_eligible);
      return seconds + kPerProduct * std::exp2(head) * head / 2;
    }
    case model::v1::Policy::kPlackettLuce: {
      const double factors = policy.plackett_luce().rank_factors_size();
      const double ranks = size == 0 ? n : size;
      return seconds + kPerRank * n * std::min(ranks, factors);
    }
    case model::v1::Policy::kGameSubset:
      // That of precision chooses a number, that of F-score does not.
      return size > 0 || num_eligible < kShortGame
                 ? seconds
                 : seconds + std::max(2 * kLongSeconds, 5e-6 * n);
    default:
      return seconds;
  }
}

absl::StatusOr<double> FeatureSeconds(const ServedModel& model,
                                      const PolicyQuery& query) {
  const double per_candidate =
      kPerTree * model.num_trees + kPerUnit * model.num_units +
      kPerConnection * static_cast<double>(model.num_connections);
  double seconds = per_candidate * query.num_candidates();
  if (query.columns == nullptr) return seconds;
  seconds +=
      kPerColumnByte * static_cast<double>(query.columns->ByteSizeLong());
  if (model.transform == nullptr) return seconds;
  BoundColumns bound;
  absl::Status status = bound.Bind(model.transform->schema(), *query.columns,
                                   {.check_values = false});
  if (status.ok()) {
    const auto steps = model.transform->CountSteps(bound);
    if (steps.ok()) return seconds + kPerStep * static_cast<double>(*steps);
    status = steps.status();
  }
  return absl::Status(
      status.code(),
      absl::StrCat("context.candidates.columns: ", status.message(),
                   " (version ", model.version, " of the model)"));
}

absl::StatusOr<double> DecisionSeconds(const v1::DecisionContext& context,
                                       const ServingSet& set,
                                       const VersionChoice& choice,
                                       const PolicyQuery& query) {
  // As a bound, all candidates count as eligible.
  const uint32_t n = query.num_candidates();
  const model::v1::LearningMode mode = set.serving.mode();
  double seconds = DrawSeconds(choice.model->policy, n, query.top_k);
  if (context.return_probabilities()) seconds *= 2;
  if (mode == model::v1::SHADOW || mode == model::v1::OFF) return seconds;
  ASSIGN_OR_RETURN(const double of_features,
                   FeatureSeconds(*choice.model, query));
  seconds += of_features;
  if (choice.arm != nullptr && mode != model::v1::APPRENTICE) {
    // Each arm is asked, too, how probable it finds what was drawn.
    for (const ServingSet::Arm& arm : set.arms) {
      if (&arm == choice.arm) continue;
      ASSIGN_OR_RETURN(const double of_arm, FeatureSeconds(*arm.model, query));
      seconds += DrawSeconds(arm.model->policy, n, query.top_k) + of_arm;
    }
  }
  if (choice.interleaved != nullptr) {
    // Two trees over the candidates, which each rank walks and updates.
    constexpr double kPerNode = 60e-9;
    const uint32_t ranks = query.top_k == 0 ? n : std::min(query.top_k, n);
    ASSIGN_OR_RETURN(const double of_other,
                     FeatureSeconds(*choice.interleaved->other, query));
    seconds += 2 * kPerNode * (n + 1.0 * ranks * std::bit_width(n)) + of_other;
  }
  return seconds;
}

double AggregateSeconds(uint32_t num_eligible, uint32_t num_sources,
                        uint64_t work) {
  return kPerScore * num_eligible * num_sources +
         kPerWork * static_cast<double>(work);
}

}  // namespace sortition
