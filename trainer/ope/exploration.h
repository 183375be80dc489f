#pragma once
// What it would cost, and bring, to log with another share of uniform choices.
#include <array>
#include <cstdint>
#include <span>

namespace sortition {

// A policy π mixed with the uniform one u, (1 - ε) π + ε u, for several ε. What
// it costs follows from the values of π and u; this sums up what it brings: how
// precisely a policy as different as u could be judged from its log. For a log
// written by π_ε the estimate of u, with r̄ as a control variate, is a mean of
//   u/π_ε (r - r̄) + r̄,
// whose second moment under π_ε is E_u[u/π_ε (r - r̄)²] about r̄, and which this
// log, written by p, estimates as the mean of u²/(p π_ε) (r - r̄)².
class Exploration {
 public:
  static constexpr std::array<double, 7> kMixtures = {0,   0.01, 0.02, 0.05,
                                                      0.1, 0.2,  0.5};

  explicit Exploration(double mean_reward) : mean_reward_(mean_reward) {}

  void Add(double reward, double log_propensity, double log_policy,
           double log_uniform);

  // Returns the standard error that one decision has, by mixture; infinity if
  // nothing was added or it cannot be known.
  double DeviationAt(size_t mixture) const;

 private:
  const double mean_reward_;
  uint64_t decisions_ = 0;
  std::array<double, kMixtures.size()> sums_ = {};
};

}  // namespace sortition
