#include "core/base/log_mixture.h"

namespace sortition {

double MixOrders(const LogMixture& mixture, std::span<const double> others,
                 std::span<double> conditionals, double* log_odds) {
  if (!mixture.has_uniform()) others = conditionals;
  double log_p = 0;
  double log_q = 0;
  *log_odds = mixture.PriorLogOdds();
  for (size_t r = 0; r < conditionals.size(); ++r) {
    const double policy = conditionals[r];
    const double other = others[r];
    log_p += policy;
    log_q += other;
    if (!mixture.has_uniform()) continue;
    conditionals[r] = mixture.has_policy()
                          ? LogMixture::Conditional(*log_odds, policy, other)
                          : other;
    *log_odds += policy - other;
  }
  return mixture(log_p, log_q);
}

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
