#pragma once
// Mixtures of a policy with the uniform one, in log space. What the policy
// cannot draw has log p = -infinity and log-odds of -infinity from there on.
#include <cstddef>
#include <span>

#include "core/base/stable_math.h"

namespace sortition {

// h = (1-ε) p + ε q from log p and log q; exact for ε = 0 and ε = 1.
class LogMixture {
 public:
  // Requires ε in [0, 1].
  explicit LogMixture(double epsilon)
      : epsilon_(epsilon),
        log_policy_(epsilon < 1 ? stable::Log1p(-epsilon) : 0),
        log_uniform_(epsilon > 0 ? stable::Log(epsilon) : 0) {}

  double epsilon() const { return epsilon_; }
  // Whether p and q count at all: what does not need not be computed.
  bool has_policy() const { return epsilon_ < 1; }
  bool has_uniform() const { return epsilon_ > 0; }

  // log h.
  double operator()(double log_p, double log_q) const {
    if (!has_uniform()) return log_p;
    if (!has_policy()) return log_q;
    return AtMostZero(
        stable::LogAddExp(log_policy_ + log_p, log_uniform_ + log_q));
  }

  // The rest requires 0 < ε < 1. A log-odds is log((1-ε) p / (ε q)) of the
  // ranks seen so far. It is carried along, not computed from log p and log q:
  // those are large and their difference would cancel.
  double PriorLogOdds() const { return log_policy_ - log_uniform_; }

  // log of the posterior probability that the policy drew what was seen.
  static double LogPolicyPosterior(double log_odds) {
    return -stable::Softplus(-log_odds);
  }

  // log h of what comes next, given its log p and log q: each part weighs as
  // much as it is probable to have drawn what was seen.
  static double Conditional(double log_odds, double log_p, double log_q) {
    return AtMostZero(stable::LogAddExp(LogPolicyPosterior(log_odds) + log_p,
                                        LogPolicyPosterior(-log_odds) + log_q));
  }

 private:
  // The logarithm of a probability, but for the rounding.
  static double AtMostZero(double value) { return value < 0 ? value : 0; }

  double epsilon_;
  double log_policy_;
  double log_uniform_;
};

// log h of an order, or of its first ranks: `conditionals` hold p's
// log-probability of each rank given those above and get h's; `others` hold
// q's.
double MixOrders(const LogMixture& mixture, std::span<const double> others,
                 std::span<double> conditionals);

// log h of an order, or of its first ranks: `conditionals` hold the policy's
// log-probability of each rank given those above and get those of its mixture
// with the uniform order of `num_items`. Where 0 < ε < 1 the log-odds that the
// policy drew it go into `log_odds`.
double MixWithUniformOrders(const LogMixture& mixture, size_t num_items,
                            std::span<double> conditionals, double* log_odds);

}  // namespace sortition
