#pragma once
// Detects tuples that were removed before a step of a rollout read them,
// because their units are then unknown. Retention removes the oldest segments
// first, so that one old segment proves that all later ones still exist.
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
  // True if the oldest segment is the first that its sidecar ever wrote.
  bool is_beginning = false;
  int64_t first_tuple_us = 0;  // Time of its first decision; 0: none yet.
  // Creation of the oldest segment that may still grow; the current time if
  // none may. Later tuples are written to segments that were created then or
  // later.
  int64_t needed_us = 0;
};

// Returns the directories that the option `tuples` names. Errors as
// FindSegments() and SegmentReader.
absl::StatusOr<std::vector<TupleSource>> FindTupleSources(
    const std::string& tuples, int64_t now_us);

// Position up to which earlier steps have read a log.
struct ReadSoFar {
  int64_t started_us = 0;  // Of the rollout.
  int64_t newest_us = 0;   // Time of the newest decision; 0: none yet.
  google::protobuf::RepeatedPtrField<model::v1::LedgerSource> sources;
};

// Returns a directory whose tuples may have been removed before they were read;
// empty if there is none. A directory is complete if its oldest segment was
// created before the last reading (or before the rollout began), or if it
// begins with a decision that was already read, as after a repeated join of the
// spool. A new directory is also complete if it holds all segments that its
// sidecar wrote, and no earlier directory is missing.
std::string FindUnreadGap(const ReadSoFar& before,
                          const std::vector<TupleSource>& now);

}  // namespace sortition
