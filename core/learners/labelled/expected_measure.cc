#include "core/learners/labelled/expected_measure.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "core/base/status_macros.h"
#include "core/data/labelled_items.h"
#include "core/data/labelled_queries.h"
#include "core/games/f_beta/f_beta_game.h"
#include "core/games/ranking/precision_game.h"
#include "core/games/ranking/ranking_game.h"
#include "core/learners/labelled/label_accuracy.h"
#include "core/policies/distribution_factory.h"
#include "core/policies/distributions/game_subset_distribution.h"
#include "core/policies/distributions/sized_subset.h"

namespace sortition {
namespace {

using model::v1::GameRanking;
using model::v1::GameSubset;
using Kind = LabelMeasure::Kind;

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

// Returns P(j of the coins show heads) for j = 0 .. n.
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

absl::Status CheckAction(const model::v1::Policy& policy,
                         const LabelMeasure& measure) {
  if (measure.kind == Kind::kAccuracy) return CheckLabelPolicy(policy);
  if (policy.has_independent_labels() || policy.has_label_chain()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the policy's ", measure.Name(), " is not known"));
  }
  const ActionKind action = ActionKindOf(policy);
  if ((action == ActionKind::kSelect) != (measure.kind == Kind::kGain)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the policy ",
                     action == ActionKind::kSelect ? "selects a candidate"
                     : action == ActionKind::kRank ? "ranks candidates"
                                                   : "labels candidates",
                     ": it has no ", measure.Name()));
  }
  if (action == ActionKind::kSelect) return absl::OkStatus();
  const bool subset = action == ActionKind::kSubset;
  if (measure.kind == Kind::kPrecision && subset &&
      SubsetSize(policy) != measure.k) {
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
    LabelMeasure measure, uint32_t draws) {
  RETURN_IF_ERROR(CheckAction(policy, measure));
  ExpectedMeasure result(policy, std::move(weights), std::move(measure));
  if (result.measure_.kind == Kind::kAccuracy) return result;
  ASSIGN_OR_RETURN(LinearPolicy linear,
                   LinearPolicy::Create(policy, result.weights_));
  result.linear_ = std::make_shared<const LinearPolicy>(std::move(linear));
  if (ActionKindOf(policy) == ActionKind::kRank &&
      policy.uniform_mixture() < 1 &&
      !PlaysTheMeasure(policy, result.measure_)) {
    result.num_draws_ = draws;
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
    linear_->Decide(policy_query, key, &workspace, &draw);
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
  const double uniform = ByChance(gains);
  if (epsilon == 1) return uniform;
  const Discounts discounts = DiscountsOf(gains.size());
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
    // Plays the game as core/policies/distributions/game_subset_distribution.cc
    // does.
    FBetaSolver solver;
    FBetaEquilibrium equilibrium;
    FBetaOptions options = FBetaOptionsOf(game);
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
  const size_t k = std::min<size_t>(SubsetSize(policy_), n);
  const auto of_size = [&](std::vector<double> inclusion) {
    return OfSets(gains, {{static_cast<uint32_t>(k), 1, std::move(inclusion)}});
  };
  const double uniform = ByChance(gains);
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

double ExpectedMeasure::OfSelection(const LabelledItems& query) const {
  PolicyQuery asked;
  asked.candidates = query.items;
  return Dot(linear_->FirstProbabilities(asked, nullptr), GainsOf(query));
}

absl::StatusOr<double> ExpectedMeasure::Of(const LabelledItems& query,
                                           uint64_t seed) const {
  if (num_draws_ > 0) return ByDraws(query, seed);
  if (measure_.kind == Kind::kAccuracy) {
    ASSIGN_OR_RETURN(const LabelFigures figures,
                     LabelFiguresOf(policy_, weights_, query));
    return figures.expected;
  }
  if (measure_.kind == Kind::kGain) return OfSelection(query);
  std::vector<double> scores(query.relevances.size());
  ScoreAll(query.items, weights_, scores);
  return ActionKindOf(policy_) == ActionKind::kSubset
             ? OfSubset(GainsOf(query), scores)
             : OfRanking(GainsOf(query), scores);
}

std::vector<double> ExpectedMeasure::GainsOf(const LabelledItems& query) const {
  std::vector<double> gains;
  for (const uint32_t relevance : query.relevances) {
    gains.push_back(measure_.gains[relevance]);
  }
  return gains;
}

double ExpectedMeasure::ByScore(const LabelledItems& query) const {
  if (measure_.kind == Kind::kAccuracy) {
    return LabelFiguresOf(policy_, weights_, query)->by_score;
  }
  std::vector<double> scores(query.relevances.size());
  ScoreAll(query.items, weights_, scores);
  return MeasureByScore(measure_, query.relevances, scores,
                        linear_->threshold());
}

double ExpectedMeasure::ByChance(const LabelledItems& query) const {
  if (measure_.kind == Kind::kAccuracy) {
    return LabelFiguresOf(policy_, weights_, query)->by_chance;
  }
  return ByChance(GainsOf(query));
}

double ExpectedMeasure::ByChance(std::span<const double> gains) const {
  const size_t n = gains.size();
  switch (ActionKindOf(policy_)) {
    case ActionKind::kSelect:
      return SumOf(gains) /
             static_cast<double>(n + (linear_->can_abstain() ? 1 : 0));
    case ActionKind::kRank:
      return DiscountsOf(n).Mean(n) * SumOf(gains);
    case ActionKind::kSubset:
      break;
  }
  const size_t k = std::min<size_t>(SubsetSize(policy_), n);
  if (k == 0) {
    return IndependentFBeta(measure_.beta, gains, std::vector<double>(n, 0.5));
  }
  const double share = static_cast<double>(k) / static_cast<double>(n);
  return OfSets(gains,
                {{static_cast<uint32_t>(k), 1, std::vector<double>(n, share)}});
}

std::optional<double> ExpectedMeasure::Entropy(
    const LabelledItems& query) const {
  if (measure_.kind == Kind::kAccuracy) {
    return LabelFiguresOf(policy_, weights_, query)->entropy;
  }
  if (policy_.has_game_ranking() || policy_.has_game_subset()) {
    return std::nullopt;
  }
  PolicyQuery asked;
  asked.candidates = query.items;
  double abstain = 0;
  const std::vector<double> probabilities =
      linear_->FirstProbabilities(asked, &abstain);
  const auto of = [](double p) { return p > 0 ? -p * std::log(p) : 0; };
  const bool subset = ActionKindOf(policy_) == ActionKind::kSubset;
  double entropy = subset ? 0 : of(abstain);
  for (const double p : probabilities) {
    entropy += of(p) + (subset ? of(1 - p) : 0);
  }
  return entropy;
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
