#pragma once
// How fast decisions, and units that were not seen before, came into a log.
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace sortition {

struct Arrivals {
  uint64_t decisions = 0;
  uint64_t units = 0;
  // Of the second half of the time that the log covers: decisions, units whose
  // first decision is in it, and its length. 0 if decisions have no times.
  uint64_t recent_decisions = 0;
  uint64_t recent_units = 0;
  double recent_seconds = 0;
  int64_t newest_us = 0;  // Time of the newest decision; 0: unknown.
  // Longest time from a decision until its tuple is written.
  double reward_wait_seconds = 0;

  bool units_are_decisions() const { return units == decisions; }
};

// Counts the decisions of one log. Memory grows with units and decisions.
class ArrivalCounter {
 public:
  // `time_us` is 0 if it is not known.
  void Add(uint64_t unit, int64_t time_us);
  Arrivals Finish() const;

 private:
  absl::flat_hash_map<uint64_t, int64_t> first_us_;  // By unit.
  std::vector<int64_t> times_us_;                    // That are known.
  uint64_t decisions_ = 0;
};

}  // namespace sortition
