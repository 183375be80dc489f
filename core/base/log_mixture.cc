#include "core/base/log_mixture.h"

namespace sortition {

double MixWithUniformOrders(const LogMixture& mixture, size_t num_items,
                            std::span<double> conditionals, double* log_odds) {
  double log_p = 0;
  double log_q = 0;
  const bool both = mixture.has_policy() && mixture.has_uniform();
  if (both) *log_odds = mixture.PriorLogOdds();
  for (size_t r = 0; r < conditionals.size(); ++r) {
    const double policy = conditionals[r];
    log_p += policy;
    if (!mixture.has_uniform()) continue;
    const double uniform = 0 - stable::Log(static_cast<double>(num_items - r));
    log_q += uniform;
    conditionals[r] =
        both ? LogMixture::Conditional(*log_odds, policy, uniform) : uniform;
    *log_odds += policy - uniform;
  }
  return mixture(log_p, log_q);
}

}  // namespace sortition
