#pragma once
// The times at which feedback may have been lost (docs/join.md).
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "sortition/log/v1/log.pb.h"

namespace sortition {

// Times are log times in microseconds; intervals contain both ends. Bounded
// memory: intervals of one reason less than a second apart become one, and so
// do the two oldest when there are too many. That censors more, never less.
class CensoredTimes {
 public:
  // Censors [first_us, last_us].
  void Add(log::v1::CensorReason reason, int64_t first_us, int64_t last_us);
  // Censors [since_us, until_us] for as long as this is not called again for
  // `spool`: an interval of which the end is not known. nullopt: it is, and
  // Add() has been told.
  void SetOpen(log::v1::CensorReason reason, std::optional<int64_t> since_us,
               int64_t until_us, uint32_t spool = 0);

  // Returns the reasons whose times meet [first_us, last_us], ascending.
  std::vector<log::v1::CensorReason> ReasonsIn(int64_t first_us,
                                               int64_t last_us) const;

  // Drops what ends before `time_us`.
  void ForgetBefore(int64_t time_us);

 private:
  struct Interval {
    int64_t first_us = 0;
    int64_t last_us = 0;
  };
  struct Times {
    std::deque<Interval> intervals;     // As they were added.
    std::map<uint32_t, Interval> open;  // By spool.
  };
  std::array<Times, log::v1::CensorReason_ARRAYSIZE> times_;
};

}  // namespace sortition
