#include "sidecar/stream/stream_mirror.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/clocks.h"
#include "io/files.h"
#include "io/posix_status.h"
#include "io/segments/parse_message.h"
#include "io/segments/record_frame.h"
#include "io/segments/segment.h"
#include "io/segments/segment_file.h"
#include "process/log.h"
#include "sidecar/stream/stream_names.h"

namespace sortition {
namespace {

constexpr char kMirrorPositionFile[] = "/.position";
// Each has at most a few megabytes.
constexpr int kMaxMessages = 32;
constexpr int kRereadsOfGap = 2;

absl::Status WriteToDisk(const std::string& dir, const std::string& name,
                         const std::string& bytes) {
  const std::string path = dir + name;
  RETURN_IF_ERROR(WriteFile(path, bytes));
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return PosixStatus(errno, path, "cannot open");
  const absl::Cleanup closer = [fd] { close(fd); };
  RETURN_IF_ERROR(SyncFile(fd, path));
  return SyncDirectory(dir);
}

// InvalidArgument if the message begins a segment with a header of another
// writer, or of a later format: the sidecar would end at it. A damaged header
// is copied as it is.
absl::Status CheckFirstRecord(const log::v1::StreamMessage& message) {
  const absl::string_view data = message.data();
  uint64_t bytes = 0;
  if (message.offset() > 0 || !ParseFrameHead(data, &bytes)) {
    return absl::OkStatus();
  }
  if (bytes > data.size() || FrameBytes(bytes) > data.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the first ", data.size(), " bytes of segment ",
                     message.segment(), " must hold its whole first record"));
  }
  const absl::string_view payload = data.substr(kFrameHeadBytes, bytes);
  log::v1::LogRecord record;
  if (!FrameTailMatches(payload, data.substr(kFrameHeadBytes + bytes)) ||
      !ParseMessage(payload, &record) || !record.has_header()) {
    return absl::OkStatus();
  }
  if (record.header().writer_id() != message.writer_id()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the header of segment ", message.segment(), " is of writer '",
        record.header().writer_id(), "', must be of its subject's"));
  }
  const absl::Status format =
      CheckLogFormat(record.header(), message.segment());
  return format.ok() ? format : absl::InvalidArgumentError(format.message());
}

// Returns the status of an operation of the disk: it passes if the disk was
// full, and is not one of the stream.
absl::Status OfDisk(const absl::Status& status) {
  return status.ok() || absl::IsResourceExhausted(status)
             ? status
             : absl::InternalError(status.message());
}

}  // namespace

StreamMirror::StreamMirror(Options options, MessageStream* stream,
                           Metrics* metrics, Clock steady_clock)
    : options_(std::move(options)),
      stream_(stream),
      metrics_(metrics),
      steady_clock_(std::move(steady_clock)) {
  messages_ = metrics->Counter("sortition_mirror_messages_total",
                               "Messages of the stream that were taken");
  bytes_ = metrics->Counter("sortition_mirror_bytes_total",
                            "Bytes of spools in them");
  redelivered_ =
      metrics->Counter("sortition_mirror_redelivered_total",
                       "Messages whose bytes were in the mirror already");
  refused_ = metrics->Counter(
      "sortition_mirror_refused_total",
      "Messages of the stream that were refused and not copied: of no writer, "
      "of one writer too many, or of another spool of the same writer");
  missing_ = metrics->Counter("sortition_mirror_missing_total",
                              "Places where bytes of a spool are missing from "
                              "the stream for good");
  restarts_ = metrics->Counter("sortition_mirror_restarts_total",
                               "Times that the stream was read again from its "
                               "beginning");
  removed_ = metrics->Counter("sortition_mirror_removed_total",
                              "Messages removed from the stream because they "
                              "are in the mirror");
  pending_ = metrics->Gauge("sortition_mirror_pending_messages",
                            "Messages of the stream that were not fetched yet");
  stream_bytes_ =
      metrics->Gauge("sortition_stream_bytes", "Size of the stream");
  stream_max_bytes_ = metrics->Gauge("sortition_stream_max_bytes",
                                     "Largest size of the stream; 0: no limit");
}

absl::StatusOr<std::unique_ptr<StreamMirror>> StreamMirror::Open(
    Options options, MessageStream* stream, Metrics* metrics,
    Clock steady_clock) {
  std::error_code error;
  std::filesystem::create_directories(options.dir, error);
  if (error) return PosixStatus(error.value(), options.dir, "cannot create");
  std::unique_ptr<StreamMirror> mirror(new StreamMirror(
      std::move(options), stream, metrics, std::move(steady_clock)));
  RETURN_IF_ERROR(mirror->Recover());
  return mirror;
}

absl::Status StreamMirror::Recover() {
  const absl::StatusOr<std::string> bytes =
      ReadFile(options_.dir + kMirrorPositionFile);
  if (!bytes.ok() && !absl::IsNotFound(bytes.status())) return bytes.status();
  if (bytes.ok() && !ParseMessage(*bytes, &position_)) position_.Clear();
  // The position in another stream says nothing, but the copies stay.
  if (position_.stream() != options_.stream) {
    position_.clear_stream_created_ns();
    position_.clear_sequence();
    position_.clear_id();
  }
  position_.set_stream(options_.stream);
  for (const auto& writer : position_.writers()) {
    RETURN_IF_ERROR(AddSource(writer.writer_id(), &writer));
  }
  position_.clear_writers();
  ASSIGN_OR_RETURN(const std::vector<std::string> names,
                   ListDirectory(options_.dir));
  for (const std::string& name : names) {
    const std::string path = absl::StrCat(options_.dir, "/", name);
    if (sources_.contains(name) || !std::filesystem::is_directory(path)) {
      continue;
    }
    if (sources_.size() >= options_.max_writers) {
      LogError(
          "the mirror has copies of more writers than consume.max_writers; "
          "this "
          "one is not continued",
          {{"directory", path}, {"max_writers", options_.max_writers}});
      continue;
    }
    RETURN_IF_ERROR(AddSource(name, nullptr));
  }
  return absl::OkStatus();
}

absl::Status StreamMirror::AddSource(
    const std::string& writer,
    const log::v1::MirrorPosition::Writer* position) {
  const std::string dir = absl::StrCat(options_.dir, "/", writer);
  // An operator has removed the copy: it is not made again before its server
  // speaks.
  if (position != nullptr && !std::filesystem::is_directory(dir)) {
    return absl::OkStatus();
  }
  Source source;
  ASSIGN_OR_RETURN(source.spool, MirroredSpool::Open(dir, position));
  source.heard_us = steady_clock_();
  source.silence_seconds = metrics_->Gauge(
      "sortition_mirror_silence_seconds",
      "Since the last message of a writer while the stream could be read",
      {{"writer", writer}});
  sources_[writer] = std::move(source);
  return absl::OkStatus();
}

absl::StatusOr<size_t> StreamMirror::Poll(double seconds) {
  size_t num_messages = 0;
  absl::Status status = TakeAll(seconds, &num_messages);
  if (status.ok()) status = WatchGaps();
  if (status.ok()) status = Look();
  if (status.ok()) status = WatchSilence();
  if (status.ok()) return num_messages;
  // What was fetched and not taken has to come again. Nobody is silent as long
  // as nobody can be heard.
  is_started_ = false;
  for (auto& [writer, source] : sources_) source.heard_us = steady_clock_();
  return status;
}

absl::Status StreamMirror::TakeAll(double seconds, size_t* num_messages) {
  if (!is_started_) RETURN_IF_ERROR(Start());
  ASSIGN_OR_RETURN(const std::vector<ReceivedMessage> messages,
                   stream_->Fetch(kMaxMessages, seconds));
  *num_messages = messages.size();
  pending_->Set(static_cast<double>(stream_->num_pending()));
  absl::Status status;
  for (const ReceivedMessage& message : messages) {
    const absl::StatusOr<bool> must_go_on = Take(message);
    status = must_go_on.status();
    if (!status.ok()) break;
    // The rest comes again.
    if (!*must_go_on) return OfDisk(Commit());
  }
  const absl::Status committed = OfDisk(Commit());
  RETURN_IF_ERROR(status);
  RETURN_IF_ERROR(committed);
  if (!messages.empty()) stream_->Acknowledge();
  return absl::OkStatus();
}

absl::Status StreamMirror::Start() {
  ASSIGN_OR_RETURN(const StreamState state, stream_->State());
  ASSIGN_OR_RETURN(const bool is_other, IsOther(state));
  if (is_other && position_.stream_created_ns() != 0) {
    LogError("the stream is not the one that was read; reading all of it",
             {{"stream", options_.stream}});
  }
  position_.set_stream_created_ns(state.created_ns);
  if (is_other) marks_.clear();
  return is_other ? StartAt(1) : StartAt(position_.sequence() + 1);
}

// Returns true if the stream does not have the messages that were read: it was
// made again, or has lost its newest ones and perhaps got others for them.
absl::StatusOr<bool> StreamMirror::IsOther(const StreamState& state) {
  if (state.created_ns != position_.stream_created_ns() ||
      state.last_sequence < position_.sequence()) {
    return true;
  }
  if (position_.sequence() < std::max<uint64_t>(1, state.first_sequence)) {
    return false;
  }
  ASSIGN_OR_RETURN(const std::optional<std::string> id,
                   stream_->IdOf(position_.sequence()));
  return id != position_.id();
}

absl::Status StreamMirror::StartAt(uint64_t sequence) {
  is_started_ = false;
  RETURN_IF_ERROR(stream_->StartAt(sequence));
  if (sequence == 1) position_.clear_id();
  position_.set_sequence(sequence - 1);
  is_started_ = is_first_ = true;
  return absl::OkStatus();
}

// Messages come in order. One that does not follow the last means that another
// process reads with the same durable name, or that messages were removed.
absl::StatusOr<bool> StreamMirror::IsNext(const ReceivedMessage& message) {
  const bool is_first = std::exchange(is_first_, false);
  if (is_first || message.sequence <= position_.sequence() + 1) return true;
  LogWarning("messages were skipped; reading from there again",
             {{"stream", options_.stream},
              {"after", position_.sequence()},
              {"got", message.sequence}});
  RETURN_IF_ERROR(StartAt(position_.sequence() + 1));
  return false;
}

// Returns false if the messages fetched with this one must come again.
absl::StatusOr<bool> StreamMirror::Take(const ReceivedMessage& message) {
  ASSIGN_OR_RETURN(const bool is_next, IsNext(message));
  if (!is_next) return false;
  if (message.sequence <= position_.sequence()) {
    redelivered_->Increment();
    return true;
  }
  const absl::Status status = TakeContent(message);
  if (absl::IsInvalidArgument(status)) {
    Refuse(message, status);
  } else {
    RETURN_IF_ERROR(OfDisk(status));
  }
  position_.set_sequence(message.sequence);
  position_.set_id(message.id);
  messages_->Increment();
  return true;
}

absl::Status StreamMirror::TakeContent(const ReceivedMessage& message) {
  ASSIGN_OR_RETURN(const std::string writer,
                   WriterOfSubject(message.subject, options_.stream));
  log::v1::StreamMessage content;
  if (!ParseMessage(message.data, &content)) {
    return absl::InvalidArgumentError("the message is malformed");
  }
  RETURN_IF_ERROR(ValidateNames(writer, content));
  RETURN_IF_ERROR(CheckFirstRecord(content));
  return TakeSpool(content);
}

// A message that is refused changes nothing: whoever may publish must not be
// able to end the copying of other writers.
void StreamMirror::Refuse(const ReceivedMessage& message,
                          const absl::Status& why) {
  refused_->Increment();
  const uint64_t count = refusals_.Count(steady_clock_());
  if (count == 0) return;
  LogError("refused messages of the stream; what they carry is not in the log",
           {{"stream", options_.stream},
            {"subject", message.subject},
            {"sequence", message.sequence},
            {"error", std::string(why.message())},
            {"messages", count}});
}

absl::Status StreamMirror::CheckNewWriter(const std::string& writer) const {
  if (sources_.size() >= options_.max_writers) {
    return absl::InvalidArgumentError(absl::StrCat(
        "writer '", writer,
        "' is one more than consume.max_writers = ", options_.max_writers,
        "; remove copies of writers that are gone from the mirror and start "
        "again, or set consume.max_writers higher"));
  }
  const std::string path = absl::StrCat(options_.dir, "/", writer);
  std::error_code error;
  const auto status = std::filesystem::symlink_status(path, error);
  if (std::filesystem::exists(status) &&
      !std::filesystem::is_directory(status)) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, " is no directory, so there is no place for a copy of writer '",
        writer, "'; rename one of them"));
  }
  return absl::OkStatus();
}

absl::Status StreamMirror::TakeSpool(const log::v1::StreamMessage& message) {
  auto found = sources_.find(message.writer_id());
  if (found == sources_.end()) {
    RETURN_IF_ERROR(CheckNewWriter(message.writer_id()));
    RETURN_IF_ERROR(AddSource(message.writer_id(), nullptr));
    found = sources_.find(message.writer_id());
    LogInfo("a writer has joined the stream",
            {{"writer", message.writer_id()}});
  }
  Source& source = found->second;
  source.heard_us = steady_clock_();
  const uint64_t gaps_before = source.spool->num_gaps();
  ASSIGN_OR_RETURN(
      const MirroredSpool::Result result,
      source.spool->Take(message, source.num_rereads >= kRereadsOfGap));
  missing_->Increment(
      static_cast<double>(source.spool->num_gaps() - gaps_before));
  switch (result) {
    case MirroredSpool::Result::kTaken:
      bytes_->Increment(static_cast<double>(message.data().size()));
      must_commit_ = true;
      break;
    case MirroredSpool::Result::kKnown:
      if (!message.data().empty()) redelivered_->Increment();
      break;
    case MirroredSpool::Result::kOfOtherSpool:
      return absl::InvalidArgumentError(absl::StrCat(
          "segment ", message.segment(), " of writer '", message.writer_id(),
          "' is older than the newest one of another spool with this writer "
          "id; give each server a spool.writer_id of its own"));
    case MirroredSpool::Result::kGap:
      if (source.gap_us == 0) source.gap_us = steady_clock_();
      if (!before_gap_.has_value()) {
        before_gap_ = Place{position_.sequence(), position_.id()};
      }
      break;
  }
  return absl::OkStatus();
}

// Followers must not hear of a time whose records are not on the disk.
absl::Status StreamMirror::Commit() {
  if (must_commit_) {
    log::v1::MirrorPosition position = position_;
    if (before_gap_.has_value() &&
        before_gap_->sequence < position.sequence()) {
      position.set_sequence(before_gap_->sequence);
      position.set_id(before_gap_->id);
    }
    for (const auto& [writer, source] : sources_) {
      RETURN_IF_ERROR(source.spool->Sync());
      *position.add_writers() = source.spool->position();
      position.mutable_writers()->rbegin()->set_writer_id(writer);
    }
    RETURN_IF_ERROR(WriteToDisk(options_.dir, kMirrorPositionFile,
                                position.SerializeAsString()));
    must_commit_ = false;
  }
  for (const auto& [writer, source] : sources_) {
    RETURN_IF_ERROR(source.spool->WriteState());
  }
  return absl::OkStatus();
}

}  // namespace sortition
