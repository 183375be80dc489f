#pragma once
// Publishes a spool to a stream, byte by byte, and removes what the stream has.
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "process/metrics.h"
#include "sidecar/stream/message_stream.h"
#include "sidecar/stream/segment_follower.h"
#include "sortition/log/v1/stream.pb.h"

namespace sortition {

// Not thread-safe. May be destroyed, or killed, at any time: the next one goes
// on where the stream's answers ended.
class Shipper {
 public:
  struct Options {
    std::string spool;   // Must exist.
    std::string stream;  // Subjects are <stream>.<writer id>.
    bool delete_spool = true;
    // What the stream has taken stays so long, and at most so much of it.
    double keep_seconds = 0;
    uint64_t keep_bytes = 0;
  };
  // Microseconds.
  using Clock = std::function<int64_t()>;

  // `clock` counts from the epoch, `steady_clock` is never set. `stream` and
  // `metrics` must outlive the shipper.
  Shipper(Options options, MessageStream* stream, Metrics* metrics, Clock clock,
          Clock steady_clock);

  // Publishes the next message. Returns true if there is more already.
  // Unavailable if the stream does not take it, or another spool with the same
  // writer id is being published: call again later, nothing is lost. Other
  // errors are of the spool.
  absl::StatusOr<bool> Poll();

  // True if the stream has all that was in the spool during the last Poll().
  bool is_drained() const { return !message_.has_value() && drained_; }

 private:
  struct PublishedSegment {
    std::string name;
    uint64_t bytes;
    int64_t time_us;  // By the steady clock.
  };

  absl::Status Look();
  // Reads what tells this spool from another one of the same writer id; makes
  // it if it is missing.
  absl::Status LoadSpoolId();
  void LoadPosition();
  absl::Status Verify(const std::string& subject);
  // Unavailable while another spool is published to `subject`.
  absl::Status CheckRival(const std::string& subject);
  absl::StatusOr<bool> HasPosition();
  absl::Status SavePosition();
  absl::StatusOr<bool> MakeMessage();
  absl::Status Publish();
  absl::Status TakeAnswer(const std::string& id, const Published& published);
  void NotePublished(const std::string& segment, uint64_t bytes);
  absl::Status RemovePublished();
  void StartAgain();

  const Options options_;
  MessageStream* const stream_;
  const Clock clock_;
  const Clock steady_clock_;
  SegmentFollower follower_;
  bool is_loaded_ = false;  // `position_` and `spool_id_`.
  std::string spool_id_;
  // The newest message of another spool on `subject_`, and when it was first
  // seen, by the steady clock.
  uint64_t rival_ = 0;
  int64_t rival_since_us_ = 0;
  uint64_t most_bytes_ = 0;  // Of a piece.
  log::v1::ShipPosition position_;
  // The stream had all up to `position_`, and `newest_` was the newest message
  // of `subject_`; empty: that is not known.
  std::string subject_;
  uint64_t newest_ = 0;
  // Made and not acknowledged; it stays as it is until it is.
  std::optional<log::v1::StreamMessage> message_;
  bool has_piece_ = false;  // Of the spool; else the message is a state alone.
  bool drained_ = false;
  std::deque<PublishedSegment> kept_;  // Oldest first.
  uint64_t kept_bytes_ = 0;
  int64_t next_state_us_ = 0;
  int64_t next_look_us_ = 0;  // At the stream.
  MetricCounter* published_;
  MetricCounter* published_bytes_;
  MetricCounter* duplicates_;
  MetricCounter* failures_;
  MetricCounter* restarts_;
  MetricCounter* removed_segments_;
  MetricGauge* lag_bytes_;
  MetricGauge* acknowledged_seconds_;
  MetricGauge* stream_bytes_;
  MetricGauge* stream_max_bytes_;
};

}  // namespace sortition
