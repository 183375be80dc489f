#include "core/policies/independent_subset_distribution.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/stable_math.h"

namespace sortition {
namespace {

constexpr double kMaxThreshold = 1e6;

// Numbers of the draw: 0 says which part of the mixture, 2 + i belongs to
// position i.
constexpr uint32_t kPart = 0;
constexpr uint32_t kFirstBlock = 1;

DistributionScratch& ScratchOf(const ScoredCandidates& candidates,
                               DistributionScratch* local) {
  return candidates.scratch != nullptr ? *candidates.scratch : *local;
}

// Of m candidates; false where `action` is no ascending list of positions.
bool MarkIn(size_t m, std::span<const int32_t> action,
            std::vector<uint8_t>* taken) {
  taken->assign(m, 0);
  int32_t last = -1;
  for (const int32_t position : action) {
    if (position <= last || static_cast<size_t>(position) >= m) return false;
    (*taken)[position] = 1;
    last = position;
  }
  return true;
}

// σ(l) for both signs of l, given exp(-|l|).
double Sigmoid(bool positive, double exp_minus_size) {
  return (positive ? 1 : exp_minus_size) / (1 + exp_minus_size);
}

}  // namespace

absl::StatusOr<std::unique_ptr<const ActionDistribution>>
IndependentSubsetDistribution::Create(
    double inverse_temperature, double uniform_mixture,
    const model::v1::IndependentSubset& subset) {
  if (!(std::abs(subset.threshold()) <= kMaxThreshold)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "independent_subset.threshold is ", subset.threshold(),
        ", must be in [", -kMaxThreshold, ", ", kMaxThreshold, "]"));
  }
  return std::make_unique<const IndependentSubsetDistribution>(
      inverse_temperature, uniform_mixture);
}

double IndependentSubsetDistribution::LogMixed(
    const ScoredCandidates& candidates, DistributionScratch* scratch,
    double* log_odds) const {
  const double log_half = 0 - stable::Log(2);
  const size_t m = candidates.scores.size();
  const double log_q = static_cast<double>(m) * log_half;
  if (!mixture_.has_policy()) return log_q;
  std::vector<double>& terms = scratch->values;
  terms.resize(m);
  for (size_t i = 0; i < m; ++i) {
    const double logit = alpha_ * (candidates.scores[i] - candidates.threshold);
    terms[i] = 0 - stable::Softplus(scratch->taken[i] != 0 ? -logit : logit);
  }
  const double log_p = stable::Sum(terms);
  if (!mixture_.has_uniform()) return log_p;
  // Term by term: log p and log q are large and their difference would cancel.
  for (double& term : terms) term -= log_half;
  *log_odds = mixture_.PriorLogOdds() + stable::Sum(terms);
  return mixture_(log_p, log_q);
}

void IndependentSubsetDistribution::Sample(const ScoredCandidates& candidates,
                                           const CounterRandom& random,
                                           Draw* draw) const {
  DistributionScratch local;
  DistributionScratch& scratch = ScratchOf(candidates, &local);
  const size_t m = candidates.scores.size();
  std::vector<double>& probabilities = scratch.values;
  std::vector<double>& numbers = scratch.others;
  numbers.resize(m);
  random.UniformBlocks(kFirstBlock, numbers);
  // Number 0 is below 1 and never 0.
  if (random.Uniform(kPart) < mixture_.epsilon()) {
    probabilities.assign(m, 0.5);
  } else {
    probabilities.resize(m);
    for (size_t i = 0; i < m; ++i) {
      probabilities[i] =
          -std::abs(alpha_ * (candidates.scores[i] - candidates.threshold));
    }
    stable::ExpInPlace(probabilities);
    for (size_t i = 0; i < m; ++i) {
      probabilities[i] = Sigmoid(candidates.scores[i] > candidates.threshold,
                                 probabilities[i]);
    }
  }
  draw->action.clear();
  scratch.taken.resize(m);
  for (size_t i = 0; i < m; ++i) {
    scratch.taken[i] = numbers[i] < probabilities[i] ? 1 : 0;
    if (scratch.taken[i] != 0) draw->action.push_back(static_cast<int32_t>(i));
  }
  double log_odds = 0;
  draw->log_propensity = LogMixed(candidates, &scratch, &log_odds);
  draw->conditional_log_propensities.clear();
}

double IndependentSubsetDistribution::LogPropensity(
    const ScoredCandidates& candidates, std::span<const int32_t> action) const {
  DistributionScratch local;
  DistributionScratch& scratch = ScratchOf(candidates, &local);
  if (!MarkIn(candidates.scores.size(), action, &scratch.taken)) {
    return -HUGE_VAL;
  }
  double log_odds = 0;
  return LogMixed(candidates, &scratch, &log_odds);
}

void IndependentSubsetDistribution::ConditionalLogPropensities(
    const ScoredCandidates& candidates, std::span<const int32_t> action,
    std::vector<double>* conditionals) const {
  conditionals->assign(1, LogPropensity(candidates, action));
}

// ∂ log h / ∂ l_i = (1-ε) p / h · (1{i in S} - σ(l_i)).
double IndependentSubsetDistribution::LogPropensityGradient(
    const ScoredCandidates& candidates, std::span<const int32_t> action,
    std::span<double> score_gradient, double* abstain_gradient) const {
  const size_t m = candidates.scores.size();
  DCHECK(score_gradient.size() == m);
  std::fill(score_gradient.begin(), score_gradient.end(), 0);
  *abstain_gradient = 0;
  DistributionScratch local;
  DistributionScratch& scratch = ScratchOf(candidates, &local);
  if (!MarkIn(m, action, &scratch.taken)) return -HUGE_VAL;
  double log_odds = 0;
  const double log_h = LogMixed(candidates, &scratch, &log_odds);
  if (!mixture_.has_policy()) return log_h;
  const double scale =
      mixture_.has_uniform()
          ? alpha_ * stable::Exp(LogMixture::LogPolicyPosterior(log_odds))
          : alpha_;
  for (size_t i = 0; i < m; ++i) {
    const double logit = alpha_ * (candidates.scores[i] - candidates.threshold);
    const double size = stable::Exp(-std::abs(logit));
    // 1 - σ(l) = σ(-l), without cancellation.
    score_gradient[i] = scratch.taken[i] != 0
                            ? scale * Sigmoid(logit < 0, size)
                            : 0 - scale * Sigmoid(logit > 0, size);
  }
  *abstain_gradient = 0 - stable::Sum(score_gradient);
  return log_h;
}

// The mixture with uniform has the mode of its other part.
Action IndependentSubsetDistribution::Mode(
    const ScoredCandidates& candidates) const {
  Action subset;
  if (!mixture_.has_policy()) return subset;
  for (size_t i = 0; i < candidates.scores.size(); ++i) {
    if (candidates.scores[i] > candidates.threshold) {
      subset.push_back(static_cast<int32_t>(i));
    }
  }
  return subset;
}

double IndependentSubsetDistribution::FirstProbabilities(
    const ScoredCandidates& candidates, std::span<double> probabilities) const {
  DCHECK(probabilities.size() == candidates.scores.size());
  const double epsilon = mixture_.epsilon();
  for (size_t i = 0; i < probabilities.size(); ++i) {
    const double logit = alpha_ * (candidates.scores[i] - candidates.threshold);
    probabilities[i] =
        (1 - epsilon) * Sigmoid(logit > 0, stable::Exp(-std::abs(logit))) +
        epsilon / 2;
  }
  return 0;
}

}  // namespace sortition
