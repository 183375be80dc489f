#pragma once
// Mixtures of a policy with the uniform one, in log space. Where the policy
// cannot draw something, log p is -infinity, and so are the log-odds from there
// on.
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
  // Whether p and q count at all: one that does not need not be computed.
  bool has_policy() const { return epsilon_ < 1; }
  bool has_uniform() const { return epsilon_ > 0; }

  // Returns log h.
  double operator()(double log_p, double log_q) const {
    if (!has_uniform()) return log_p;
    if (!has_policy()) return log_q;
    return AtMostZero(
        stable::LogAddExp(log_policy_ + log_p, log_uniform_ + log_q));
  }

  // The posterior probabilities that the policy, or the other part, drew what
  // was seen. Log-odds count only where 0 < ε < 1.
  double PolicyPosterior(double log_odds) const {
    if (!has_policy() || !has_uniform()) return has_policy() ? 1 : 0;
    return stable::Exp(LogPolicyPosterior(log_odds));
  }
  double UniformPosterior(double log_odds) const {
    if (!has_policy() || !has_uniform()) return has_uniform() ? 1 : 0;
    return stable::Exp(LogPolicyPosterior(-log_odds));
  }

  // The other functions require 0 < ε < 1. Log-odds are log((1-ε) p / (ε q))
  // for the ranks seen so far. They are carried along and not computed from log
  // p and log q, which are large: their difference would cancel.
  double PriorLogOdds() const { return log_policy_ - log_uniform_; }

  // Returns the log of the posterior probability that the policy drew what was
  // seen.
  static double LogPolicyPosterior(double log_odds) {
    return -stable::Softplus(-log_odds);
  }

  // Returns log h of what comes next, given its log p and log q: the weight of
  // each part is the probability that it drew what was seen.
  static double Conditional(double log_odds, double log_p, double log_q) {
    return AtMostZero(stable::LogAddExp(LogPolicyPosterior(log_odds) + log_p,
                                        LogPolicyPosterior(-log_odds) + log_q));
  }

 private:
  // A log-probability must not be above 0; rounding could make it so.
  static double AtMostZero(double value) { return value < 0 ? value : 0; }

  double epsilon_;
  double log_policy_;
  double log_uniform_;
};

// Returns log h of an order, or of its first ranks. `conditionals` holds log p
// of each rank given those above, and `others` log q; overwrites `conditionals`
// with log h. Where 0 < ε < 1, writes the log-odds that the policy drew the
// order into `log_odds`.
double MixOrders(const LogMixture& mixture, std::span<const double> others,
                 std::span<double> conditionals, double* log_odds);

// As MixOrders() with the uniform orders of `num_items` as the other part.
double MixWithUniformOrders(const LogMixture& mixture, size_t num_items,
                            std::span<double> conditionals, double* log_odds);

}  // namespace sortition
