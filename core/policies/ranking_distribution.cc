#include "core/policies/ranking_distribution.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/check.h"
#include "core/base/stable_math.h"

namespace sortition {
namespace {

// Numbers of the draw: 0 says which part of the mixture, 2 + i belongs to
// position i.
constexpr uint32_t kPart = 0;
constexpr uint32_t kFirstBlock = 1;

// Reused by one thread: no allocation when warm.
struct Scratch {
  std::vector<double> values;
  std::vector<double> keys;
  std::vector<int32_t> order;
  std::vector<double> normalisers;
  std::vector<double> conditionals;
  std::vector<char> taken;

  static Scratch& Get() {
    static thread_local Scratch scratch;
    return scratch;
  }
};

bool WellFormed(const ScoredCandidates& candidates,
                std::span<const int32_t> action, std::vector<char>* taken) {
  const size_t m = candidates.scores.size();
  if (action.size() != candidates.top_k) return false;
  taken->assign(m, 0);
  for (const int32_t position : action) {
    if (position < 0 || static_cast<size_t>(position) >= m ||
        (*taken)[position]) {
      return false;
    }
    (*taken)[position] = 1;
  }
  return true;
}

// Into scratch->normalisers: L_r = log Σ exp(α s(j)) over what is left at rank
// r. Marks in scratch->taken say what is ranked.
void Normalisers(const ScoredCandidates& candidates, double alpha,
                 std::span<const int32_t> action, Scratch* scratch) {
  std::vector<double>& tail = scratch->values;
  tail.clear();
  for (size_t i = 0; i < candidates.scores.size(); ++i) {
    if (!scratch->taken[i]) tail.push_back(alpha * candidates.scores[i]);
  }
  double left = -HUGE_VAL;
  if (!tail.empty()) {
    const double max = stable::Max(tail);
    for (double& logit : tail) logit -= max;
    stable::ExpInPlace(tail);
    left = max + stable::Log(stable::Sum(tail));
  }
  scratch->normalisers.resize(action.size() + 1);
  scratch->normalisers[action.size()] = left;
  for (size_t r = action.size(); r-- > 0;) {
    left = stable::LogAddExp(left, alpha * candidates.scores[action[r]]);
    scratch->normalisers[r] = left;
  }
}

// Fills the conditionals of the mixture and returns their sum; log p of the
// Plackett–Luce part alone into `log_policy`. Requires normalisers.
double Conditionals(const ScoredCandidates& candidates, double alpha,
                    const LogMixture& mixture, std::span<const int32_t> action,
                    const Scratch& scratch, std::vector<double>* conditionals,
                    double* log_policy) {
  conditionals->resize(action.size());
  double log_h = 0;
  double log_p = 0;
  double log_q = 0;
  for (size_t r = 0; r < action.size(); ++r) {
    // log exp(l) / (exp(l) + exp(L_{r+1})), exact where it is near 0.
    const double policy = -stable::Softplus(
        scratch.normalisers[r + 1] - alpha * candidates.scores[action[r]]);
    const double uniform =
        -stable::Log(static_cast<double>(candidates.scores.size() - r));
    double conditional = mixture.epsilon() == 0 ? policy : uniform;
    if (mixture.epsilon() > 0 && mixture.epsilon() < 1) {
      // Each part weighs what it is probable to have drawn the ranks above.
      conditional = stable::LogAddExp(
          mixture.LogPosterior(log_p, log_h) + policy,
          mixture.LogUniformPosterior(log_q, log_h) + uniform);
      // Both weights round; a probability is at most 1.
      conditional = std::fmin(conditional, 0);
    }
    log_p += policy;
    log_q += uniform;
    log_h += conditional;
    (*conditionals)[r] = conditional;
  }
  *log_policy = log_p;
  return log_h;
}

}  // namespace

void RankingDistribution::Sample(const ScoredCandidates& candidates,
                                 const CounterRandom& random,
                                 Draw* draw) const {
  Scratch& scratch = Scratch::Get();
  const size_t m = candidates.scores.size();
  std::vector<double>& keys = scratch.keys;
  keys.resize(m);
  random.UniformBlocks(kFirstBlock, keys);
  if (random.Uniform(kPart) >= mixture_.epsilon()) {
    stable::LogInPlace(keys);
    for (double& key : keys) key = -key;
    stable::LogInPlace(keys);
    for (size_t i = 0; i < m; ++i) {
      keys[i] = alpha_ * candidates.scores[i] - keys[i];
    }
  }
  std::vector<int32_t>& order = scratch.order;
  order.resize(m);
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + candidates.top_k,
                    order.end(), [&keys](int32_t a, int32_t b) {
                      return keys[a] != keys[b] ? keys[a] > keys[b] : a < b;
                    });
  draw->action.assign(order.begin(), order.begin() + candidates.top_k);
  CHECK(WellFormed(candidates, draw->action, &scratch.taken));
  Normalisers(candidates, alpha_, draw->action, &scratch);
  double log_policy = 0;
  draw->log_propensity =
      Conditionals(candidates, alpha_, mixture_, draw->action, scratch,
                   &draw->conditional_log_propensities, &log_policy);
}

double RankingDistribution::LogPropensity(
    const ScoredCandidates& candidates, std::span<const int32_t> action) const {
  Scratch& scratch = Scratch::Get();
  if (!WellFormed(candidates, action, &scratch.taken)) return -HUGE_VAL;
  Normalisers(candidates, alpha_, action, &scratch);
  double log_policy = 0;
  return Conditionals(candidates, alpha_, mixture_, action, scratch,
                      &scratch.conditionals, &log_policy);
}

void RankingDistribution::ConditionalLogPropensities(
    const ScoredCandidates& candidates, std::span<const int32_t> action,
    std::vector<double>* conditionals) const {
  Scratch& scratch = Scratch::Get();
  conditionals->clear();
  if (!WellFormed(candidates, action, &scratch.taken)) return;
  Normalisers(candidates, alpha_, action, &scratch);
  double log_policy = 0;
  Conditionals(candidates, alpha_, mixture_, action, scratch, conditionals,
               &log_policy);
}

double RankingDistribution::LogPropensityGradient(
    const ScoredCandidates& candidates, std::span<const int32_t> action,
    std::span<double> score_gradient, double* abstain_gradient) const {
  *abstain_gradient = 0;
  std::fill(score_gradient.begin(), score_gradient.end(), 0);
  Scratch& scratch = Scratch::Get();
  if (!WellFormed(candidates, action, &scratch.taken)) return -HUGE_VAL;
  Normalisers(candidates, alpha_, action, &scratch);
  double log_p = 0;
  const double log_h = Conditionals(candidates, alpha_, mixture_, action,
                                    scratch, &scratch.conditionals, &log_p);
  if (mixture_.epsilon() == 1) return log_h;
  // ∂ log p / ∂ l_j = 1{j ranked} - Σ_{r <= rank of j} exp(l_j - L_r), the sum
  // over all ranks for those left. With A_r = Σ_{q <= r} exp(L_r - L_q), which
  // is stable because L falls, the sum is exp(l_j - L_r) A_r.
  const double scale =
      alpha_ * stable::Exp(mixture_.LogPosterior(log_p, log_h));
  const std::vector<double>& normalisers = scratch.normalisers;
  double sum = 0;
  for (size_t r = 0; r < action.size(); ++r) {
    sum = 1 +
          (r == 0 ? 0 : sum * stable::Exp(normalisers[r] - normalisers[r - 1]));
    const int32_t j = action[r];
    const double logit = alpha_ * candidates.scores[j];
    score_gradient[j] = scale * (1 - stable::Exp(logit - normalisers[r]) * sum);
  }
  const double last = normalisers[action.size() - 1];
  for (size_t j = 0; j < candidates.scores.size(); ++j) {
    if (scratch.taken[j]) continue;
    score_gradient[j] =
        -scale * stable::Exp(alpha_ * candidates.scores[j] - last) * sum;
  }
  return log_h;
}

Action RankingDistribution::Mode(const ScoredCandidates& candidates) const {
  Action order(candidates.scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + candidates.top_k,
                    order.end(), [&](int32_t a, int32_t b) {
                      const double x = candidates.scores[a];
                      const double y = candidates.scores[b];
                      return x != y ? x > y : a < b;
                    });
  order.resize(candidates.top_k);
  return order;
}

double RankingDistribution::FirstProbabilities(
    const ScoredCandidates& candidates, std::span<double> probabilities) const {
  for (size_t i = 0; i < probabilities.size(); ++i) {
    probabilities[i] = alpha_ * candidates.scores[i];
  }
  const double max = stable::Max(probabilities);
  for (double& value : probabilities) value -= max;
  stable::ExpInPlace(probabilities);
  const double scale = (1 - mixture_.epsilon()) / stable::Sum(probabilities);
  const double uniform =
      mixture_.epsilon() / static_cast<double>(probabilities.size());
  for (double& value : probabilities) value = scale * value + uniform;
  return 0;
}

}  // namespace sortition
