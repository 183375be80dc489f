#include "core/learners/rankings/prefix_law.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"
#include "core/base/stable_math.h"

namespace sortition {

bool PrefixLaw::Evaluate(std::span<const double> logits,
                         std::span<const int32_t> order) {
  logits_ = logits;
  order_ = order;
  const size_t n = logits.size();
  const size_t size = order.size();
  ranks_.assign(n, static_cast<uint32_t>(size));
  for (size_t r = 0; r < size; ++r) ranks_[order[r]] = static_cast<uint32_t>(r);
  log_policy_.clear();
  is_possible_ = true;
  if (size > 0 && mixture_.has_policy()) {
    ScoredCandidates candidates;
    candidates.scores = logits;
    candidates.top_k = static_cast<uint32_t>(size);
    candidates.scratch = &scratch_;
    plackett_luce_.ConditionalLogPropensities(candidates, order, &log_policy_);
    is_possible_ = std::isfinite(log_policy_[0]);
  }
  log_policy_.resize(size, 0);
  log_prefixes_.assign(size + 1, is_possible_ ? 0 : -HUGE_VAL);
  posteriors_.assign(size + 1, 1 - mixture_.epsilon());
  log_sums_.resize(size);
  if (!is_possible_) return false;
  double log_p = 0;
  double log_q = 0;
  double log_odds = mixture_.PriorLogOdds();
  for (size_t r = 0; r < size; ++r) {
    const double log_uniform = 0 - stable::Log(static_cast<double>(n - r));
    log_sums_[r] = logits[order[r]] - log_policy_[r];
    log_p += log_policy_[r];
    log_q += log_uniform;
    log_odds += log_policy_[r] - log_uniform;
    log_prefixes_[r + 1] = mixture_(log_p, log_q);
    posteriors_[r + 1] = mixture_.PolicyPosterior(log_odds);
  }
  return true;
}

void PrefixLaw::PolicyConditionals(size_t r,
                                   std::span<double> probabilities) const {
  DCHECK(r < order_.size() && probabilities.size() == logits_.size());
  for (size_t i = 0; i < logits_.size(); ++i) {
    probabilities[i] =
        IsAbove(i, r) ? 0
                      : stable::Exp(std::min(0.0, logits_[i] - log_sums_[r]));
  }
}

// ∂ log h_r = π_r ∂ log p_r, and log p_r is the sum of the log-conditionals of
// the ranks above r, so that that of rank j counts F_j = Σ_{r > j} (π_r
// prefix_factors[r] + policy_factors[r]). Its derivative by l_i, i left at j,
// is 1{i = y_j} - exp(l_i - L_j). With A_r = Σ_{j <= r} F_j exp(L_r - L_j),
// which is stable because L falls, a candidate at rank r has the derivative F_r
// - exp(l_i - L_r) A_r.
void PrefixLaw::AddGradient(std::span<const double> prefix_factors,
                            std::span<const double> policy_factors,
                            std::span<double> gradient) {
  const size_t size = order_.size();
  DCHECK(prefix_factors.size() == size + 1);
  if (size == 0 || !is_possible_ || !mixture_.has_policy()) return;
  factors_.resize(size);
  double sum = 0;
  for (size_t r = size; r > 0; --r) {
    sum += posteriors_[r] * prefix_factors[r];
    if (!policy_factors.empty()) sum += policy_factors[r];
    factors_[r - 1] = sum;
  }
  double above = 0;
  for (size_t r = 0; r < size; ++r) {
    if (r > 0) above *= stable::Exp(log_sums_[r] - log_sums_[r - 1]);
    above += factors_[r];
    gradient[order_[r]] += factors_[r] - stable::Exp(log_policy_[r]) * above;
  }
  if (above == 0 || size == logits_.size()) return;
  const double last = log_sums_.back();
  for (size_t i = 0; i < logits_.size(); ++i) {
    if (IsAbove(i, size)) continue;
    gradient[i] -= stable::Exp(std::min(0.0, logits_[i] - last)) * above;
  }
}

}  // namespace sortition
