#pragma once
// The tuple segments that a command reads, from one directory or several.
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

class TupleLog {
 public:
  struct Segment {
    std::string path;
    std::string join;     // RewardJoinText().
    bool is_read = true;  // False: joined otherwise than the newest tuples.
  };

  struct Options {
    // Rewards that were joined in different ways do not mean the same:
    // otherwise only segments with the join of the newest one that has a tuple
    // are read.
    bool mix_joins = false;
    // Whether a log that says that it is incomplete may be used.
    bool allow_incomplete = false;
  };

  // `tuples` are the entries of FindSegments(), separated by commas. Reads the
  // beginning of each segment.
  static absl::StatusOr<TupleLog> Open(const std::string& tuples,
                                       const Options& options);

  // What Open() was asked for.
  const std::string& name() const { return name_; }
  bool allows_incomplete() const { return allows_incomplete_; }
  // In the order of writing.
  const std::vector<Segment>& segments() const { return segments_; }

 private:
  std::string name_;
  bool allows_incomplete_ = false;
  std::vector<Segment> segments_;
};

}  // namespace sortition
