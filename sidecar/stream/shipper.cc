#include "sidecar/stream/shipper.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <random>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/clocks.h"
#include "io/files.h"
#include "io/posix_status.h"
#include "io/segments/parse_message.h"
#include "io/segments/segment.h"
#include "io/spool/writer_state.h"
#include "process/log.h"
#include "sidecar/stream/stream_names.h"

namespace sortition {
namespace {

constexpr char kPublishedPositionFile[] = "/.published";
constexpr char kSpoolIdFile[] = "/.spool_id";
// Begins the ids of messages that say of which spool they are.
constexpr char kSpoolIdMark = '~';
// Another spool with the same writer id that has published nothing for so long
// is gone. Publishers send something every second.
constexpr int64_t kRivalSilenceUs = 30'000'000;
constexpr int64_t kStateIntervalUs = 1000000;
constexpr int64_t kStreamCheckIntervalUs = 10000000;
// Of a message beside its bytes, and of NATS' headers.
constexpr uint64_t kOverheadBytes = 4096;
// Larger messages make brokers slow.
constexpr uint64_t kMostBytes = uint64_t{4} << 20;

std::string NewSpoolId() {
  std::random_device random;
  const uint64_t high = random();
  return absl::StrCat(
      absl::Hex(high << 32 | random(), absl::PadSpec::kZeroPad16));
}

}  // namespace

Shipper::Shipper(Options options, MessageStream* stream, Metrics* metrics,
                 Clock clock, Clock steady_clock)
    : options_(std::move(options)),
      stream_(stream),
      clock_(std::move(clock)),
      steady_clock_(std::move(steady_clock)),
      follower_(options_.spool) {
  published_ = metrics->Counter("sortition_ship_messages_total",
                                "Messages that the stream has taken");
  published_bytes_ = metrics->Counter("sortition_ship_bytes_total",
                                      "Bytes of the spool in them");
  duplicates_ =
      metrics->Counter("sortition_ship_duplicates_total",
                       "Messages published again that the stream had already");
  failures_ = metrics->Counter("sortition_ship_failures_total",
                               "Messages that the stream did not take; they "
                               "are published again");
  restarts_ =
      metrics->Counter("sortition_ship_restarts_total",
                       "Times that the whole spool was published again, "
                       "because the stream had lost messages");
  removed_segments_ =
      metrics->Counter("sortition_ship_removed_segments_total",
                       "Spool segments removed because the stream has them");
  lag_bytes_ = metrics->Gauge("sortition_ship_lag_bytes",
                              "Bytes of the spool that the stream has not got");
  acknowledged_seconds_ =
      metrics->Gauge("sortition_ship_acknowledged_seconds",
                     "When the stream last took a message, since the epoch");
  stream_bytes_ =
      metrics->Gauge("sortition_stream_bytes", "Size of the stream");
  stream_max_bytes_ = metrics->Gauge("sortition_stream_max_bytes",
                                     "Largest size of the stream; 0: no limit");
}

absl::StatusOr<bool> Shipper::Poll() {
  RETURN_IF_ERROR(Look());
  if (!message_.has_value()) {
    ASSIGN_OR_RETURN(const bool has_message, MakeMessage());
    lag_bytes_->Set(static_cast<double>(follower_.RemainingBytes()));
    if (!has_message) return false;
  }
  RETURN_IF_ERROR(Publish());
  return !is_drained();
}

absl::Status Shipper::Look() {
  if (is_loaded_ && steady_clock_() < next_look_us_) return absl::OkStatus();
  ASSIGN_OR_RETURN(const StreamState state, stream_->State());
  ASSIGN_OR_RETURN(const uint64_t most, stream_->MaxMessageBytes());
  if (most <= 2 * kOverheadBytes) {
    return absl::FailedPreconditionError(
        absl::StrCat("max_payload of the NATS server is ", most,
                     " bytes, must be more than ", 2 * kOverheadBytes));
  }
  most_bytes_ = std::min(most - kOverheadBytes, kMostBytes);
  next_look_us_ = steady_clock_() + kStreamCheckIntervalUs;
  stream_bytes_->Set(static_cast<double>(state.bytes));
  stream_max_bytes_->Set(static_cast<double>(state.max_bytes));
  if (!is_loaded_) {
    RETURN_IF_ERROR(LoadSpoolId());
    LoadPosition();
  }
  is_loaded_ = true;
  if (position_.sequence() > 0 &&
      (state.created_ns != position_.stream_created_ns() ||
       state.last_sequence < position_.sequence())) {
    StartAgain();
  }
  position_.set_stream(options_.stream);
  position_.set_stream_created_ns(state.created_ns);
  return absl::OkStatus();
}

absl::Status Shipper::LoadSpoolId() {
  const std::string path = options_.spool + kSpoolIdFile;
  const absl::StatusOr<std::string> saved = ReadFile(path);
  if (saved.ok() && !saved->empty()) {
    spool_id_ = *saved;
    return absl::OkStatus();
  }
  if (!saved.ok() && !absl::IsNotFound(saved.status())) return saved.status();
  spool_id_ = NewSpoolId();
  return WriteFile(path, spool_id_);
}

// Where the position is not known, the spool is published from its beginning:
// that costs time and nothing else.
void Shipper::LoadPosition() {
  const absl::StatusOr<std::string> saved =
      ReadFile(options_.spool + kPublishedPositionFile);
  log::v1::ShipPosition position;
  if (!saved.ok() || !ParseMessage(*saved, &position) ||
      position.stream() != options_.stream) {
    return;
  }
  position_ = position;
  follower_.GoTo(position.segment(), position.bytes(), position.is_complete());
  // What was kept is kept from now on.
  const auto names = ListSegments(options_.spool);
  for (const std::string& name : names.value_or(std::vector<std::string>())) {
    if (name > position.segment()) break;
    if (name == position.segment() && !position.is_complete()) break;
    std::error_code gone;
    const std::string path = absl::StrCat(options_.spool, "/", name);
    const uint64_t bytes = std::filesystem::file_size(path, gone);
    if (!gone) NotePublished(name, bytes);
  }
}

// From here on each message names the one before it, so that a stream that
// loses its newest messages takes no other. The order matters: what is lost
// between the two questions is noticed by the next message.
absl::Status Shipper::Verify(const std::string& subject) {
  ASSIGN_OR_RETURN(newest_, stream_->NewestOf(subject));
  RETURN_IF_ERROR(CheckRival(subject));
  ASSIGN_OR_RETURN(const bool has_position, HasPosition());
  if (has_position) {
    subject_ = subject;
  } else {
    StartAgain();
  }
  return absl::OkStatus();
}

// A mirror takes the segments of a writer in the order of their names. Of two
// spools that are published under one name it would lose those that come behind
// later ones of the other spool. So the second one waits until the first is
// gone, as when the disk of a spool was lost.
absl::Status Shipper::CheckRival(const std::string& subject) {
  if (newest_ == 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::optional<std::string> id, stream_->IdOf(newest_));
  const bool has_spool_id =
      id.has_value() && !id->empty() && (*id)[0] == kSpoolIdMark;
  if (!has_spool_id ||
      absl::StartsWith(
          *id, absl::StrCat(std::string(1, kSpoolIdMark), spool_id_, "/"))) {
    return absl::OkStatus();
  }
  const int64_t now_us = steady_clock_();
  if (std::exchange(rival_, newest_) != newest_) rival_since_us_ = now_us;
  if (now_us < rival_since_us_ + kRivalSilenceUs) {
    failures_->Increment();
    return absl::UnavailableError(absl::StrCat(
        "another spool is published to ", subject, ", which is that of ",
        options_.spool, ": give each server a spool.writer_id of its own. ",
        "This spool keeps its records until the other one has published ",
        "nothing for ", kRivalSilenceUs / 1'000'000, " s"));
  }
  LogWarning("the spool takes the place of another one that is silent",
             {{"spool", options_.spool}, {"subject", subject}});
  return absl::OkStatus();
}

// Returns true if the stream has the last message that it acknowledged, or had
// it for a mirror.
absl::StatusOr<bool> Shipper::HasPosition() {
  if (position_.sequence() == 0) return true;
  ASSIGN_OR_RETURN(const std::optional<std::string> id,
                   stream_->IdOf(position_.sequence()));
  if (id.has_value()) return *id == position_.id();
  ASSIGN_OR_RETURN(const StreamState state, stream_->State());
  return state.first_sequence > position_.sequence();
}

// The stream has lost what it had taken, or is another one. What is still in
// the spool is published once more.
void Shipper::StartAgain() {
  LogError("the stream has lost messages; publishing the whole spool again",
           {{"stream", options_.stream}, {"spool", options_.spool}});
  restarts_->Increment();
  subject_.clear();
  position_.clear_sequence();
  position_.clear_segment();
  message_.reset();
  drained_ = false;
  kept_.clear();
  kept_bytes_ = 0;
  follower_.GoTo("", 0, true);
}

absl::Status Shipper::SavePosition() {
  return WriteFile(options_.spool + kPublishedPositionFile,
                   position_.SerializeAsString());
}

absl::StatusOr<bool> Shipper::MakeMessage() {
  // The state is older than the look at the spool that follows: what it does
  // not tell is in the spool then.
  const int64_t now_us = clock_();
  log::v1::StreamMessage message;
  if (now_us >= next_state_us_ || next_state_us_ > now_us + kStateIntervalUs) {
    ASSIGN_OR_RETURN(const WriterState state, ReadWriterState(options_.spool));
    if (state.alive_us != 0) message.set_writer_state(EncodeWriterState(state));
    message.set_seen_us(now_us);
  }
  ASSIGN_OR_RETURN(SegmentFollower::Piece piece, follower_.Next(most_bytes_));
  has_piece_ = !piece.bytes.empty() || piece.ends_segment;
  drained_ = follower_.is_caught_up();
  // Before the first segment there is no writer to speak of.
  const bool has_state = message.seen_us() != 0 && follower_.is_caught_up() &&
                         !follower_.segment().empty();
  if (!has_piece_ && !has_state) return false;
  if (has_state) {
    next_state_us_ = now_us + kStateIntervalUs;
  } else {
    message.clear_writer_state();
    message.clear_seen_us();
  }
  message.set_writer_id(WriterOfSegment(follower_.segment()));
  message.set_segment(follower_.segment());
  message.set_previous_segment(std::move(piece.previous_segment));
  // A state alone says how far the spool was read when it held.
  message.set_offset(follower_.offset() - piece.bytes.size());
  message.set_data(std::move(piece.bytes));
  message.set_ends_segment(follower_.is_complete());
  message.set_spool_id(spool_id_);
  RETURN_IF_ERROR(ValidateNames(message.writer_id(), message));
  message_ = std::move(message);
  return true;
}

absl::Status Shipper::Publish() {
  const log::v1::StreamMessage& message = *message_;
  // Says the extent: after a restart a piece that begins at the same place may
  // be longer.
  const std::string id = absl::StrCat(
      std::string(1, kSpoolIdMark), spool_id_, "/",
      has_piece_ ? absl::StrCat(message.segment(), "/", message.offset(), "-",
                                message.offset() + message.data().size(),
                                message.ends_segment() ? "/end" : "")
                 : absl::StrCat(message.seen_us()));
  const std::string subject =
      absl::StrCat(options_.stream, ".", message.writer_id());
  if (subject != subject_) RETURN_IF_ERROR(Verify(subject));
  if (!message_.has_value()) return absl::OkStatus();
  const absl::StatusOr<Published> published =
      stream_->Publish(subject, newest_, id, message.SerializeAsString());
  if (published.ok()) return TakeAnswer(id, *published);
  failures_->Increment();
  // Another leader may know less.
  subject_.clear();
  next_look_us_ = 0;
  return absl::IsAborted(published.status()) ? absl::OkStatus()
                                             : published.status();
}

absl::Status Shipper::TakeAnswer(const std::string& id,
                                 const Published& published) {
  const log::v1::StreamMessage message = *std::move(message_);
  message_.reset();
  if (published.is_duplicate) duplicates_->Increment();
  published_->Increment();
  published_bytes_->Increment(static_cast<double>(message.data().size()));
  acknowledged_seconds_->Set(static_cast<double>(clock_()) * 1e-6);
  if (published.sequence > position_.sequence()) {
    position_.set_sequence(published.sequence);
    position_.set_id(id);
  }
  newest_ = std::max(newest_, published.sequence);
  position_.set_segment(message.segment());
  position_.set_bytes(message.offset() + message.data().size());
  position_.set_is_complete(message.ends_segment());
  if (!message.ends_segment() && message.seen_us() == 0) {
    return absl::OkStatus();
  }
  const absl::Status saved = SavePosition();
  if (!saved.ok() && !absl::IsResourceExhausted(saved)) return saved;
  if (message.ends_segment()) {
    NotePublished(message.segment(), position_.bytes());
  }
  return RemovePublished();
}

void Shipper::NotePublished(const std::string& segment, uint64_t bytes) {
  if (!options_.delete_spool) return;
  kept_.push_back({segment, bytes, steady_clock_()});
  kept_bytes_ += bytes;
}

// Called after an answer, which says that the stream has all before it. The
// newest segment stays: its name tells the writer what later names must sort
// after.
absl::Status Shipper::RemovePublished() {
  const int64_t before_us = steady_clock_() - Micros(options_.keep_seconds);
  std::string last;
  while (!kept_.empty() && (kept_.front().time_us <= before_us ||
                            kept_bytes_ > options_.keep_bytes)) {
    last = kept_.front().name;
    kept_bytes_ -= kept_.front().bytes;
    kept_.pop_front();
  }
  if (last.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(std::vector<std::string> names,
                   ListSegments(options_.spool));
  if (!names.empty()) names.pop_back();
  for (const std::string& name : names) {
    if (name > last) break;
    const std::string path = absl::StrCat(options_.spool, "/", name);
    if (unlink(path.c_str()) != 0 && errno != ENOENT) {
      return PosixStatus(errno, path, "cannot remove");
    }
    removed_segments_->Increment();
  }
  return absl::OkStatus();
}

}  // namespace sortition
