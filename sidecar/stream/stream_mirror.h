#pragma once
// Copies of the spools that a stream carries, one directory for each writer.
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "process/metrics.h"
#include "process/repeated_log.h"
#include "sidecar/stream/message_stream.h"
#include "sidecar/stream/mirrored_spool.h"
#include "sortition/log/v1/stream.pb.h"

namespace sortition {

// Not thread-safe. May be destroyed, or killed, at any time: the next one goes
// on where the disk ends.
class StreamMirror {
 public:
  struct Options {
    std::string dir;            // Made if missing.
    std::string stream;         // Its name.
    double retain_seconds = 0;  // Negative: nothing is removed from the stream.
    double max_silence_seconds = 0;
    uint32_t max_writers = 100;  // Further ones are refused.
  };
  // Microseconds since some time in the past.
  using Clock = std::function<int64_t()>;

  // Finds out what is in the copies, and locks those of open segments: call it
  // before anybody follows them. `stream` and `metrics` must outlive it.
  static absl::StatusOr<std::unique_ptr<StreamMirror>> Open(
      Options options, MessageStream* stream, Metrics* metrics,
      Clock steady_clock);

  // Takes messages that are there, or come within `seconds`. Returns how many
  // it got. Unavailable if the stream cannot be read, ResourceExhausted if the
  // disk is full: call again later, nothing is lost. Other errors are of the
  // disk.
  absl::StatusOr<size_t> Poll(double seconds);

 private:
  struct Source {
    std::unique_ptr<MirroredSpool> spool;
    int64_t heard_us = 0;  // When a message came, by the steady clock.
    MetricGauge* silence_seconds = nullptr;
    // Since when messages of this writer could not be taken; 0: they can.
    int64_t gap_us = 0;
    // How often the stream was read again because of it.
    int num_rereads = 0;
  };
  struct Mark {
    int64_t time_us;  // By the steady clock.
    uint64_t sequence;
  };
  struct Progress {
    uint64_t last_sequence = 0;  // Of the stream.
    uint64_t position = 0;
  };
  struct Place {
    uint64_t sequence = 0;
    std::string id;  // Of the message there.
  };

  StreamMirror(Options options, MessageStream* stream, Metrics* metrics,
               Clock steady_clock);
  absl::Status Recover();
  absl::Status AddSource(const std::string& writer,
                         const log::v1::MirrorPosition::Writer* position);
  absl::Status Start();
  absl::StatusOr<bool> IsOther(const StreamState& state);
  absl::Status StartAt(uint64_t sequence);
  absl::StatusOr<bool> IsNext(const ReceivedMessage& message);
  absl::StatusOr<bool> Take(const ReceivedMessage& message);
  // InvalidArgument if the message is refused.
  absl::Status TakeContent(const ReceivedMessage& message);
  absl::Status TakeSpool(const log::v1::StreamMessage& message);
  absl::Status CheckNewWriter(const std::string& writer) const;
  void Refuse(const ReceivedMessage& message, const absl::Status& why);
  absl::Status TakeAll(double seconds, size_t* num_messages);
  absl::Status Commit();
  absl::Status WatchGaps();
  absl::Status WatchSilence();
  bool HasGaps() const;
  absl::Status Look();
  absl::Status RemoveOldMessages(const StreamState& state);

  const Options options_;
  MessageStream* const stream_;
  Metrics* const metrics_;
  const Clock steady_clock_;
  std::map<std::string, Source> sources_;  // By writer.
  // Where the stream was read to, without `writers`.
  log::v1::MirrorPosition position_;
  // Before the first message that could not be taken. The disk does not go
  // beyond it, so that the next process reads that message, too.
  std::optional<Place> before_gap_;
  bool is_started_ = false;
  bool is_first_ = true;  // No message since the start.
  bool must_commit_ = false;
  std::deque<Mark> marks_;  // What was taken, oldest first.
  int64_t next_look_us_ = 0;
  Progress progress_;  // At the last look.
  RepeatedLog refusals_;
  MetricCounter* messages_;
  MetricCounter* bytes_;
  MetricCounter* redelivered_;
  MetricCounter* refused_;
  MetricCounter* missing_;
  MetricCounter* restarts_;
  MetricCounter* removed_;
  MetricGauge* pending_;
  MetricGauge* stream_bytes_;
  MetricGauge* stream_max_bytes_;
};

}  // namespace sortition
