#pragma once
// All tuples of a directory of segments, one in memory at a time.
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "io/segments/segment.h"
#include "sortition/log/v1/log.pb.h"
#include "trainer/tuples/left_out.h"

namespace sortition {

// What was read of a directory, and what of it was left out.
struct TupleCounts {
  uint64_t read_tuples = 0;
  double kept_fraction = 1;    // Below 1: sub-sampled to fit memory_mb.
  uint64_t spilled_bytes = 0;  // Of features, in a scratch file …
  std::string scratch;         // … in this directory.
  std::map<std::string, uint64_t> excluded;  // ReasonText() to count.
  // Of those used: "version 3, game_subset" to count, where that policy gave
  // some actions probability 0.
  std::map<std::string, uint64_t> without_full_support;
  SegmentDamage damage;
  uint64_t newest_version = 0;  // Of the policies that logged the tuples.
  // Validation and test were logged by the baseline alone. False by force only.
  bool evaluates_baseline = true;

  void LeaveOut(LeftOutReason reason);
  uint64_t left_out(LeftOutReason reason) const;
  uint64_t excluded_tuples() const;
  // "12 tuples read, 3 left out: other model", for messages.
  std::string DescribeExclusions() const;
};

// Fewest tuples of each part; the interval needs a variance.
inline constexpr size_t kFewestTuples = 2;

// Calls `take` for each tuple, in the order of writing, and shows progress; an
// error of it ends the scan. Segments that are still written to are read up to
// their last whole record; damaged records are counted and passed over.
// NotFound without the directory.
absl::Status ScanTuples(
    const std::string& dir,
    const std::function<absl::Status(const log::v1::BanditTuple&)>& take,
    SegmentDamage* damage);

}  // namespace sortition
