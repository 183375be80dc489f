#pragma once
// Follows a spool: reads all records of all its segments in order as they come.
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "io/segments/segment.h"
#include "sidecar/join/join_records.h"

namespace sortition {

struct TailCounts {
  uint64_t bytes = 0;               // In record payloads.
  uint64_t corrupt_records = 0;     // Skipped.
  uint64_t missing_records = 0;     // By the numbers in headers.
  uint64_t recovered_segments = 0;  // Their writer had died.
  uint64_t torn_bytes = 0;          // Cut from their ends.
  uint64_t out_of_order_segments = 0;

  TailCounts& operator+=(const TailCounts& other);
};

// Not thread-safe.
class SpoolTail {
 public:
  enum class Outcome {
    kRecord,        // record() returns it.
    kDamage,        // A damaged record was skipped.
    kSegmentBegun,  // header() is that of the current segment.
    kSegmentDone,   // The current segment has ended.
    kCaughtUp,      // The whole spool has been read.
    kWaiting,       // Nothing to read now, but more is coming.
  };
  struct Record {
    SpoolPlace place;
    absl::string_view payload;  // Valid until the next call of Next().
  };
  struct Segment {
    std::string name;
    std::string writer_id;    // From its header; from its name without one.
    std::string incarnation;  // From its header.
    // Once it was read to its end: the number of the first record behind it,
    // and whether another segment of its incarnation must follow.
    uint64_t end_sequence = 0;
    bool must_go_on = false;
  };

  // `dir` must exist. Where inotify does not work,
  // Wait() hears of nothing.
  SpoolTail(std::string dir, bool use_inotify);
  ~SpoolTail();
  SpoolTail(const SpoolTail&) = delete;
  SpoolTail& operator=(const SpoolTail&) = delete;

  // Reads on. Damaged records are counted, logged and skipped; the segment of a
  // dead writer is recovered and read to its end. FailedPrecondition for a
  // segment of a later format; other errors name the file that cannot be read.
  absl::StatusOr<Outcome> Next();
  const Record& record() const { return record_; }
  const log::v1::SegmentHeader& header() const { return header_; }
  // Returns true if records between the segment before and the current one are
  // missing.
  bool is_after_missing() const { return is_after_missing_; }

  // Waits until one of the spools may have changed, at most `seconds`.
  static void Wait(std::span<const SpoolTail* const> tails, double seconds);

  // Returns the segment with the ordinal `place.segment`, counted from 1.
  const Segment& segment(uint32_t ordinal) const;
  // Forgets the names of segments before `ordinal`.
  void DropBefore(uint32_t ordinal);
  uint32_t current_segment() const { return current_; }

  // The names of the segments after the current one.
  const std::deque<std::string>& later_segments() const { return later_; }
  // Unread bytes of the current segment, including preallocated ones.
  uint64_t RemainingBytes() const;
  std::string PathOf(const std::string& name) const {
    return dir_ + "/" + name;
  }
  const TailCounts& counts() const { return counts_; }

 private:
  absl::Status List();
  absl::Status OpenNext();
  enum class Content { kRecord, kHeader, kFooter };
  absl::StatusOr<Content> TakeRecord(absl::string_view payload,
                                     uint64_t offset);
  // Finds out whether records are missing before the segment of `header_`.
  void CheckSequence(const std::string& incarnation_before);
  absl::StatusOr<Outcome> AtEnd(SegmentReader::Outcome outcome);
  absl::Status Recover();
  absl::StatusOr<bool> AreLaterSegmentsEmpty() const;
  Outcome Finish();

  const std::string dir_;
  int inotify_ = -1;
  std::unique_ptr<SegmentReader> reader_;  // Reads the current segment.
  bool has_dead_writer_ = false;           // Of the current segment.
  std::deque<Segment> segments_;           // The last one is the current one.
  uint32_t first_ordinal_ = 1;             // Ordinal of segments_.front().
  uint32_t current_ = 0;
  std::deque<std::string> later_;
  Record record_;
  log::v1::SegmentHeader header_;  // Of the current segment.
  bool is_after_missing_ = false;
  // Whether a segment of the same incarnation must follow the current one.
  bool must_go_on_ = false;
  uint64_t next_sequence_ = 0;  // Number of the next record.
  TailCounts counts_;
};

}  // namespace sortition
