#pragma once
// Mixtures of a policy with the uniform one, in log space.
#include "core/base/stable_math.h"

namespace sortition {

// log((1-ε) p + ε q) from log p and log q; exact for ε = 0 and ε = 1.
class LogMixture {
 public:
  // Requires ε in [0, 1].
  explicit LogMixture(double epsilon)
      : epsilon_(epsilon),
        log_policy_(epsilon < 1 ? stable::Log1p(-epsilon) : 0),
        log_uniform_(epsilon > 0 ? stable::Log(epsilon) : 0) {}

  double epsilon() const { return epsilon_; }

  double operator()(double log_p, double log_q) const {
    if (epsilon_ == 0) return log_p;
    if (epsilon_ == 1) return log_q;
    return stable::LogAddExp(log_policy_ + log_p, log_uniform_ + log_q);
  }

  // Logarithm of the posterior probability that the policy, not the uniform
  // part, drew the action: log((1-ε) p / h). Requires ε < 1.
  double LogPosterior(double log_p, double log_h) const {
    return epsilon_ == 0 ? 0 : log_policy_ + log_p - log_h;
  }
  // The same of the uniform part. Requires 0 < ε.
  double LogUniformPosterior(double log_q, double log_h) const {
    return log_uniform_ + log_q - log_h;
  }

 private:
  double epsilon_;
  double log_policy_;
  double log_uniform_;
};

}  // namespace sortition
