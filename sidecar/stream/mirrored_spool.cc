#include "sidecar/stream/mirrored_spool.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "core/base/status_macros.h"
#include "io/files.h"
#include "io/posix_status.h"
#include "io/segments/segment.h"
#include "io/segments/segment_file.h"
#include "io/segments/segment_recovery.h"
#include "io/spool/writer_state.h"
#include "process/log.h"

namespace sortition {
namespace {

constexpr int64_t kForEver = std::numeric_limits<int64_t>::max();

// Returns the bytes before the first place that is not an intact record.
absl::StatusOr<uint64_t> IntactBytes(const std::string& path) {
  ASSIGN_OR_RETURN(const auto reader, SegmentReader::Open(path));
  while (true) {
    absl::string_view payload;
    uint64_t offset = 0;
    ASSIGN_OR_RETURN(const SegmentReader::Outcome outcome,
                     reader->Next(&payload, &offset));
    if (outcome != SegmentReader::Outcome::kRecord) return offset;
  }
}

// The kernel may drop what it could not write, and report success the next
// time: nobody may try again.
absl::Status SyncOnce(int fd, const std::string& path) {
  const absl::Status status = SyncFile(fd, path);
  return status.ok() ? status : absl::InternalError(status.message());
}

absl::Status Lock(int fd, const std::string& path) {
  return flock(fd, LOCK_EX | LOCK_NB) == 0
             ? absl::OkStatus()
             : PosixStatus(errno, path, "cannot lock");
}

}  // namespace

absl::StatusOr<std::unique_ptr<MirroredSpool>> MirroredSpool::Open(
    std::string dir, const log::v1::MirrorPosition::Writer* position) {
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  if (error) return PosixStatus(error.value(), dir, "cannot create");
  std::unique_ptr<MirroredSpool> spool(new MirroredSpool(std::move(dir)));
  RETURN_IF_ERROR(spool->Recover(position));
  ASSIGN_OR_RETURN(const WriterState state, ReadWriterState(spool->dir_));
  // Of a writer that nobody waits for, it is not known any more.
  spool->seen_us_ = state.seen_us == kForEver ? state.alive_us : state.seen_us;
  if (state.alive_us == 0) {
    // Followers wait for the first message.
    spool->seen_us_ = 1;
    spool->state_ = EncodeWriterState({.alive_us = 1, .seen_us = 1});
    RETURN_IF_ERROR(spool->WriteState());
  }
  return spool;
}

MirroredSpool::~MirroredSpool() {
  if (fd_ >= 0) close(fd_);
}

absl::Status MirroredSpool::Recover(
    const log::v1::MirrorPosition::Writer* position) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListSegments(dir_));
  if (position != nullptr) {
    segment_ = position->segment();
    bytes_ = position->bytes();
    is_complete_ = position->is_complete();
    spool_id_ = position->spool_id();
    for (const std::string& name : names) {
      if (name > segment_) unlink(PathOf(name).c_str());
    }
  } else if (!names.empty()) {
    segment_ = names.back();
    is_complete_ = IsClosedSegment(PathOf(segment_));
    ASSIGN_OR_RETURN(bytes_, IntactBytes(PathOf(segment_)));
  }
  return is_complete_ ? absl::OkStatus() : Reopen();
}

// Opens the newest segment and cuts off what is not known to be on the disk.
absl::Status MirroredSpool::Reopen() {
  const std::string path = PathOf(segment_);
  fd_ = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd_ < 0 && errno == ENOENT) {
    // It was complete, and has been joined and removed.
    is_complete_ = true;
    return absl::OkStatus();
  }
  if (fd_ < 0) return PosixStatus(errno, path, "cannot open");
  RETURN_IF_ERROR(Lock(fd_, path));
  const off_t size = lseek(fd_, 0, SEEK_END);
  if (size < static_cast<off_t>(bytes_)) {
    LogError("a copy of a segment is shorter than it was",
             {{"file", path}, {"missing_bytes", bytes_ - size}});
    bytes_ = static_cast<uint64_t>(std::max<off_t>(0, size));
  }
  return TruncateFile(fd_, path, bytes_);
}

void MirroredSpool::TakeState(const log::v1::StreamMessage& message) {
  // A message that comes again says nothing new.
  if (message.seen_us() <= seen_us_) return;
  WriterState state = DecodeWriterState(message.writer_state());
  // Of an older server it is not known.
  if (state.alive_us == 0) state.alive_us = message.seen_us();
  seen_us_ = message.seen_us();
  // A writer that has ended adds nothing: nobody waits for it.
  state.seen_us = state.is_closed ? kForEver : seen_us_;
  state_ = EncodeWriterState(state);
}

bool MirroredSpool::IsOfOtherSpool(
    const log::v1::StreamMessage& message) const {
  return !spool_id_.empty() && !message.spool_id().empty() &&
         message.spool_id() != spool_id_;
}

bool MirroredSpool::IsBehindGap(const log::v1::StreamMessage& message) const {
  if (message.segment() == segment_) return message.offset() > bytes_;
  if (message.offset() > 0) return true;
  const std::string& previous = message.previous_segment();
  if (segment_.empty()) return false;
  return previous.empty() || previous == segment_ ? !is_complete_
                                                  : previous > segment_;
}

absl::StatusOr<MirroredSpool::Result> MirroredSpool::Take(
    const log::v1::StreamMessage& message, bool accept_gap) {
  const std::string& segment = message.segment();
  if (segment < segment_ || (segment == segment_ && IsOfOtherSpool(message))) {
    return IsOfOtherSpool(message) ? Result::kOfOtherSpool : Result::kKnown;
  }
  if (segment == segment_ && is_complete_) {
    TakeState(message);
    return Result::kKnown;
  }
  if (IsBehindGap(message)) {
    if (!accept_gap) return Result::kGap;
    RETURN_IF_ERROR(EndBeforeGap(message));
    if (is_complete_ && segment_ == segment) return Result::kKnown;
  }
  const bool is_known = segment == segment_ && !message.ends_segment() &&
                        message.offset() + message.data().size() <= bytes_;
  if (!is_known) {
    RETURN_IF_ERROR(Append(message));
    if (IsOfOtherSpool(message)) {
      LogWarning("another spool has taken the place of a writer's",
                 {{"directory", dir_}, {"from", segment}});
    }
    if (!message.spool_id().empty()) spool_id_ = message.spool_id();
  }
  TakeState(message);
  return is_known ? Result::kKnown : Result::kTaken;
}

// The sidecar finds out what is missing by the numbers of the records.
absl::Status MirroredSpool::EndBeforeGap(
    const log::v1::StreamMessage& message) {
  LogError("bytes of a spool are missing from the stream",
           {{"segment", message.segment()},
            {"offset", message.offset()},
            {"copy_ends_in", segment_},
            {"at", bytes_}});
  ++num_gaps_;
  if (!is_complete_) RETURN_IF_ERROR(Finish());
  if (message.offset() > 0) {
    segment_ = message.segment();
    bytes_ = 0;
  }
  return absl::OkStatus();
}

absl::Status MirroredSpool::Append(const log::v1::StreamMessage& message) {
  if (message.segment() != segment_) RETURN_IF_ERROR(Begin(message.segment()));
  const uint64_t known = bytes_ - message.offset();
  if (known < message.data().size()) {
    uint64_t end = bytes_;
    RETURN_IF_ERROR(
        WriteAll(fd_, PathOf(segment_), &end,
                 {ToIovec(absl::string_view(message.data()).substr(known))}));
    bytes_ = end;
    must_sync_ = true;
  }
  return message.ends_segment() ? Finish() : absl::OkStatus();
}

// The segment appears under its name once it is locked: without the lock its
// followers would take its writer for dead.
absl::Status MirroredSpool::Begin(const std::string& segment) {
  if (!is_complete_) RETURN_IF_ERROR(Finish());
  const std::string path = PathOf(segment);
  const std::string temporary = path + ".tmp";
  const int fd =
      open(temporary.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return PosixStatus(errno, temporary, "cannot create");
  absl::Cleanup closer = [fd] { close(fd); };
  RETURN_IF_ERROR(Lock(fd, temporary));
  if (rename(temporary.c_str(), path.c_str()) != 0) {
    return PosixStatus(errno, path, "cannot rename to");
  }
  std::move(closer).Cancel();
  fd_ = fd;
  segment_ = segment;
  bytes_ = 0;
  is_complete_ = false;
  must_sync_ = must_sync_directory_ = true;
  return absl::OkStatus();
}

// Nothing comes behind what is there: followers may pass on.
absl::Status MirroredSpool::Finish() {
  RETURN_IF_ERROR(SyncOnce(fd_, PathOf(segment_)));
  close(std::exchange(fd_, -1));
  is_complete_ = true;
  must_sync_ = false;
  return absl::OkStatus();
}

absl::Status MirroredSpool::Sync() {
  if (must_sync_) RETURN_IF_ERROR(SyncOnce(fd_, PathOf(segment_)));
  if (must_sync_directory_) RETURN_IF_ERROR(SyncDirectory(dir_));
  must_sync_ = must_sync_directory_ = false;
  return absl::OkStatus();
}

log::v1::MirrorPosition::Writer MirroredSpool::position() const {
  log::v1::MirrorPosition::Writer position;
  position.set_segment(segment_);
  position.set_bytes(bytes_);
  position.set_is_complete(is_complete_);
  position.set_spool_id(spool_id_);
  return position;
}

absl::Status MirroredSpool::WriteState() {
  if (state_.empty()) return absl::OkStatus();
  const std::string path = PathOf(kWriterLockFile);
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return PosixStatus(errno, path, "cannot open");
  const absl::Cleanup closer = [fd] { close(fd); };
  uint64_t offset = 0;
  RETURN_IF_ERROR(WriteAll(fd, path, &offset, {ToIovec(state_)}));
  state_.clear();
  return absl::OkStatus();
}

void MirroredSpool::ReleaseState() {
  const absl::StatusOr<WriterState> old = ReadWriterState(dir_);
  if (!old.ok() || old->alive_us == 0 || old->seen_us == kForEver) return;
  WriterState state = *old;
  state.seen_us = kForEver;
  state_ = EncodeWriterState(state);
}

}  // namespace sortition
