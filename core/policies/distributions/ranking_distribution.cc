#include "core/policies/distributions/ranking_distribution.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "core/base/check.h"
#include "core/base/stable_math.h"

namespace sortition {
namespace {

using LogSum = DistributionScratch::LogSum;

// Up to this top_k, insertion is faster than a partition of all keys.
constexpr uint32_t kInsertionTopK = 64;
// Up to this one, counting is faster still.
constexpr size_t kLanes = 16;
// Most keys to be ranked by counting.
constexpr size_t kCounted = 48;

// Writes the rank of each key: how many are larger, or equal and before it.
// Without branches, and vectorised.
void RankByCounting(std::span<const double> keys, std::span<uint64_t> ranks) {
  for (size_t i = 0; i < keys.size(); ++i) {
    const double key = keys[i];
    uint64_t rank = 0;
    for (size_t j = 0; j < i; ++j) rank += keys[j] >= key ? 1 : 0;
    for (size_t j = i + 1; j < keys.size(); ++j) rank += keys[j] > key ? 1 : 0;
    ranks[i] = rank;
  }
}

// SortTop() for a top_k up to kLanes. The lane of key i is i mod kLanes. As
// many lanes as there are ranks have a key at least as large as the top_k-th
// largest of the lanes' largest keys, so that no smaller key is in the top.
// Returns false where ties leave too many keys to rank.
bool SortTopByCounting(std::span<const double> keys, uint32_t top_k,
                       std::vector<int32_t>* order) {
  double largest[kLanes];
  std::fill(largest, largest + kLanes, -HUGE_VAL);
  size_t i = 0;
  for (; i + kLanes <= keys.size(); i += kLanes) {
    for (size_t j = 0; j < kLanes; ++j) {
      largest[j] = keys[i + j] > largest[j] ? keys[i + j] : largest[j];
    }
  }
  for (size_t j = 0; i + j < keys.size(); ++j) {
    largest[j] = keys[i + j] > largest[j] ? keys[i + j] : largest[j];
  }
  uint64_t ranks[kCounted];
  RankByCounting({largest, kLanes}, {ranks, kLanes});
  double least = -HUGE_VAL;
  for (size_t j = 0; j < kLanes; ++j) {
    least = ranks[j] == top_k - 1 ? largest[j] : least;
  }
  int32_t places[kCounted + 1];
  double counted[kCounted];
  size_t size = 0;
  for (size_t place = 0; place < keys.size(); ++place) {
    places[size] = static_cast<int32_t>(place);
    size += keys[place] >= least ? 1 : 0;
    if (size > kCounted) return false;
  }
  if (size < top_k) return false;  // There is one that is not a number.
  for (size_t c = 0; c < size; ++c) counted[c] = keys[places[c]];
  RankByCounting({counted, size}, {ranks, size});
  order->resize(top_k);
  for (size_t c = 0; c < size; ++c) {
    if (ranks[c] < top_k) (*order)[ranks[c]] = places[c];
  }
  return true;
}

// Returns log Σ exp(l) over the candidates that are not taken. Overwrites
// scratch->values.
LogSum TailLogSum(const ScoredCandidates& candidates, double alpha,
                  DistributionScratch* scratch) {
  const size_t m = candidates.scores.size();
  if (candidates.top_k == m) return {-HUGE_VAL, 0};
  std::vector<double>& tail = scratch->values;
  tail.resize(m);
  size_t size = 0;
  for (size_t i = 0; i < m; ++i) {
    tail[size] = alpha * candidates.scores[i];
    size += scratch->taken[i] == 0 ? 1 : 0;
  }
  const std::span<double> logits(tail.data(), size);
  const double max = stable::Max(logits);
  for (double& logit : logits) logit -= max;
  stable::ExpInPlace(logits);
  // Leaves out the 1 of the largest, so that small terms beside it count.
  *std::find(logits.begin(), logits.end(), 1.0) = 0;
  return {max, stable::Log1p(stable::Sum(logits))};
}

// Writes the conditional log-propensities of the Plackett–Luce part, from the
// last rank up: with L = log Σ exp(l) over the candidates below a rank,
//   log exp(l) / (exp(l) + exp(L)) = -log(1 + exp(L - l)).
// Writes log Σ exp(l) of every rank, its own candidate included, into
// `log_sums`, unless that is null.
void PolicyConditionals(const ScoredCandidates& candidates, double alpha,
                        std::span<const int32_t> action,
                        DistributionScratch* scratch,
                        std::vector<LogSum>* log_sums,
                        std::vector<double>* conditionals) {
  LogSum sum = TailLogSum(candidates, alpha, scratch);
  conditionals->resize(action.size());
  if (log_sums != nullptr) log_sums->resize(action.size());
  for (size_t r = action.size(); r-- > 0;) {
    const double logit = alpha * candidates.scores[action[r]];
    const double difference = (sum.reference - logit) + sum.excess;
    const double log1p = stable::Log1p(stable::Exp(-std::abs(difference)));
    const double excess = (difference > 0 ? difference : 0) + log1p;
    (*conditionals)[r] = 0 - excess;
    if (logit > sum.reference) {
      sum = {logit, excess};
    } else {
      sum.excess += log1p;
    }
    if (log_sums != nullptr) (*log_sums)[r] = sum;
  }
}

}  // namespace

bool AreWithinLimit(std::span<const double> scores, double alpha) {
  // Counted, not searched: no branch and no chain of dependent maxima.
  size_t outside = 0;
  for (const double score : scores) {
    outside += std::abs(alpha * score) <= kMaxRankingLogit ? 0 : 1;
  }
  return outside == 0;
}

bool MarkTaken(const ScoredCandidates& candidates,
               std::span<const int32_t> action, std::vector<uint8_t>* taken) {
  const size_t m = candidates.scores.size();
  if (action.size() != candidates.top_k) return false;
  taken->assign(m, 0);
  for (const int32_t position : action) {
    if (position < 0 || static_cast<size_t>(position) >= m ||
        (*taken)[position] != 0) {
      return false;
    }
    (*taken)[position] = 1;
  }
  return true;
}

void SortTop(std::span<const double> keys, uint32_t top_k,
             std::vector<int32_t>* order) {
  const auto before = [&keys](int32_t a, int32_t b) {
    return keys[a] != keys[b] ? keys[a] > keys[b] : a < b;
  };
  const auto num_keys = static_cast<int32_t>(keys.size());
  if (top_k > kInsertionTopK) {
    order->resize(keys.size());
    std::iota(order->begin(), order->end(), 0);
    const auto end = order->begin() + top_k;
    if (end != order->end()) {
      std::nth_element(order->begin(), end - 1, order->end(), before);
    }
    std::sort(order->begin(), end, before);
    order->resize(top_k);
    return;
  }
  if (top_k <= kLanes && SortTopByCounting(keys, top_k, order)) return;
  order->resize(top_k);
  int32_t* const top = order->data();
  const double* const key = keys.data();
  size_t size = 0;
  double last = -HUGE_VAL;  // The smallest key of the top.
  for (int32_t i = 0; i < num_keys; ++i) {
    const double candidate = key[i];
    if (size == top_k && candidate <= last) continue;
    size_t r = size < top_k ? size++ : top_k - 1;
    for (; r > 0 && candidate > key[top[r - 1]]; --r) top[r] = top[r - 1];
    top[r] = i;
    last = key[top[size - 1]];
  }
}

void DrawPlackettLuce(std::span<const double> scores, double alpha,
                      uint32_t top_k, std::span<double> numbers,
                      std::vector<int32_t>* order) {
  stable::LogInPlace(numbers);
  for (double& number : numbers) number = -number;
  stable::LogInPlace(numbers);
  for (size_t i = 0; i < scores.size(); ++i) {
    numbers[i] = alpha * scores[i] - numbers[i];
  }
  SortTop(numbers, top_k, order);
}

bool RankingDistribution::CanDraw(const ScoredCandidates& candidates) const {
  return !mixture_.has_policy() || AreWithinLimit(candidates.scores, alpha_);
}

double RankingDistribution::Propensity(
    const ScoredCandidates& candidates, std::span<const int32_t> action,
    DistributionScratch* scratch, std::vector<double>* conditionals) const {
  if (!CanDraw(candidates)) {
    conditionals->assign(action.size(), -HUGE_VAL);
    return -HUGE_VAL;
  }
  if (mixture_.has_policy()) {
    PolicyConditionals(candidates, alpha_, action, scratch, nullptr,
                       conditionals);
  } else {
    conditionals->assign(action.size(), 0);
  }
  double log_odds = 0;
  return MixWithUniformOrders(mixture_, candidates.scores.size(), *conditionals,
                              &log_odds);
}

void RankingDistribution::Sample(const ScoredCandidates& candidates,
                                 const CounterRandom& random,
                                 Draw* draw) const {
  std::optional<DistributionScratch> local;
  DistributionScratch& scratch = ScratchOf(candidates, &local);
  const size_t m = candidates.scores.size();
  DCHECK(candidates.top_k >= 1 && candidates.top_k <= m);
  std::vector<double>& keys = scratch.values;
  keys.resize(m);
  random.UniformBlocks(kFirstBlock, keys);
  // Uniform: the numbers are the keys. Number 0 is below 1 and never 0.
  if (random.Uniform(kPart) < mixture_.epsilon()) {
    SortTop(keys, candidates.top_k, &draw->action);
  } else {
    DrawPlackettLuce(candidates.scores, alpha_, candidates.top_k, keys,
                     &draw->action);
  }
  CHECK(MarkTaken(candidates, draw->action, &scratch.taken));
  draw->log_propensity = Propensity(candidates, draw->action, &scratch,
                                    &draw->conditional_log_propensities);
}

double RankingDistribution::LogPropensity(
    const ScoredCandidates& candidates, std::span<const int32_t> action) const {
  std::optional<DistributionScratch> local;
  DistributionScratch& scratch = ScratchOf(candidates, &local);
  if (!MarkTaken(candidates, action, &scratch.taken)) return -HUGE_VAL;
  return Propensity(candidates, action, &scratch, &scratch.conditionals);
}

void RankingDistribution::ConditionalLogPropensities(
    const ScoredCandidates& candidates, std::span<const int32_t> action,
    std::vector<double>* conditionals) const {
  std::optional<DistributionScratch> local;
  DistributionScratch& scratch = ScratchOf(candidates, &local);
  CHECK(MarkTaken(candidates, action, &scratch.taken));
  Propensity(candidates, action, &scratch, conditionals);
}

// ∂ log p / ∂ l_j = 1{j ranked} - Σ_{q <= rank of j} exp(l_j - L_q), the sum
// over all ranks for those left, L_q the logarithm of the normaliser of rank q.
// With A_r = Σ_{q <= r} exp(L_r - L_q), which is stable because L falls, it is
// exp(l_j - L_r) A_r. And ∂ log h = (1-ε) p / h · ∂ log p.
double RankingDistribution::LogPropensityGradient(
    const ScoredCandidates& candidates, std::span<const int32_t> action,
    std::span<double> score_gradient, double* abstain_gradient) const {
  DCHECK(score_gradient.size() == candidates.scores.size());
  std::optional<DistributionScratch> local;
  DistributionScratch& scratch = ScratchOf(candidates, &local);
  *abstain_gradient = 0;
  std::fill(score_gradient.begin(), score_gradient.end(), 0);
  if (!MarkTaken(candidates, action, &scratch.taken)) return -HUGE_VAL;
  if (!mixture_.has_policy() || !CanDraw(candidates)) {
    return Propensity(candidates, action, &scratch, &scratch.conditionals);
  }
  std::vector<LogSum>& log_sums = scratch.log_sums;
  PolicyConditionals(candidates, alpha_, action, &scratch, &log_sums,
                     &scratch.conditionals);
  double above = 0;  // A_r - 1.
  for (size_t r = 0; r < action.size(); ++r) {
    if (r > 0) {
      above = (1 + above) *
              stable::Exp((log_sums[r].reference - log_sums[r - 1].reference) +
                          (log_sums[r].excess - log_sums[r - 1].excess));
    }
    // 1 - exp(l - L_r) A_r, where exp(l - L_r) is the conditional probability.
    score_gradient[action[r]] = 0 - stable::Expm1(scratch.conditionals[r]) -
                                stable::Exp(scratch.conditionals[r]) * above;
  }
  const LogSum last = log_sums.back();
  for (size_t j = 0; j < candidates.scores.size(); ++j) {
    if (scratch.taken[j] != 0) continue;
    const double difference =
        (alpha_ * candidates.scores[j] - last.reference) - last.excess;
    score_gradient[j] = 0 - stable::Exp(difference) * (1 + above);
  }
  double log_odds = 0;
  const double log_h = MixWithUniformOrders(mixture_, candidates.scores.size(),
                                            scratch.conditionals, &log_odds);
  const double scale = alpha_ * mixture_.PolicyPosterior(log_odds);
  for (double& derivative : score_gradient) derivative *= scale;
  return log_h;
}

Action RankingDistribution::Mode(const ScoredCandidates& candidates) const {
  Action order;
  if (mixture_.has_policy()) {
    SortTop(candidates.scores, candidates.top_k, &order);
  } else {
    // Every order is a mode of the uniform distribution: takes the first.
    order.resize(candidates.top_k);
    std::iota(order.begin(), order.end(), 0);
  }
  return order;
}

double RankingDistribution::FirstProbabilities(
    const ScoredCandidates& candidates, std::span<double> probabilities) const {
  const double uniform =
      mixture_.epsilon() / static_cast<double>(probabilities.size());
  for (size_t i = 0; i < probabilities.size(); ++i) {
    probabilities[i] = alpha_ * candidates.scores[i];
  }
  const double max = stable::Max(probabilities);
  for (double& value : probabilities) value -= max;
  stable::ExpInPlace(probabilities);
  const double scale = (1 - mixture_.epsilon()) / stable::Sum(probabilities);
  for (double& value : probabilities) value = scale * value + uniform;
  return 0;
}

}  // namespace sortition
