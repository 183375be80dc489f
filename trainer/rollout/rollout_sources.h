#pragma once
// Finds out whether decisions were missing when a step of a rollout read the
// tuples, and up to when it has read all directories. Which units the missing
// ones registered would be unknown. Retention removes the oldest segments
// first, so one old segment proves that all later ones are there.
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
  // Decisions of all directories were read up to this time.
  int64_t newest_us = 0;
  // An incomplete log was known to lack decisions up to this time.
  int64_t incomplete_until_us = 0;
  double keep_probability = 1;  // The smallest of all tuples.
  google::protobuf::RepeatedPtrField<model::v1::LedgerSource> sources = {};
};

// Clocks of servers may differ by this much. A directory that is further behind
// the others has stopped: no step waits for it.
inline constexpr int64_t kMaxLagUs = 3'600'000'000;

// What a step read of one segment.
struct ReadSegment {
  std::string directory;
  int64_t created_us = 0;  // 0: its name does not say it.
  // Times of the newest decisions; 0: none. Of the model, unless it is in the
  // future; of the rollout; of all.
  int64_t newest_us = 0;
  int64_t newest_of_rollout_us = 0;
  int64_t newest_of_all_us = 0;
  uint64_t corrupt_records = 0;
};

// Returns a segment of which nothing was read yet.
ReadSegment SegmentOf(const std::string& path);

// Up to when a step may go.
struct ReadUntil {
  // Rounds that ended by this time can close: the newest decision of the
  // directory that is furthest behind, unless it has stopped.
  int64_t close_us = 0;
  // Decisions up to this time register. Of later ones the first of a unit may
  // not be there yet, unless there is only one directory that goes on.
  int64_t register_us = 0;
  std::string slowest = {};  // The directory that is furthest behind.
};
ReadUntil ReadUntilOf(const std::vector<ReadSegment>& segments);

// Returns what the ledger keeps of a directory.
model::v1::LedgerSource LedgerSourceOf(const TupleSource& source,
                                       const std::vector<ReadSegment>& segments,
                                       const ReadUntil& until);

// Returns the directory that has a damaged record in a segment that may have
// decisions of the rollout and that no earlier step read to its end; empty:
// there is none.
std::string FindDamage(const ReadSoFar& before,
                       const std::vector<ReadSegment>& segments);

// Returns the directory of which tuples may have been removed unread; empty:
// there is none. A directory is complete if its oldest segment is from before
// the last reading (or the rollout), or if it begins with a decision that was
// read in this directory already, as it does when the spool is joined again; a
// new directory also if it holds all that its sidecar wrote, and none is
// missing. A directory that has moved is compared with the one that is missing.
std::string FindUnreadGap(const ReadSoFar& before,
                          const std::vector<TupleSource>& now);

}  // namespace sortition
