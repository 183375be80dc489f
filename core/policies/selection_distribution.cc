#include "core/policies/selection_distribution.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"
#include "core/base/stable_math.h"

namespace sortition {
namespace {

// Numbers of the draw: which part of the mixture, and where in it.
constexpr uint32_t kPart = 0;
constexpr uint32_t kPlace = 1;

// Logits of all actions, abstaining last, and their normaliser.
struct Softmax {
  Softmax(const ScoredCandidates& candidates, double alpha)
      : logits(Scratch()) {
    const size_t m = candidates.scores.size();
    logits.resize(m + (candidates.abstain_score.has_value() ? 1 : 0));
    for (size_t i = 0; i < m; ++i) logits[i] = alpha * candidates.scores[i];
    if (candidates.abstain_score) logits[m] = alpha * *candidates.abstain_score;
    max = stable::Max(logits);
  }

  // Replaces the logits by exp(logit - max); returns their sum.
  double Exponentiate() {
    for (double& logit : logits) logit -= max;
    stable::ExpInPlace(logits);
    return stable::Sum(logits);
  }

  static std::vector<double>& Scratch() {
    static thread_local std::vector<double> scratch;
    return scratch;
  }

  std::vector<double>& logits;
  double max;
};

// Place of the action among the logits.
size_t PlaceOf(const ScoredCandidates& candidates, int32_t action) {
  if (action == kAbstain) return candidates.scores.size();
  return static_cast<size_t>(action);
}

int32_t ActionAt(const ScoredCandidates& candidates, size_t place) {
  return place == candidates.scores.size() ? kAbstain
                                           : static_cast<int32_t>(place);
}

bool Possible(const ScoredCandidates& candidates,
              std::span<const int32_t> action) {
  return action.size() == 1 &&
         (action[0] == kAbstain
              ? candidates.abstain_score.has_value()
              : action[0] >= 0 &&
                    static_cast<size_t>(action[0]) < candidates.scores.size());
}

// First place at which the running sum of `weights` exceeds `target`.
size_t InverseCdf(std::span<const double> weights, double target) {
  double sum = 0;
  size_t last = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] <= 0) continue;
    sum += weights[i];
    last = i;
    if (target < sum) return i;
  }
  // Rounding put the target at or past the end.
  return last;
}

}  // namespace

void SelectionDistribution::Sample(const ScoredCandidates& candidates,
                                   const CounterRandom& random,
                                   Draw* draw) const {
  Softmax softmax(candidates, alpha_);
  const size_t count = softmax.logits.size();
  const double place = random.Uniform(kPlace);
  size_t chosen = 0;
  if (random.Uniform(kPart) < mixture_.epsilon()) {
    chosen = std::min(count - 1,
                      static_cast<size_t>(place * static_cast<double>(count)));
  } else {
    const double total = softmax.Exponentiate();
    chosen = InverseCdf(softmax.logits, place * total);
  }
  draw->action.assign(1, ActionAt(candidates, chosen));
  draw->log_propensity = LogPropensity(candidates, draw->action);
  draw->conditional_log_propensities.clear();
}

double SelectionDistribution::LogPropensity(
    const ScoredCandidates& candidates, std::span<const int32_t> action) const {
  if (!Possible(candidates, action)) return -HUGE_VAL;
  Softmax softmax(candidates, alpha_);
  const double logit = softmax.logits[PlaceOf(candidates, action[0])];
  const double log_count =
      stable::Log(static_cast<double>(softmax.logits.size()));
  const double shifted = logit - softmax.max;
  const double log_p = shifted - stable::Log(softmax.Exponentiate());
  return mixture_(log_p, -log_count);
}

void SelectionDistribution::ConditionalLogPropensities(
    const ScoredCandidates& candidates, std::span<const int32_t> action,
    std::vector<double>* conditionals) const {
  conditionals->assign(1, LogPropensity(candidates, action));
}

double SelectionDistribution::LogPropensityGradient(
    const ScoredCandidates& candidates, std::span<const int32_t> action,
    std::span<double> score_gradient, double* abstain_gradient) const {
  DCHECK(score_gradient.size() == candidates.scores.size());
  std::fill(score_gradient.begin(), score_gradient.end(), 0);
  *abstain_gradient = 0;
  if (!Possible(candidates, action)) return -HUGE_VAL;
  Softmax softmax(candidates, alpha_);
  const size_t chosen = PlaceOf(candidates, action[0]);
  const double shifted = softmax.logits[chosen] - softmax.max;
  const double total = softmax.Exponentiate();
  const double log_p = shifted - stable::Log(total);
  const double log_q = -stable::Log(static_cast<double>(softmax.logits.size()));
  const double log_h = mixture_(log_p, log_q);
  if (mixture_.epsilon() == 1) return log_h;
  // ∂ log h / ∂ s_j = α (1-ε) p / h (1{j = chosen} - p_j).
  const double scale =
      alpha_ * stable::Exp(mixture_.LogPosterior(log_p, log_h));
  for (size_t j = 0; j < score_gradient.size(); ++j) {
    score_gradient[j] = -scale * softmax.logits[j] / total;
  }
  if (candidates.abstain_score) {
    *abstain_gradient = -scale * softmax.logits.back() / total;
  }
  if (action[0] == kAbstain) {
    *abstain_gradient += scale;
  } else {
    score_gradient[chosen] += scale;
  }
  return log_h;
}

Action SelectionDistribution::Mode(const ScoredCandidates& candidates) const {
  const auto best =
      std::max_element(candidates.scores.begin(), candidates.scores.end());
  if (candidates.abstain_score && *candidates.abstain_score > *best) {
    return {kAbstain};
  }
  return {static_cast<int32_t>(best - candidates.scores.begin())};
}

double SelectionDistribution::FirstProbabilities(
    const ScoredCandidates& candidates, std::span<double> probabilities) const {
  Softmax softmax(candidates, alpha_);
  const double total = softmax.Exponentiate();
  const double uniform =
      mixture_.epsilon() / static_cast<double>(softmax.logits.size());
  const double scale = (1 - mixture_.epsilon()) / total;
  for (size_t i = 0; i < probabilities.size(); ++i) {
    probabilities[i] = scale * softmax.logits[i] + uniform;
  }
  return candidates.abstain_score ? scale * softmax.logits.back() + uniform : 0;
}

}  // namespace sortition
