#include "core/learners/expected_measure.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "core/base/status_macros.h"
#include "core/games/f_beta_game.h"
#include "core/games/precision_game.h"
#include "core/games/ranking_game.h"
#include "core/policies/sized_subset.h"

namespace sortition {
namespace {

using model::v1::GameRanking;
using model::v1::GameSubset;
using Kind = LabelMeasure::Kind;

// Defaults of GameSubset.
constexpr double kDefaultTolerance = 1e-3;
constexpr uint32_t kDefaultRounds = 1000;

double SumOf(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

double Dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

bool PlaysTheMeasure(const model::v1::Policy& policy,
                     const LabelMeasure& measure) {
  if (!policy.has_game_ranking()) return false;
  const GameRanking& game = policy.game_ranking();
  const auto discount = measure.kind == Kind::kPrecision
                            ? GameRanking::PRECISION
                            : GameRanking::DCG;
  return game.discount() == discount && game.cutoff() == measure.k &&
         game.plackett_luce_mixture() == 0;
}

// P(j of the coins fall), j = 0 .. n.
std::vector<double> SumOfCoins(std::span<const double> probabilities) {
  std::vector<double> sum = {1};
  for (const double p : probabilities) {
    sum.push_back(0);
    for (size_t j = sum.size() - 1; j > 0; --j) {
      sum[j] = sum[j] * (1 - p) + sum[j - 1] * p;
    }
    sum[0] *= 1 - p;
  }
  return sum;
}

// Members of a subset, where that is fixed; else 0.
uint32_t FixedSize(const model::v1::Policy& policy) {
  if (policy.has_independent_subset()) return policy.independent_subset().k();
  return policy.game_subset().measure() == GameSubset::PRECISION
             ? policy.game_subset().k()
             : 0;
}

absl::Status CheckAction(const model::v1::Policy& policy,
                         const LabelMeasure& measure) {
  const ActionKind action = ActionKindOf(policy);
  if (policy.has_independent_labels() || action == ActionKind::kSelect) {
    return absl::FailedPreconditionError(
        absl::StrCat("the policy neither ranks nor labels candidates: it has "
                     "no ",
                     measure.Name()));
  }
  const bool subset = action == ActionKind::kSubset;
  if (measure.kind == Kind::kPrecision && subset &&
      FixedSize(policy) != measure.k) {
    return absl::FailedPreconditionError(
        absl::StrCat("the policy does not choose ", measure.k,
                     " candidates: it has no ", measure.Name()));
  }
  if (subset == (measure.kind == Kind::kDcg) &&
      measure.kind != Kind::kPrecision) {
    return absl::FailedPreconditionError(
        absl::StrCat("the policy ", subset ? "labels" : "ranks",
                     " candidates: it has no ", measure.Name()));
  }
  return absl::OkStatus();
}

}  // namespace

ExpectedMeasure::ExpectedMeasure(const model::v1::Policy& policy,
                                 std::vector<double> weights,
                                 LabelMeasure measure)
    : policy_(policy),
      weights_(std::move(weights)),
      measure_(std::move(measure)) {}

absl::StatusOr<ExpectedMeasure> ExpectedMeasure::Create(
    const model::v1::Policy& policy, std::vector<double> weights,
    LabelMeasure measure) {
  RETURN_IF_ERROR(CheckAction(policy, measure));
  ExpectedMeasure result(policy, std::move(weights), std::move(measure));
  ASSIGN_OR_RETURN(LinearPolicy drawn,
                   LinearPolicy::Create(policy, result.weights_));
  if (ActionKindOf(policy) == ActionKind::kRank &&
      !PlaysTheMeasure(policy, result.measure_)) {
    result.num_draws_ = kDraws;
    result.drawn_ = std::make_shared<const LinearPolicy>(std::move(drawn));
  }
  return result;
}

absl::StatusOr<double> ExpectedMeasure::ByDraws(const LabelledItems& query,
                                                uint64_t seed) const {
  PolicyWorkspace workspace;
  Draw draw;
  PolicyQuery policy_query;
  policy_query.candidates = query.items;
  double sum = 0;
  for (uint32_t d = 0; d < num_draws_; ++d) {
    const Hash128 key =
        StableHash(HashDomain::kTraining,
                   {"measure", absl::StrCat(seed), absl::StrCat(d)});
    drawn_->Decide(policy_query, key, &workspace, &draw);
    if (draw.log_propensity == -HUGE_VAL) {
      return absl::InvalidArgumentError(
          "scores are beyond what the policy can draw exactly");
    }
    sum += EvaluateAction(measure_, query.relevances, draw.action);
  }
  return sum / num_draws_;
}

Discounts ExpectedMeasure::DiscountsOf(size_t num_items) const {
  if (measure_.kind == Kind::kPrecision) {
    return *Discounts::PrecisionAt(measure_.k);
  }
  return Discounts::Dcg(
      measure_.k == 0 ? num_items : std::min<size_t>(measure_.k, num_items));
}

absl::StatusOr<double> ExpectedMeasure::OfRanking(
    std::span<const double> gains, std::span<const double> scores) const {
  const double epsilon = policy_.uniform_mixture();
  const Discounts discounts = DiscountsOf(gains.size());
  const double uniform = discounts.Mean(gains.size()) * SumOf(gains);
  if (epsilon == 1) return uniform;
  std::vector<double> psi(scores.begin(), scores.end());
  const double scale = policy_.inverse_temperature() / (1 - epsilon);
  for (double& potential : psi) potential *= scale;
  RankingGame game;
  RankingEquilibrium equilibrium;
  RETURN_IF_ERROR(game.Solve(psi, discounts, {}, &equilibrium));
  return (1 - epsilon) * Dot(equilibrium.expected_discounts, gains) +
         epsilon * uniform;
}

double ExpectedMeasure::OfSets(
    std::span<const double> gains,
    const std::vector<SizedSetMarginals>& sets) const {
  double expected = 0;
  for (const SizedSetMarginals& of_size : sets) {
    const double hits =
        of_size.size == 0 ? 0 : Dot(of_size.inclusion_probabilities, gains);
    expected += of_size.probability *
                (measure_.kind == Kind::kPrecision
                     ? hits / measure_.k
                     : FBeta(measure_.beta, of_size.size, SumOf(gains), hits));
  }
  return expected;
}

absl::StatusOr<std::vector<SizedSetMarginals>> ExpectedMeasure::PlaySubset(
    std::span<const double> scores) const {
  const GameSubset& game = policy_.game_subset();
  const bool precision = game.measure() == GameSubset::PRECISION;
  const double alpha = policy_.inverse_temperature();
  std::vector<double> psi(scores.begin(), scores.end());
  for (double& potential : psi) {
    potential = alpha * (potential - game.threshold());
    if (precision) potential /= 1 - policy_.uniform_mixture();
  }
  if (!precision) {
    // As core/policies/game_subset_distribution.cc plays it.
    FBetaSolver solver;
    FBetaEquilibrium equilibrium;
    FBetaOptions options;
    options.beta = game.beta() == 0 ? 1 : game.beta();
    options.tolerance =
        game.tolerance() == 0 ? kDefaultTolerance : game.tolerance();
    options.max_rounds = static_cast<int>(
        game.max_rounds() == 0 ? kDefaultRounds : game.max_rounds());
    options.with_adversary = false;
    absl::Status status = solver.Solve(psi, options, nullptr, &equilibrium);
    if (absl::IsInternal(status)) {
      options.max_rounds = 0;
      status = solver.Solve(psi, options, nullptr, &equilibrium);
    }
    RETURN_IF_ERROR(status);
    return std::move(equilibrium.predictor);
  }
  PrecisionGame solver;
  RankingEquilibrium equilibrium;
  RETURN_IF_ERROR(solver.Solve(psi, game.k(), {}, &equilibrium));
  SizedSetMarginals sets;
  sets.size = static_cast<uint32_t>(std::min<size_t>(game.k(), psi.size()));
  sets.probability = 1;
  for (const double d : equilibrium.expected_discounts) {
    sets.inclusion_probabilities.push_back(d * game.k());
  }
  return std::vector{std::move(sets)};
}

absl::Status ExpectedMeasure::IndependentInclusion(
    std::span<const double> scores, size_t size,
    std::span<double> inclusion) const {
  const size_t n = scores.size();
  std::vector<double> logits(n);
  for (size_t i = 0; i < n; ++i) {
    logits[i] = policy_.inverse_temperature() *
                (scores[i] - policy_.independent_subset().threshold());
    inclusion[i] = 1 / (1 + std::exp(-logits[i]));
  }
  if (size == 0) return absl::OkStatus();
  if (!SizedSubset::IsWithinLimit(n, size)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a query has ", n, " candidates, must have at most ",
                     SizedSubset::kMaxCells / size, " for subsets of ", size));
  }
  SizedSubset subset;
  subset.SetLogits(logits, static_cast<uint32_t>(size));
  std::vector<double> out(n);
  subset.Marginals(inclusion, out);
  return absl::OkStatus();
}

absl::StatusOr<double> ExpectedMeasure::OfSubset(
    std::span<const double> gains, std::span<const double> scores) const {
  const double epsilon = policy_.uniform_mixture();
  const size_t n = gains.size();
  const size_t k = std::min<size_t>(FixedSize(policy_), n);
  const auto of_size = [&](std::vector<double> inclusion) {
    return OfSets(gains, {{static_cast<uint32_t>(k), 1, std::move(inclusion)}});
  };
  const double uniform =
      k > 0
          ? of_size(std::vector<double>(
                n, static_cast<double>(k) / static_cast<double>(n)))
          : IndependentFBeta(measure_.beta, gains, std::vector<double>(n, 0.5));
  if (epsilon == 1) return uniform;
  double played = 0;
  if (policy_.has_game_subset()) {
    ASSIGN_OR_RETURN(const auto sets, PlaySubset(scores));
    played = OfSets(gains, sets);
  } else {
    std::vector<double> inclusion(n);
    RETURN_IF_ERROR(IndependentInclusion(scores, k, inclusion));
    played = k > 0 ? of_size(std::move(inclusion))
                   : IndependentFBeta(measure_.beta, gains, inclusion);
  }
  return (1 - epsilon) * played + epsilon * uniform;
}

absl::StatusOr<double> ExpectedMeasure::Of(const LabelledItems& query,
                                           uint64_t seed) const {
  if (num_draws_ > 0) return ByDraws(query, seed);
  const size_t n = query.relevances.size();
  std::vector<double> gains(n);
  std::vector<double> scores(n);
  std::vector<uint32_t> items(n);
  std::iota(items.begin(), items.end(), 0u);
  query.items.Scores(items, weights_, scores);
  for (size_t i = 0; i < n; ++i) {
    gains[i] = measure_.gains[query.relevances[i]];
  }
  return ActionKindOf(policy_) == ActionKind::kSubset
             ? OfSubset(gains, scores)
             : OfRanking(gains, scores);
}

double IndependentFBeta(double beta, std::span<const double> gains,
                        std::span<const double> probabilities) {
  std::vector<double> of_relevant;
  std::vector<double> of_others;
  for (size_t i = 0; i < gains.size(); ++i) {
    (gains[i] > 0 ? of_relevant : of_others).push_back(probabilities[i]);
  }
  const std::vector<double> hits = SumOfCoins(of_relevant);
  const std::vector<double> misses = SumOfCoins(of_others);
  const auto num_positives = static_cast<double>(of_relevant.size());
  double expected = 0;
  for (size_t h = 0; h < hits.size(); ++h) {
    for (size_t m = 0; m < misses.size(); ++m) {
      expected += hits[h] * misses[m] *
                  FBeta(beta, static_cast<double>(h + m), num_positives,
                        static_cast<double>(h));
    }
  }
  return expected;
}

}  // namespace sortition
