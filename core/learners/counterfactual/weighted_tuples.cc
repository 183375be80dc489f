#include "core/learners/counterfactual/weighted_tuples.h"

#include <algorithm>
#include <numeric>
#include <type_traits>

namespace sortition {

std::vector<double> WeightedTuples::Losses() const {
  std::vector<double> losses;
  losses.reserve(rewards.size());
  for (const double reward : rewards) losses.push_back(-reward);
  return losses;
}

WeightedTuples WeightedTuples::At(std::span<const size_t> indexes) const {
  const auto take = [&](const auto& all) {
    std::decay_t<decltype(all)> taken;
    if (all.empty()) return taken;
    taken.reserve(indexes.size());
    for (const size_t i : indexes) taken.push_back(all[i]);
    return taken;
  };
  return {.rewards = take(rewards),
          .log_weights = take(log_weights),
          .log_drawn_weights = take(log_drawn_weights),
          .log_propensities = take(log_propensities),
          .log_uniform = take(log_uniform),
          .units = take(units)};
}

std::vector<double> LogWeights(const Eigen::VectorXd& parameters,
                               TuplePolicy* policy) {
  std::vector<double> log_weights(policy->num_tuples());
  std::vector<uint32_t> block;
  for (size_t begin = 0; begin < log_weights.size(); begin += block.size()) {
    block.resize(std::min(policy->block_size(), log_weights.size() - begin));
    std::iota(block.begin(), block.end(), static_cast<uint32_t>(begin));
    policy->LogProbabilities(
        parameters, block, std::span(log_weights).subspan(begin, block.size()));
  }
  for (size_t i = 0; i < log_weights.size(); ++i) {
    log_weights[i] -= policy->log_propensity(i);
  }
  return log_weights;
}

std::vector<double> Rewards(const TuplePolicy& policy) {
  std::vector<double> rewards(policy.num_tuples());
  for (size_t i = 0; i < rewards.size(); ++i) rewards[i] = policy.reward(i);
  return rewards;
}

WeightedTuples Weigh(const Eigen::VectorXd& parameters, TuplePolicy* policy) {
  WeightedTuples weighted;
  weighted.rewards = Rewards(*policy);
  weighted.log_weights = LogWeights(parameters, policy);
  weighted.log_propensities.resize(policy->num_tuples());
  for (size_t i = 0; i < policy->num_tuples(); ++i) {
    weighted.log_propensities[i] = policy->log_propensity(i);
  }
  return weighted;
}

}  // namespace sortition
