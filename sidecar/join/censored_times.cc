#include "sidecar/join/censored_times.h"

#include <algorithm>

namespace sortition {
namespace {

constexpr int64_t kJoinedUs = 1000000;
constexpr size_t kMostIntervals = 1000;

}  // namespace

void CensoredTimes::Add(log::v1::CensorReason reason, int64_t first_us,
                        int64_t last_us) {
  std::deque<Interval>& intervals = times_[reason].intervals;
  if (!intervals.empty() && first_us <= intervals.back().last_us + kJoinedUs &&
      last_us >= intervals.back().first_us - kJoinedUs) {
    Interval& newest = intervals.back();
    newest = {std::min(newest.first_us, first_us),
              std::max(newest.last_us, last_us)};
    return;
  }
  intervals.push_back({first_us, last_us});
  if (intervals.size() <= kMostIntervals) return;
  const Interval oldest = intervals.front();
  intervals.pop_front();
  Interval& second = intervals.front();
  second = {std::min(oldest.first_us, second.first_us),
            std::max(oldest.last_us, second.last_us)};
}

void CensoredTimes::SetOpen(log::v1::CensorReason reason,
                            std::optional<int64_t> since_us, int64_t until_us,
                            uint32_t spool) {
  std::map<uint32_t, Interval>& open = times_[reason].open;
  open.erase(spool);
  if (since_us.has_value()) open[spool] = {*since_us, until_us};
}

std::vector<log::v1::CensorReason> CensoredTimes::ReasonsIn(
    int64_t first_us, int64_t last_us) const {
  const auto meets = [&](const Interval& interval) {
    return interval.first_us <= last_us && interval.last_us >= first_us;
  };
  std::vector<log::v1::CensorReason> reasons;
  for (size_t i = 0; i < times_.size(); ++i) {
    const Times& times = times_[i];
    if (std::any_of(times.open.begin(), times.open.end(),
                    [&](const auto& open) { return meets(open.second); }) ||
        std::any_of(times.intervals.begin(), times.intervals.end(), meets)) {
      reasons.push_back(static_cast<log::v1::CensorReason>(i));
    }
  }
  return reasons;
}

void CensoredTimes::ForgetBefore(int64_t time_us) {
  for (Times& times : times_) {
    std::erase_if(times.intervals, [&](const Interval& interval) {
      return interval.last_us < time_us;
    });
  }
}

}  // namespace sortition
