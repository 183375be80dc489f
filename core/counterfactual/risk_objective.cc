#include "core/counterfactual/risk_objective.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "core/base/check.h"
#include "core/counterfactual/crm.h"
#include "core/counterfactual/tuple_terms.h"

namespace sortition {
namespace {

// Block size for passes without a gradient. It is small enough for what the
// policy keeps of a block to stay in the caches, and large enough for tuples of
// one context to share their work.
constexpr size_t kForgotten = size_t{1} << 15;

// Calls `visit` with consecutive parts of `tuples` of at most `size` each.
template <typename Visit>
void ForEachBlock(std::span<const uint32_t> tuples, size_t size,
                  const Visit& visit) {
  for (size_t begin = 0; begin < tuples.size(); begin += size) {
    visit(tuples.subspan(begin, std::min(size, tuples.size() - begin)));
  }
}

}  // namespace

absl::StatusOr<RiskObjective> RiskObjective::Create(TuplePolicy* policy,
                                                    const Risk* risk,
                                                    double l2) {
  const absl::Status status = ValidateCrm(*policy, {.l2 = l2});
  if (!status.ok()) return status;
  return RiskObjective(policy, risk, l2);
}

RiskObjective::RiskObjective(TuplePolicy* policy, const Risk* risk, double l2)
    : policy_(policy), risk_(risk), l2_(l2), weights_(WeightsOf(*policy)) {
  losses_.reserve(policy->num_tuples());
  log_propensities_.reserve(policy->num_tuples());
  for (size_t i = 0; i < policy->num_tuples(); ++i) {
    losses_.push_back(policy->loss(i));
    log_propensities_.push_back(policy->log_propensity(i));
    if (losses_[i] != 0 || !risk->ignores_zero_losses()) {
      active_.push_back(static_cast<uint32_t>(i));
    }
  }
}

std::vector<double> RiskObjective::LogWeights(
    const Eigen::VectorXd& point) const {
  return LogWeights(point, std::min(kForgotten, policy_->block_size()));
}

std::vector<double> RiskObjective::LogWeights(const Eigen::VectorXd& point,
                                              size_t block_size) const {
  std::vector<double> log_weights(losses_.size(),
                                  -std::numeric_limits<double>::infinity());
  std::vector<double> block;
  ForEachBlock(active_, block_size, [&](std::span<const uint32_t> tuples) {
    block.resize(tuples.size());
    policy_->LogProbabilities(point, tuples, block);
    for (size_t k = 0; k < tuples.size(); ++k) {
      log_weights[tuples[k]] = block[k] - log_propensities_[tuples[k]];
    }
  });
  return log_weights;
}

double RiskObjective::Evaluate(const Eigen::VectorXd& point,
                               Eigen::VectorXd* gradient) const {
  DCHECK(point.size() == dimension());
  const std::vector<double> log_weights =
      gradient == nullptr ? LogWeights(point)
                          : LogWeights(point, policy_->block_size());
  const double penalty = l2_ * point.squaredNorm();
  if (gradient == nullptr) {
    return risk_->EvaluateSample({losses_, log_weights, weights_}, {}) +
           penalty;
  }
  std::vector<double> slopes(losses_.size());
  const double value =
      risk_->EvaluateSample({losses_, log_weights, weights_}, slopes) + penalty;
  *gradient = 2 * l2_ * point;
  const bool is_remembered = active_.size() <= policy_->block_size();
  std::vector<double> block;
  std::vector<double> factors;
  ForEachBlock(active_, policy_->block_size(),
               [&](std::span<const uint32_t> tuples) {
                 if (!is_remembered) {
                   block.resize(tuples.size());
                   policy_->LogProbabilities(point, tuples, block);
                 }
                 factors.resize(tuples.size());
                 for (size_t k = 0; k < tuples.size(); ++k) {
                   factors[k] = slopes[tuples[k]];
                 }
                 policy_->AddGradient(factors, gradient);
               });
  return value;
}

}  // namespace sortition
