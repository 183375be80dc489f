#pragma once
// Finds out whether tuples were removed before a step of a rollout read them.
// Which units they registered would then be unknown. Retention removes the
// oldest segments first, so one old segment proves that all later ones are
// there.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "sortition/model/v1/rollout.pb.h"

namespace sortition {

// A directory of tuple segments.
struct TupleSource {
  std::string directory;
  int64_t oldest_us = 0;  // Creation of its oldest segment.
  // The oldest segment is the first that its sidecar ever wrote.
  bool is_beginning = false;
  int64_t first_tuple_us = 0;  // Time of its first decision; 0: none yet.
  // Creation of the oldest segment that may still grow; now if none does. What
  // is written from now on is in segments that were created then or later.
  int64_t needed_us = 0;
};

// Returns the directories that the option `tuples` names. Errors as
// FindSegments() and SegmentReader.
absl::StatusOr<std::vector<TupleSource>> FindTupleSources(
    const std::string& tuples, int64_t now_us);

// What was read of a log until an earlier step.
struct ReadSoFar {
  int64_t started_us = 0;  // Of the rollout.
  int64_t newest_us = 0;   // Time of the newest decision; 0: none yet.
  google::protobuf::RepeatedPtrField<model::v1::LedgerSource> sources;
};

// Returns the directory of which tuples may have been removed unread; empty:
// there is none. A directory is complete if its oldest segment is from before
// the last reading (or the rollout), or if it begins with a decision that was
// read already, as it does when the spool is joined again; a new directory also
// if it holds all that its sidecar wrote, and none is missing.
std::string FindUnreadGap(const ReadSoFar& before,
                          const std::vector<TupleSource>& now);

}  // namespace sortition
