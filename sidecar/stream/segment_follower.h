#pragma once
// Follows a spool as bytes: all intact frames of all its segments, in order.
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "io/segments/segment.h"

namespace sortition {

// Not thread-safe.
class SegmentFollower {
 public:
  struct Piece {
    std::string segment;
    std::string previous_segment;  // Empty: not known.
    uint64_t offset = 0;
    std::string bytes;
    bool ends_segment = false;
  };

  explicit SegmentFollower(std::string dir) : dir_(std::move(dir)) {}

  // Goes on in `segment` behind its first `bytes` bytes, or behind the segment.
  void GoTo(std::string segment, uint64_t bytes, bool is_complete);

  // Returns the next piece, at most `most_bytes` long; without bytes and end if
  // there is none now. The next call returns what is behind it. The segment of
  // a dead writer is recovered and read to its end. A damaged record is passed
  // on as it is.
  absl::StatusOr<Piece> Next(uint64_t most_bytes);

  // True if the pieces so far hold all that was in the spool at some moment
  // during the last call of Next().
  bool is_caught_up() const { return is_caught_up_; }

  // The segment of the last piece; empty: none yet.
  const std::string& segment() const { return segment_; }
  uint64_t offset() const { return offset_; }  // Behind the last piece.
  bool is_complete() const { return is_complete_; }
  // Bytes behind the last piece, preallocated ones included.
  uint64_t RemainingBytes() const;

 private:
  absl::StatusOr<bool> OpenNext();
  absl::Status Scan(uint64_t most_bytes);
  absl::Status AtEnd(bool is_whole);
  absl::StatusOr<bool> AreLaterSegmentsEmpty() const;
  std::string PathOf(const std::string& name) const {
    return dir_ + "/" + name;
  }

  const std::string dir_;
  std::string segment_;
  std::string previous_;
  uint64_t offset_ = 0;
  bool is_complete_ = true;  // Of `segment_`, as far as pieces were returned.
  std::unique_ptr<SegmentReader> reader_;  // Null: open it again.
  uint64_t intact_end_ = 0;
  bool has_ended_ = false;  // Nothing comes behind intact_end_.
  bool is_recovered_ = false;
  bool is_caught_up_ = false;
};

}  // namespace sortition
