#pragma once
// Bounds how many log lines of one kind are written, where others decide how
// often there is a reason for one.
#include <atomic>
#include <cstdint>

#include "absl/time/clock.h"

namespace sortition {

// Thread-safe, without locks: at a turn of the second a few more lines may
// pass.
class LogRate {
 public:
  explicit LogRate(int max_per_second) : max_per_second_(max_per_second) {}

  // Returns whether a line may be written now. If so, stores in `left_out` how
  // many lines were not written since the last one that was.
  bool MayLog(uint64_t* left_out) {
    const int64_t second = absl::GetCurrentTimeNanos() / 1'000'000'000;
    if (second_.exchange(second) != second) num_written_ = 0;
    if (++num_written_ > max_per_second_) {
      ++num_left_out_;
      return false;
    }
    *left_out = num_left_out_.exchange(0);
    return true;
  }

 private:
  const int max_per_second_;
  std::atomic<int64_t> second_{0};
  std::atomic<int> num_written_{0};
  std::atomic<uint64_t> num_left_out_{0};
};

}  // namespace sortition
