#include "core/policies/distributions/independent_subset_distribution.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "core/base/check.h"
#include "core/base/stable_math.h"

namespace sortition {
namespace {

// Returns σ(l) for either sign of l, given exp(-|l|).
double Sigmoid(bool positive, double exp_minus_size) {
  return (positive ? 1 : exp_minus_size) / (1 + exp_minus_size);
}

// Returns minus the log of the number of subsets of `size` of m items.
double LogUniform(size_t m, size_t size) {
  double log_q = 0;
  for (size_t j = 0; j < std::min(size, m - size); ++j) {
    log_q -= stable::Log(static_cast<double>(m - j)) -
             stable::Log(static_cast<double>(j + 1));
  }
  return log_q;
}

// Draws each subset of `size` with the same probability.
void DrawUniform(std::span<const double> numbers, size_t size,
                 std::span<uint8_t> taken) {
  const size_t m = numbers.size();
  for (size_t i = 0; i < m; ++i) {
    const bool in =
        numbers[i] * static_cast<double>(m - i) < static_cast<double>(size);
    taken[i] = in ? 1 : 0;
    size -= in ? 1 : 0;
  }
}

}  // namespace

size_t IndependentSubsetDistribution::SizeOf(
    const ScoredCandidates& candidates) const {
  return std::min<size_t>(candidates.top_k > 0 ? candidates.top_k : size_,
                          candidates.scores.size());
}

bool IndependentSubsetDistribution::IsWellFormed(
    const ScoredCandidates& candidates, std::span<const int32_t> action,
    DistributionScratch* scratch) const {
  const size_t m = candidates.scores.size();
  const size_t size = SizeOf(candidates);
  if (size > 0 && action.size() != size) return false;
  scratch->taken.assign(m, 0);
  int32_t last = -1;
  for (const int32_t position : action) {
    if (position <= last || static_cast<size_t>(position) >= m) return false;
    scratch->taken[position] = 1;
    last = position;
  }
  return true;
}

bool IndependentSubsetDistribution::SetLogits(
    const ScoredCandidates& candidates, size_t size,
    DistributionScratch* scratch) const {
  const size_t m = candidates.scores.size();
  if (!SizedSubset::IsWithinLimit(m, size)) return false;
  scratch->values.resize(m);
  for (size_t i = 0; i < m; ++i) {
    scratch->values[i] = alpha_ * candidates.scores[i];
  }
  scratch->sized_subset.SetLogits(scratch->values, static_cast<uint32_t>(size));
  return true;
}

double IndependentSubsetDistribution::LogMixedSized(
    const ScoredCandidates& candidates, size_t size, double log_p,
    double* log_odds) const {
  if (!mixture_.has_uniform()) return log_p;
  const double log_q = LogUniform(candidates.scores.size(), size);
  if (!mixture_.has_policy()) return log_q;
  *log_odds = mixture_.PriorLogOdds() + (log_p - log_q);
  return mixture_(log_p, log_q);
}

double IndependentSubsetDistribution::LogMixed(
    const ScoredCandidates& candidates, DistributionScratch* scratch,
    double* log_odds) const {
  const size_t m = candidates.scores.size();
  const size_t size = SizeOf(candidates);
  if (size > 0) {
    double log_p = 0;
    if (mixture_.has_policy()) {
      if (!SetLogits(candidates, size, scratch)) return -HUGE_VAL;
      log_p = scratch->sized_subset.LogPropensity(scratch->taken);
    }
    return LogMixedSized(candidates, size, log_p, log_odds);
  }
  const double log_half = 0 - stable::Log(2);
  const double log_q = static_cast<double>(m) * log_half;
  if (!mixture_.has_policy()) return log_q;
  // log σ(±l) = -(max(0, ∓l) + log(1 + exp(-|l|))).
  std::vector<double>& terms = scratch->values;
  terms.resize(m);
  for (size_t i = 0; i < m; ++i) {
    terms[i] =
        -std::abs(alpha_ * (candidates.scores[i] - candidates.threshold));
  }
  stable::ExpInPlace(terms);
  stable::Log1pInPlace(terms);
  for (size_t i = 0; i < m; ++i) {
    const double logit = alpha_ * (candidates.scores[i] - candidates.threshold);
    const double against = scratch->taken[i] != 0 ? -logit : logit;
    terms[i] = 0 - ((against > 0 ? against : 0) + terms[i]);
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
  std::optional<DistributionScratch> local;
  DistributionScratch& scratch = ScratchOf(candidates, &local);
  const size_t m = candidates.scores.size();
  const size_t size = SizeOf(candidates);
  std::vector<double>& numbers = scratch.others;
  numbers.resize(m);
  random.UniformBlocks(kFirstBlock, numbers);
  scratch.taken.resize(m);
  // Number 0 is below 1 and never 0.
  const bool uniform = random.Uniform(kPart) < mixture_.epsilon();
  double log_h = -HUGE_VAL;
  double log_odds = 0;
  if (size > 0 && !uniform && SetLogits(candidates, size, &scratch)) {
    const double log_p = scratch.sized_subset.Draw(numbers, scratch.taken);
    log_h = LogMixedSized(candidates, size, log_p, &log_odds);
  } else {
    if (size > 0) {
      DrawUniform(numbers, size, scratch.taken);
    } else {
      std::vector<double>& probabilities = scratch.conditionals;
      probabilities.assign(m, 0.5);
      if (!uniform) PolicyProbabilities(candidates, probabilities);
      for (size_t i = 0; i < m; ++i) {
        scratch.taken[i] = numbers[i] < probabilities[i] ? 1 : 0;
      }
    }
    log_h = LogMixed(candidates, &scratch, &log_odds);
  }
  draw->action.clear();
  for (size_t i = 0; i < m; ++i) {
    if (scratch.taken[i] != 0) draw->action.push_back(static_cast<int32_t>(i));
  }
  draw->log_propensity = log_h;
  draw->conditional_log_propensities.clear();
}

double IndependentSubsetDistribution::LogPropensity(
    const ScoredCandidates& candidates, std::span<const int32_t> action) const {
  std::optional<DistributionScratch> local;
  DistributionScratch& scratch = ScratchOf(candidates, &local);
  if (!IsWellFormed(candidates, action, &scratch)) return -HUGE_VAL;
  double log_odds = 0;
  return LogMixed(candidates, &scratch, &log_odds);
}

// ∂ log h / ∂ l_i = (1-ε) p / h · (1{i in S} - P(i is in)), where P is the
// policy part.
double IndependentSubsetDistribution::LogPropensityGradient(
    const ScoredCandidates& candidates, std::span<const int32_t> action,
    std::span<double> score_gradient, double* abstain_gradient) const {
  const size_t m = candidates.scores.size();
  DCHECK(score_gradient.size() == m);
  std::fill(score_gradient.begin(), score_gradient.end(), 0);
  *abstain_gradient = 0;
  std::optional<DistributionScratch> local;
  DistributionScratch& scratch = ScratchOf(candidates, &local);
  if (!IsWellFormed(candidates, action, &scratch)) return -HUGE_VAL;
  double log_odds = 0;
  const double log_h = LogMixed(candidates, &scratch, &log_odds);
  if (!mixture_.has_policy() || log_h == -HUGE_VAL) return log_h;
  const double scale = alpha_ * mixture_.PolicyPosterior(log_odds);
  if (SizeOf(candidates) > 0) {
    // LogMixed() has set the logits.
    scratch.conditionals.resize(m);
    scratch.others.resize(m);
    scratch.sized_subset.Marginals(scratch.conditionals, scratch.others);
    for (size_t i = 0; i < m; ++i) {
      score_gradient[i] = scratch.taken[i] != 0
                              ? scale * scratch.others[i]
                              : 0 - scale * scratch.conditionals[i];
    }
    return log_h;
  }
  std::vector<double>& sizes = scratch.values;
  for (size_t i = 0; i < m; ++i) {
    sizes[i] =
        -std::abs(alpha_ * (candidates.scores[i] - candidates.threshold));
  }
  stable::ExpInPlace(sizes);
  for (size_t i = 0; i < m; ++i) {
    const bool above = candidates.scores[i] > candidates.threshold;
    // 1 - σ(l) = σ(-l), without cancellation.
    score_gradient[i] = scratch.taken[i] != 0
                            ? scale * Sigmoid(!above, sizes[i])
                            : 0 - scale * Sigmoid(above, sizes[i]);
  }
  *abstain_gradient = 0 - stable::Sum(score_gradient);
  return log_h;
}

// The uniform part does not change the mode.
Action IndependentSubsetDistribution::Mode(
    const ScoredCandidates& candidates) const {
  const size_t size = SizeOf(candidates);
  const std::span<const double> scores = candidates.scores;
  Action subset;
  if (size > 0) {
    subset.resize(scores.size());
    std::iota(subset.begin(), subset.end(), 0);
    const auto end = subset.begin() + static_cast<ptrdiff_t>(size);
    const auto before = [scores](int32_t a, int32_t b) {
      return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
    };
    if (mixture_.has_policy()) {
      std::nth_element(subset.begin(), end - 1, subset.end(), before);
    }
    subset.erase(end, subset.end());
    std::sort(subset.begin(), subset.end());
  } else if (mixture_.has_policy()) {
    for (size_t i = 0; i < scores.size(); ++i) {
      if (scores[i] > candidates.threshold) {
        subset.push_back(static_cast<int32_t>(i));
      }
    }
  }
  return subset;
}

void IndependentSubsetDistribution::PolicyProbabilities(
    const ScoredCandidates& candidates, std::span<double> probabilities) const {
  for (size_t i = 0; i < probabilities.size(); ++i) {
    probabilities[i] =
        -std::abs(alpha_ * (candidates.scores[i] - candidates.threshold));
  }
  stable::ExpInPlace(probabilities);
  for (size_t i = 0; i < probabilities.size(); ++i) {
    probabilities[i] =
        Sigmoid(candidates.scores[i] > candidates.threshold, probabilities[i]);
  }
}

double IndependentSubsetDistribution::FirstProbabilities(
    const ScoredCandidates& candidates, std::span<double> probabilities) const {
  const size_t m = candidates.scores.size();
  DCHECK(probabilities.size() == m);
  const size_t size = SizeOf(candidates);
  double uniform = 0.5;
  if (size > 0) {
    std::optional<DistributionScratch> local;
    DistributionScratch& scratch = ScratchOf(candidates, &local);
    uniform = static_cast<double>(size) / static_cast<double>(m);
    std::fill(probabilities.begin(), probabilities.end(), 0);
    if (mixture_.has_policy()) {
      if (!SetLogits(candidates, size, &scratch)) return 0;
      scratch.others.resize(m);
      scratch.sized_subset.Marginals(probabilities, scratch.others);
    }
  } else {
    PolicyProbabilities(candidates, probabilities);
  }
  const double epsilon = mixture_.epsilon();
  for (double& probability : probabilities) {
    probability = (1 - epsilon) * probability + epsilon * uniform;
  }
  return 0;
}

}  // namespace sortition
