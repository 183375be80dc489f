#pragma once
// Counts how often the test part of a version was looked at. Who looks often
// enough is once lucky: each look must be charged for all of them.
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

// The file <store>/<model>/looks.jsonl, a view without a state of its own. Safe
// against other processes.
class LookLedger {
 public:
  LookLedger(const std::string& store, const std::string& model);

  // Notes, on the disk, that `test_tuples` decisions of `baseline_version` are
  // about to be looked at. Returns the number of this look among those, from 1.
  // A line that cannot be read counts as a look.
  absl::StatusOr<uint64_t> Begin(uint64_t baseline_version,
                                 uint64_t test_tuples = 0);
  // Returns the last look at the decisions of `baseline_version`, with what
  // Begin() and End() noted of it; nothing if there was none, or if no line of
  // it can be read.
  absl::StatusOr<std::optional<model::v1::Look>> Last(
      uint64_t baseline_version) const;
  // Returns the number that Begin() would return, and notes nothing.
  absl::StatusOr<uint64_t> NextNumber(uint64_t baseline_version) const;
  // Notes what came of it; `look` has baseline_version and number.
  absl::Status End(const model::v1::Look& look);

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Returns the share of the failure probability of all looks that the
// `number`-th may have: 6 / (π number)². All shares add up to 1.
double ShareOfLook(uint64_t number);

// Returns the share of the failure probability that is left for later looks
// after `looks` of them, in (0, 1].
double ShareLeftAfter(uint64_t looks);

}  // namespace sortition
