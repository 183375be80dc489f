#include "trainer/tuples/scan/arrivals.h"

#include <algorithm>

namespace sortition {

void ArrivalCounter::Add(uint64_t unit, int64_t time_us) {
  ++decisions_;
  const auto [found, is_new] = first_us_.try_emplace(unit, time_us);
  if (!is_new) found->second = std::min(found->second, time_us);
  if (time_us > 0) times_us_.push_back(time_us);
}

Arrivals ArrivalCounter::Finish() const {
  Arrivals arrivals{.decisions = decisions_, .units = first_us_.size()};
  if (times_us_.empty()) return arrivals;
  const auto [oldest, newest] =
      std::minmax_element(times_us_.begin(), times_us_.end());
  arrivals.newest_us = *newest;
  if (*oldest == *newest) return arrivals;
  const int64_t middle_us = *oldest + (*newest - *oldest) / 2;
  constexpr double kMicrosOfSecond = 1e6;
  arrivals.recent_seconds =
      static_cast<double>(*newest - middle_us) / kMicrosOfSecond;
  const auto is_recent = [&](int64_t time_us) { return time_us > middle_us; };
  arrivals.recent_decisions = static_cast<uint64_t>(
      std::count_if(times_us_.begin(), times_us_.end(), is_recent));
  arrivals.recent_units = static_cast<uint64_t>(
      std::count_if(first_us_.begin(), first_us_.end(),
                    [&](const auto& unit) { return is_recent(unit.second); }));
  return arrivals;
}

}  // namespace sortition
