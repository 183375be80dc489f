#pragma once
// The tuple segments that a command reads, from one directory or several.
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "io/segments/seen_tuples.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

class TupleLog {
 public:
  struct Segment {
    std::string path;
    std::string join;     // RewardJoinText().
    bool is_read = true;  // False: joined otherwise than the newest tuples.
    // Nothing from here on is read.
    uint64_t end = std::numeric_limits<uint64_t>::max();
  };

  struct Options {
    // Rewards that were joined in different ways do not mean the same:
    // otherwise only segments with the join of the newest one that has a tuple
    // are read.
    bool mix_joins = false;
    // Whether a log that says that it is incomplete may be used.
    bool allow_incomplete = false;
    // Segments whose file was written last before this time are passed over:
    // whatever is looked for is newer.
    int64_t written_since_us = 0;
    // Where copies are looked for, if there are many tuples; empty:
    // DefaultScratchDirectory().
    std::string scratch = "";
  };

  // `tuples` are the entries of FindSegments(), separated by commas. Reads the
  // beginning of each segment; if they are in several directories, everything,
  // to find copies. What is written later is then not read. Errors as
  // FindSegments(), SegmentReader and CopyFinder.
  static absl::StatusOr<TupleLog> Open(const std::string& tuples,
                                       const Options& options);

  // What Open() was asked for.
  const std::string& name() const { return name_; }
  bool allows_incomplete() const { return allows_incomplete_; }
  // In the order of writing.
  const std::vector<Segment>& segments() const { return segments_; }
  // By index in segments(). Of copies all but the first are among them.
  const TupleCopies& copies() const { return copies_; }
  // Longest time that a segment's decisions waited for rewards; 0: unknown.
  double reward_wait_seconds() const { return reward_wait_seconds_; }

 private:
  absl::Status FindCopies(const std::string& scratch);

  std::string name_;
  bool allows_incomplete_ = false;
  std::vector<Segment> segments_;
  TupleCopies copies_;
  double reward_wait_seconds_ = 0;
};

}  // namespace sortition
