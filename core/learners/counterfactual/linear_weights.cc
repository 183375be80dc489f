#include "core/learners/counterfactual/linear_weights.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/status_macros.h"
#include "core/learners/counterfactual/calibration.h"
#include "core/learners/counterfactual/feature_block.h"
#include "core/policies/distributions/boltzmann_ranking_distribution.h"

namespace sortition {
namespace {

// Returns -log of the number of subsets of n items: those of `size`, or all if
// size is 0.
double LogUniformSubset(size_t n, size_t size) {
  if (size == 0) return -std::log(2) * static_cast<double>(n);
  double log_q = 0;
  for (size_t j = 0; j < std::min(size, n - size); ++j) {
    log_q -= std::log(static_cast<double>(n - j) / static_cast<double>(j + 1));
  }
  return log_q;
}

// Returns log q of the logged action under the uniform policy over the query's
// actions.
double LogUniform(const LinearFamily& family, const BanditTuple& tuple) {
  const double rows = static_cast<double>(tuple.num_candidates());
  if (family.action_kind == ActionKind::kSelect) {
    return -std::log(rows + (family.can_abstain ? 1 : 0));
  }
  if (family.action_kind == ActionKind::kSubset) {
    return LogUniformSubset(tuple.num_candidates(),
                            family.subset_size > 0 ? tuple.action.size() : 0);
  }
  double log_orders = 0;
  for (size_t rank = 0; rank < tuple.action.size(); ++rank) {
    log_orders += std::log(rows - static_cast<double>(rank));
  }
  return -log_orders;
}

// Returns how many ranks of Plackett-Luce have a ∂ log h as long as that of k
// ranks of n: half of the largest possible sum of the weights of row
// differences. For Boltzmann these weights are E[a_rank | first ranks] -
// E[a_rank], and a may be shifted by a constant.
double CountedRanks(const model::v1::BoltzmannRanking& boltzmann, size_t n,
                    size_t k) {
  const std::vector<double> a = RankWeightsOf(boltzmann);
  double ranks = 0;
  for (size_t r = 0; r < n; ++r) ranks += a[r] - a[n - 1];
  if (boltzmann.plackett_luce_mixture() == 0) return ranks;
  const double scale = boltzmann.plackett_luce_scale();
  return std::max(ranks, (scale == 0 ? 1 : scale) * static_cast<double>(k));
}

// The same for Plackett-Luce with rank factors: rank r has a term of the length
// of f_r ranks.
double CountedRanks(std::span<const double> factors, size_t k) {
  double ranks = 0;
  for (size_t r = 0; r < k; ++r) {
    ranks += factors[std::min(r, factors.size() - 1)];
  }
  return ranks;
}

}  // namespace

absl::StatusOr<WeightedTuples> WeighLinear(
    const LinearFamily& family, const Eigen::VectorXd& parameters,
    std::span<const BanditTuple> tuples) {
  ASSIGN_OR_RETURN(LinearTuplePolicy policy,
                   LinearTuplePolicy::Create(family, tuples));
  WeightedTuples weighted = Weigh(parameters, &policy);
  weighted.log_uniform.reserve(tuples.size());
  for (const BanditTuple& tuple : tuples) {
    weighted.log_uniform.push_back(LogUniform(family, tuple));
    weighted.units.push_back(tuple.unit);
    if (!tuple.action_shown) ++weighted.shown_otherwise;
    if (!tuple.full_support) ++weighted.without_full_support;
  }
  if (weighted.shown_otherwise > 0) {
    ASSIGN_OR_RETURN(
        LinearTuplePolicy drawn,
        LinearTuplePolicy::Create(family, tuples, HiddenActions::kWeighed));
    weighted.log_drawn_weights = LogWeights(parameters, &drawn);
  }
  return weighted;
}

absl::StatusOr<WeightedTuples> WeighMap(const LinearFamily& family,
                                        const Eigen::VectorXd& parameters,
                                        std::span<const BanditTuple> tuples) {
  ASSIGN_OR_RETURN(WeightedTuples weighted,
                   WeighLinear(family, parameters, tuples));
  if (tuples.empty()) return weighted;
  model::v1::Model model;
  *model.mutable_policy() = PolicyAt(family, parameters);
  for (const double weight : WeightsAt(family, parameters)) {
    model.add_weights(weight);
  }
  ASSIGN_OR_RETURN(const ScoredQueries queries,
                   ScoredQueries::Create(model, {tuples}));
  for (size_t i = 0; i < tuples.size(); ++i) {
    const bool taken =
        tuples[i].action_shown &&
        MapPrediction(family.action_kind, queries[i]) == tuples[i].action;
    weighted.log_weights[i] = taken ? -tuples[i].log_propensity
                                    : -std::numeric_limits<double>::infinity();
  }
  return weighted;
}

std::optional<LinearFamilyBall> LinearBall(const LinearFamily& family,
                                           const Eigen::VectorXd& parameters,
                                           std::span<const BanditTuple> train) {
  LinearFamilyBall ball{.dimension = static_cast<uint64_t>(family.dimension()),
                        .radius = parameters.norm(),
                        .feature_norm = family.can_abstain ? 1.0 : 0.0};
  // For subsets of any size, ∇ log h is a sum of n terms, each no longer than a
  // row and a 1. For subsets of k it is k rows minus the mean of k rows.
  const bool any_size =
      family.action_kind == ActionKind::kSubset && family.has_constant();
  double longest = 0;  // ‖x‖²
  FeatureBlock features;
  for (const BanditTuple& tuple : train) {
    const Candidates& candidates = features.Load(tuple);
    for (size_t row = 0; row < candidates.num_candidates(); ++row) {
      const bool sparse = candidates.sparse();
      const size_t begin = sparse ? candidates.row_offsets()[row]
                                  : row * candidates.num_features();
      const size_t end = sparse ? candidates.row_offsets()[row + 1]
                                : begin + candidates.num_features();
      double squares = 0;
      for (size_t j = begin; j < end; ++j) {
        const double value = candidates.values()[j];
        squares += value * value;
      }
      longest = std::fmax(longest, squares);
    }
    double ranks = static_cast<double>(any_size ? tuple.num_candidates()
                                                : tuple.action.size());
    if (family.boltzmann) {
      if (tuple.num_candidates() > HeadOf(*family.boltzmann)) {
        return std::nullopt;
      }
      ranks = CountedRanks(*family.boltzmann, tuple.num_candidates(),
                           tuple.action.size());
    } else if (!family.rank_factors.empty()) {
      ranks = CountedRanks(family.rank_factors, tuple.action.size());
    }
    if (!(ranks < 1e18)) return std::nullopt;  // The bound would say nothing.
    ball.ranks = std::max(ball.ranks, static_cast<uint64_t>(std::ceil(ranks)));
  }
  if (any_size) longest += 1;
  ball.feature_norm = std::fmax(ball.feature_norm, std::sqrt(longest));
  return ball;
}

}  // namespace sortition
