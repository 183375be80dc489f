#pragma once
// Combines the mean and the deviation of per-tuple terms tᵢ into the number
// that CRM minimises [SwaminathanJoachims15, eq. 12]:
//   R = t̄ + λ √(V / n),  V = Σᵢ cᵢ (tᵢ - t̄)² / (n - 1),  n = Σᵢ cᵢ,
// where a term counts as cᵢ of them, 1 as a rule.
#include <cmath>

#include "core/counterfactual/moments.h"

namespace sortition {

class PenalisedMean {
 public:
  // Requires n >= 2.
  PenalisedMean(const Moments& terms, double lambda)
      : mean_(terms.mean()),
        share_(1 / terms.total()),
        penalty_(lambda * std::sqrt(terms.variance() * share_)) {
    // √V has no derivative where V = 0; 0 is one of its subgradients there.
    if (penalty_ == 0) return;
    const double n = terms.total();
    factor_ = lambda / (std::sqrt(n * terms.variance()) * (n - 1));
  }

  double value() const { return mean_ + penalty_; }

  // ∂R / ∂tᵢ / cᵢ for tᵢ = `term`: 1/n + λ (tᵢ - t̄) / (√n (n-1) √V).
  double Slope(double term) const { return share_ + factor_ * (term - mean_); }

 private:
  double mean_;
  double share_;    // 1/n
  double penalty_;  // λ √(V/n)
  double factor_ = 0;
};

}  // namespace sortition
