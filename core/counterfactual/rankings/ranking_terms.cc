#include "core/counterfactual/rankings/ranking_terms.h"

#include <algorithm>
#include <cmath>

namespace sortition {
namespace {

using Weight = RankingWeightKind;

double WeightOf(double log_weight) {
  // Its square must be finite.
  constexpr double kMostLogWeight = 300;
  return std::exp(std::fmin(log_weight, kMostLogWeight));
}

// Σ_k of the position model.
struct PositionSums {
  double logged = 0;
  double policy = 0;
};

PositionSums SumPositions(const JudgedRanking& judged, size_t counted) {
  PositionSums sums;
  for (size_t k = 0; k < counted; ++k) {
    sums.logged += judged.position_logged[k];
    sums.policy += judged.position_policy[k];
  }
  return sums;
}

}  // namespace

void ComputeRankingWeights(const RankedDecision& decision,
                           const JudgedRanking& judged,
                           const RankingInputs& inputs, size_t num_counted,
                           RankingWeights* weights) {
  const size_t shown = decision.rewards.size();
  weights->prefix.clear();
  weights->marginal.clear();
  weights->shown = 1;
  double log_weight = 0;
  for (size_t k = 0; k < decision.log_conditionals.size(); ++k) {
    // Once impossible, an order stays so, whatever is said of lower ranks.
    if (std::isfinite(log_weight)) {
      log_weight += judged.log_conditionals[k] - decision.log_conditionals[k];
    }
    if (k < shown && k < num_counted) {
      weights->prefix.push_back(WeightOf(log_weight));
    }
    if (k + 1 == shown) weights->shown = WeightOf(log_weight);
  }
  weights->whole = WeightOf(log_weight);
  weights->prefix.resize(num_counted, weights->shown);
  if (inputs.marginals) {
    for (size_t k = 0; k < std::min(shown, num_counted); ++k) {
      weights->marginal.push_back(
          WeightOf(judged.log_marginals[k] - decision.log_marginals[k]));
    }
  }
  weights->marginal.resize(num_counted, 1);
  weights->pseudo_inverse = judged.pseudo_inverse_weight.value_or(1);
}

RankingTerms RankingTermsOf(const RankingValue& value,
                            const RankedDecision& decision,
                            const JudgedRanking& judged,
                            const RankingInputs& inputs,
                            const RankingWeights& weights) {
  const auto at = [](Weight kind) { return static_cast<size_t>(kind); };
  const size_t counted =
      std::min(decision.rewards.size(), value.rank_weights.size());
  const double whole_gain = value.whole_weight * decision.whole_reward;
  RankingTerms terms;
  terms.reward = whole_gain;
  terms.largest = value.whole_weight;
  // Feedback without a rank.
  const double shown_gain = weights.shown * whole_gain;
  for (const Weight kind : {Weight::kPrefix, Weight::kMarginal}) {
    terms.plain[at(kind)] = shown_gain;
    terms.doubly_robust[at(kind)] = shown_gain;
    terms.weight[at(kind)] = weights.shown * value.whole_weight;
  }
  for (size_t k = 0; k < counted; ++k) {
    const double rank_weight = value.rank_weights[k];
    const double gain = rank_weight * decision.rewards[k];
    terms.reward += gain;
    terms.largest += rank_weight;
    terms.plain[at(Weight::kPrefix)] += weights.prefix[k] * gain;
    terms.weight[at(Weight::kPrefix)] += weights.prefix[k] * rank_weight;
    terms.plain[at(Weight::kMarginal)] += weights.marginal[k] * gain;
    terms.weight[at(Weight::kMarginal)] += weights.marginal[k] * rank_weight;
    if (inputs.prefix_model) {
      const double above = k == 0 ? 1 : weights.prefix[k - 1];
      terms.doubly_robust[at(Weight::kPrefix)] +=
          above * judged.prefix_policy[k] +
          weights.prefix[k] * (gain - judged.prefix_logged[k]);
    }
    if (inputs.position_model) {
      terms.doubly_robust[at(Weight::kMarginal)] +=
          judged.position_policy[k] +
          weights.marginal[k] * (gain - judged.position_logged[k]);
    }
  }
  if (!inputs.prefix_model) {
    terms.doubly_robust[at(Weight::kPrefix)] = terms.plain[at(Weight::kPrefix)];
  }
  PositionSums model;
  if (inputs.position_model) {
    model = SumPositions(judged, counted);
  } else {
    terms.doubly_robust[at(Weight::kMarginal)] =
        terms.plain[at(Weight::kMarginal)];
  }
  terms.direct = model.policy + shown_gain;
  const auto set = [&](Weight kind, double weight) {
    terms.plain[at(kind)] = weight * terms.reward;
    terms.doubly_robust[at(kind)] =
        model.policy + weight * (terms.reward - model.logged);
    terms.weight[at(kind)] = weight * terms.largest;
  };
  set(Weight::kWholeOrder, weights.whole);
  set(Weight::kShownPrefix, weights.shown);
  set(Weight::kPseudoInverse, weights.pseudo_inverse);
  return terms;
}

}  // namespace sortition
