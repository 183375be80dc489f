#pragma once
// One of the spools that a sidecar reads, and the output for its decisions.
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "io/spool/writer_state.h"
#include "sidecar/directory_lock.h"
#include "sidecar/join/joiner.h"
#include "sidecar/spools/decision_reader.h"
#include "sidecar/spools/loss_watch.h"
#include "sidecar/spools/record_wire.h"
#include "sidecar/spools/spool_tail.h"
#include "sidecar/tuple_writer.h"
#include "sortition/config/v1/sidecar.pb.h"

namespace sortition {

// A decision as the joiner gets it.
struct SmallDecision {
  absl::string_view id;  // Valid until SpoolSource::Read() is called.
  int64_t time_us = 0;   // As stamped.
  DecisionFacts facts;
};

// A view of a shadow as the joiner gets it.
struct SmallView {
  absl::string_view decision_id;  // Valid until SpoolSource::Read() is called.
  int64_t time_us = 0;            // As stamped.
  uint64_t version = 0;
};

struct SourceRecord {
  SpoolPlace place;
  int64_t time_us = 0;  // At most the latest possible.
  std::variant<SmallDecision, log::v1::Shown, log::v1::Feedback, SmallView>
      content;
};

// Not thread-safe.
class SpoolSource {
 public:
  // A segment from which records were read.
  struct Segment {
    uint32_t ordinal = 0;
    int64_t first_time_us = 0;  // Time of its first record; 0: none yet.
    int64_t last_time_us = 0;   // Latest time of a record.
    bool is_done = false;
  };
  enum class Outcome {
    kRecord,    // A record waits for TakeRecord().
    kProgress,  // Something else was read.
    kCaughtUp,  // As in SpoolTail.
    kWaiting,
  };

  // Takes the spool `dir`, which must exist, as number `number` of the joiner's
  // spools. FailedPrecondition if another sidecar works on it. `joiner` must
  // outlive it. Without `is_one_of_several` it is the only spool.
  static absl::StatusOr<std::unique_ptr<SpoolSource>> Open(
      const config::v1::SidecarOptions& options, const std::string& dir,
      uint32_t number, bool is_one_of_several, Joiner* joiner);

  // Reads on, unless a record waits. No record is taken to be later than
  // `latest_us`.
  absl::StatusOr<Outcome> Read(int64_t latest_us);
  // The same after all has been read and `now_us` was taken; asks first what
  // the writer says about itself.
  absl::StatusOr<Outcome> Look(int64_t now_us, int64_t latest_us);

  // The record that waits.
  bool has_record() const { return record_.has_value(); }
  const SourceRecord& record() const { return *record_; }
  // Where it stands among those of all spools: the latest time so far. Never
  // decreases.
  int64_t record_key_us() const;
  // Says what the latest time of the segments was that were removed.
  void SetRemovedUntil(int64_t time_us) { removed_until_us_ = time_us; }
  // Gives it to the joiner. Returns what Joiner::AddDecision() does.
  std::optional<RepeatedDecision> TakeRecord();

  // All records up to this time have been read, but for disorder, if none
  // waits.
  int64_t frontier_us() const { return frontier_us_; }
  bool is_caught_up() const { return is_caught_up_; }
  // Returns whether all has been read again that earlier processes have passed.
  bool is_replayed() const { return is_replayed_; }

  log::v1::SpoolPosition PositionOf(SpoolPlace place) const;
  // Returns the serialised decision, valid until the next call.
  absl::StatusOr<absl::string_view> ReadDecision(SpoolPlace place);
  // Returns the serialised view of a shadow, valid until the next call.
  absl::StatusOr<absl::string_view> ReadView(SpoolPlace place);
  const std::string& WriterIdAt(SpoolPlace place) const {
    return tail_.segment(place.segment).writer_id;
  }

  // Returns the segments of which something may still be needed, oldest first.
  const std::deque<Segment>& segments() const { return segments_; }
  // Returns whether the oldest segment is all read, and no writer needs its
  // name any more.
  bool IsOldestDone() const;
  std::string OldestName() const;
  // Returns how far the spool is done without the oldest segment.
  log::v1::SpoolProgress ProgressAfterOldest() const;
  // Passes on to the segment behind the oldest one, and removes that if
  // delete_spool is set.
  absl::Status PassOldest();
  // Returns the size of what was not read yet.
  uint64_t LagBytes() const;

  const std::string& dir() const { return dir_; }
  uint32_t number() const { return number_; }
  // Of one of several spools; empty as long as that has no segment.
  const std::string& writer_id() const { return writer_id_; }
  // Where the tuples go; null as long as the spool has no segment, if it is one
  // of several.
  TupleWriter* writer() const { return writer_.get(); }
  const SpoolTail& tail() const { return tail_; }
  uint64_t malformed_records() const { return malformed_records_; }
  uint64_t gap_records() const { return gap_records_; }
  // Records that were removed before the oldest segment, and not joined.
  uint64_t missing_before() const { return missing_before_; }
  // Returns true if the oldest segment has records before it that no process
  // has joined here, as far as is known.
  bool begins_in_the_middle() const { return begins_in_the_middle_; }

 private:
  SpoolSource(const config::v1::SidecarOptions& options, std::string dir,
              uint32_t number, bool is_one_of_several, Joiner* joiner);
  absl::Status OpenWriter();
  absl::Status BeginSegment();
  // Compares the oldest segment with what an earlier process was done with.
  void BeginSpool();
  Outcome TakePayload(const SpoolTail::Record& record, int64_t latest_us);
  bool ParseRecord(const SpoolTail::Record& record, const RecordView& view);
  bool ParseDecision(absl::string_view bytes);
  bool ParseView(absl::string_view bytes);
  void TakeGap(const log::v1::Gap& gap);
  void NoteLastTime(int64_t time_us);

  const config::v1::SidecarOptions options_;
  const std::string dir_;
  const uint32_t number_;
  const bool is_one_of_several_;
  Joiner* const joiner_;
  DirectoryLock lock_;
  SpoolTail tail_;
  LossWatch losses_;
  WriterState writer_state_;  // The last whole one.
  DecisionReader decisions_;
  DecisionReader views_{log::v1::LogRecord::kShadowView};
  std::string writer_id_;
  std::unique_ptr<TupleWriter> writer_;
  std::deque<Segment> segments_;
  uint32_t last_ordinal_ = 0;  // Of the newest segment there was.
  std::optional<SourceRecord> record_;
  int64_t removed_until_us_ = 0;
  int64_t frontier_us_ = 0;
  bool is_caught_up_ = false;
  bool is_replayed_ = false;
  uint64_t malformed_records_ = 0;  // Intact frames with malformed content.
  uint64_t gap_records_ = 0;        // That the server says it has lost.
  uint64_t missing_before_ = 0;
  bool begins_in_the_middle_ = false;
};

}  // namespace sortition
