#pragma once
// A copy of one spool, written from the messages of its stream. Whoever follows
// it sees a spool whose server writes: the newest segment is locked until its
// end has come.
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sortition/log/v1/stream.pb.h"

namespace sortition {

// Not thread-safe.
class MirroredSpool {
 public:
  enum class Result {
    kTaken,
    kKnown,  // Was there already.
    kGap,    // Bytes before it are missing: nothing was done.
    // It comes behind a later segment of another spool of the same writer id:
    // nothing was done.
    kOfOtherSpool,
  };

  // Makes `dir` if it is missing. `position` says what of it is on the disk;
  // what is beyond will come again and is removed. Null: not known. Call it
  // before anybody follows the copy.
  static absl::StatusOr<std::unique_ptr<MirroredSpool>> Open(
      std::string dir, const log::v1::MirrorPosition::Writer* position);
  ~MirroredSpool();
  MirroredSpool(const MirroredSpool&) = delete;
  MirroredSpool& operator=(const MirroredSpool&) = delete;

  // Takes a message of this writer. With `accept_gap` the segment that has the
  // gap ends before it.
  absl::StatusOr<Result> Take(const log::v1::StreamMessage& message,
                              bool accept_gap);

  // What was taken is on the disk when it returns.
  absl::Status Sync();
  log::v1::MirrorPosition::Writer position() const;
  // Tells followers what the writer said last. Call it when all is on the disk.
  absl::Status WriteState();
  // Followers stop waiting for the writer: their own clock counts.
  void ReleaseState();

  // Segments that ended before a gap.
  uint64_t num_gaps() const { return num_gaps_; }

 private:
  explicit MirroredSpool(std::string dir) : dir_(std::move(dir)) {}
  absl::Status Recover(const log::v1::MirrorPosition::Writer* position);
  absl::Status Reopen();
  absl::Status Begin(const std::string& segment);
  absl::Status Append(const log::v1::StreamMessage& message);
  absl::Status Finish();
  // Whether the message is of another spool than what was taken. Unknown ids
  // tell nothing.
  bool IsOfOtherSpool(const log::v1::StreamMessage& message) const;
  bool IsBehindGap(const log::v1::StreamMessage& message) const;
  absl::Status EndBeforeGap(const log::v1::StreamMessage& message);
  void TakeState(const log::v1::StreamMessage& message);
  std::string PathOf(const std::string& name) const {
    return dir_ + "/" + name;
  }

  const std::string dir_;
  std::string segment_;   // The newest one; empty: none yet.
  uint64_t bytes_ = 0;    // Of it.
  std::string spool_id_;  // Of the last message that was taken; may be empty.
  bool is_complete_ = true;
  int fd_ = -1;  // Of `segment_`, locked, while it is not complete.
  bool must_sync_ = false;
  bool must_sync_directory_ = false;
  std::string state_;  // To be written; empty: nothing new.
  int64_t seen_us_ = 0;
  uint64_t num_gaps_ = 0;
};

}  // namespace sortition
