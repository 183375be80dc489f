#include "core/base/log_mixture.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sortition {
namespace {

// Ranks whose logarithms are taken together.
constexpr size_t kRanks = 64;

// Overwrites each value x, or -|x|, with log(1 + e^-|x|).
void SoftplusOfMinusAbs(std::span<double> values) {
  for (double& value : values) value = -std::abs(value);
  stable::ExpInPlace(values);
  stable::Log1pInPlace(values);
}

// Overwrites log p, at most kRanks of them, with LogMixture::Conditional() of
// (log_odds[r], log p, log_q[r]), with the same bits: those functions, for all
// ranks at once.
void ToConditionals(std::span<const double> log_odds,
                    std::span<const double> log_q, std::span<double> log_p) {
  double both[kRanks];
  double policy[kRanks];
  double other[kRanks];
  const size_t size = log_p.size();
  std::copy(log_odds.begin(), log_odds.end(), both);
  SoftplusOfMinusAbs({both, size});
  for (size_t r = 0; r < size; ++r) {
    const double odds = log_odds[r];
    policy[r] = -(odds < 0 ? both[r] - odds : both[r]) + log_p[r];
    other[r] = -(odds > 0 ? both[r] + odds : both[r]) + log_q[r];
    both[r] = policy[r] - other[r];
  }
  SoftplusOfMinusAbs({both, size});
  for (size_t r = 0; r < size; ++r) {
    const double high = std::max(policy[r], other[r]);
    const double low = std::min(policy[r], other[r]);
    const double sum = low == -HUGE_VAL ? high : high + both[r];
    log_p[r] = sum < 0 ? sum : 0;
  }
}

struct LogSums {
  double policy = 0;
  double other = 0;
};

// As MixOrders() for the next ranks, at most kRanks, where the other part
// counts.
void MixRanks(const LogMixture& mixture, std::span<const double> others,
              std::span<double> conditionals, LogSums* sums, double* log_odds) {
  double odds[kRanks];
  for (size_t r = 0; r < conditionals.size(); ++r) {
    sums->policy += conditionals[r];
    sums->other += others[r];
    odds[r] = *log_odds;
    *log_odds += conditionals[r] - others[r];
  }
  if (mixture.has_policy()) {
    ToConditionals({odds, conditionals.size()}, others, conditionals);
  } else {
    std::copy(others.begin(), others.end(), conditionals.begin());
  }
}

double Sum(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

}  // namespace

double MixOrders(const LogMixture& mixture, std::span<const double> others,
                 std::span<double> conditionals, double* log_odds) {
  *log_odds = mixture.PriorLogOdds();
  if (!mixture.has_uniform()) return Sum(conditionals);
  LogSums sums;
  for (size_t begin = 0; begin < conditionals.size(); begin += kRanks) {
    const size_t size = std::min(kRanks, conditionals.size() - begin);
    MixRanks(mixture, others.subspan(begin, size),
             conditionals.subspan(begin, size), &sums, log_odds);
  }
  return mixture(sums.policy, sums.other);
}

double MixWithUniformOrders(const LogMixture& mixture, size_t num_items,
                            std::span<double> conditionals, double* log_odds) {
  *log_odds = mixture.PriorLogOdds();
  if (!mixture.has_uniform()) return Sum(conditionals);
  LogSums sums;
  double uniform[kRanks];
  for (size_t begin = 0; begin < conditionals.size(); begin += kRanks) {
    const size_t size = std::min(kRanks, conditionals.size() - begin);
    for (size_t r = 0; r < size; ++r) {
      uniform[r] = static_cast<double>(num_items - begin - r);
    }
    stable::LogInPlace({uniform, size});
    for (size_t r = 0; r < size; ++r) uniform[r] = 0 - uniform[r];
    MixRanks(mixture, {uniform, size}, conditionals.subspan(begin, size), &sums,
             log_odds);
  }
  return mixture(sums.policy, sums.other);
}

}  // namespace sortition
