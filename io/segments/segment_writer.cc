#include "io/segments/segment_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/status_macros.h"
#include "io/posix_status.h"
#include "io/segments/parse_message.h"
#include "io/segments/record_frame.h"
#include "io/segments/segment_file.h"
#include "io/umask.h"

namespace sortition {
namespace {

struct WrittenExtent {
  uint64_t bytes = 0;
  uint64_t num_records = 0;
};

// Returns the extent of the frames that are complete within the first `written`
// bytes of `parts`.
WrittenExtent WholeFrames(const IoVectors& parts, uint64_t written) {
  std::string bytes;
  for (const iovec& part : parts) {
    bytes.append(static_cast<const char*>(part.iov_base),
                 std::min<uint64_t>(part.iov_len, written - bytes.size()));
  }
  WrittenExtent whole;
  uint64_t payload_bytes = 0;
  while (ParseFrameHead(absl::string_view(bytes).substr(whole.bytes),
                        &payload_bytes) &&
         whole.bytes + FrameBytes(payload_bytes) <= written) {
    whole.bytes += FrameBytes(payload_bytes);
    ++whole.num_records;
  }
  return whole;
}

}  // namespace

struct SegmentWriter::Rep {
  ~Rep() {
    if (fd >= 0) close(fd);
    if (directory_fd >= 0) close(directory_fd);
  }

  // Appends `parts`, which are `records` whole frames, to the segment. After a
  // failure the complete frames stay.
  absl::Status Write(const IoVectors& parts, uint64_t records);
  void CutTornBytes();
  absl::Status SyncAll();

  WrittenExtent Written() const {
    const std::lock_guard lock(extent_mutex);
    return extent;
  }
  void Grow(const WrittenExtent& by) {
    const std::lock_guard lock(extent_mutex);
    extent.bytes += by.bytes;
    extent.num_records += by.num_records;
  }

  std::string path;
  std::string name;
  int fd = -1;
  // One thread may sync while another appends.
  mutable std::mutex extent_mutex;
  WrittenExtent extent;   // Guarded by `extent_mutex`, as is `durable`.
  WrittenExtent durable;  // What the last successful sync has covered.
  uint64_t first_sequence = 0;
  // Of the one thread that syncs.
  int directory_fd = -1;    // -1: is synced.
  absl::Status sync_error;  // Of the first sync that failed.
  // A failed write may have left bytes beyond the end.
  std::atomic<bool> is_torn{false};
  std::unique_ptr<PagesAhead> pages;  // Null: pages are not made ahead.
};

absl::Status SegmentWriter::Rep::Write(const IoVectors& parts,
                                       uint64_t records) {
  if (fd < 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("segment ", path, " is closed"));
  }
  if (is_torn) CutTornBytes();
  if (is_torn) {
    return absl::InternalError(
        absl::StrCat("cannot cut off the bytes of a failed write in ", path));
  }
  const uint64_t begin = Written().bytes;
  uint64_t end = begin;
  absl::Status status = WriteAll(fd, path, &end, parts);
  if (status.ok()) {
    Grow({end - begin, records});
    return status;
  }
  // A reader may have read complete frames already. If they were removed, the
  // reader would continue in the middle of later data.
  Grow(WholeFrames(parts, end - begin));
  is_torn = true;
  CutTornBytes();
  return status;
}

void SegmentWriter::Rep::CutTornBytes() {
  if (TruncateFile(fd, path, Written().bytes).ok()) is_torn = false;
}

absl::Status SegmentWriter::Rep::SyncAll() {
  RETURN_IF_ERROR(sync_error);
  absl::Status status;
  if (directory_fd >= 0 && fsync(directory_fd) != 0) {
    status = PosixStatus(errno, path, "cannot sync the directory of");
  }
  if (status.ok()) {
    if (directory_fd >= 0) close(std::exchange(directory_fd, -1));
    status = SyncFile(fd, path);
  }
  // Whatever the reason was, waiting for free space does not help.
  if (!status.ok()) sync_error = absl::UnavailableError(status.message());
  return sync_error;
}

absl::StatusOr<std::unique_ptr<PreparedSegment>> PreparedSegment::Create(
    const std::string& dir, uint64_t preallocate_bytes) {
  std::unique_ptr<PreparedSegment> prepared(new PreparedSegment);
  std::string path = absl::StrCat(dir, "/", kPreparedPrefix, "XXXXXX.tmp");
  constexpr int kSuffixLength = 4;
  prepared->fd_ = mkostemps(path.data(), kSuffixLength, O_CLOEXEC);
  if (prepared->fd_ < 0) return PosixStatus(errno, path, "cannot create");
  prepared->path_ = path;
  prepared->directory_fd_ =
      open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (prepared->directory_fd_ < 0)
    return PosixStatus(errno, dir, "cannot open");
  // mkostemps() lets only the owner read.
  if (fchmod(prepared->fd_, 0644 & ~ProcessUmask()) != 0) {
    return PosixStatus(errno, path, "cannot change mode of");
  }
  if (flock(prepared->fd_, LOCK_EX | LOCK_NB) != 0) {
    return PosixStatus(errno, path, "cannot lock");
  }
  // On file systems without preallocation the file just grows.
  if (preallocate_bytes > 0 &&
      fallocate(prepared->fd_, 0, 0, static_cast<off_t>(preallocate_bytes)) !=
          0 &&
      errno != EOPNOTSUPP) {
    return PosixStatus(errno, path, "cannot preallocate");
  }
  prepared->preallocated_bytes_ = preallocate_bytes;
  return prepared;
}

PreparedSegment::~PreparedSegment() {
  if (directory_fd_ >= 0) close(directory_fd_);
  if (fd_ < 0) return;
  unlink(path_.c_str());
  close(fd_);
}

void PreparedSegment::MakePages() {
  pages_ = std::make_unique<PagesAhead>(fd_, preallocated_bytes_);
  pages_->Advance(0);
}

SegmentWriter::SegmentWriter() : rep_(std::make_unique<Rep>()) {}
SegmentWriter::~SegmentWriter() = default;

absl::StatusOr<std::unique_ptr<SegmentWriter>> SegmentWriter::Create(
    const Options& options, std::unique_ptr<PreparedSegment> prepared) {
  if (prepared == nullptr) {
    ASSIGN_OR_RETURN(prepared, PreparedSegment::Create(
                                   options.dir, options.preallocate_bytes));
  }
  log::v1::LogRecord record;
  *record.mutable_header() = options.header;
  uint64_t bytes = 0;
  RETURN_IF_ERROR(WriteRecord(prepared->fd_, prepared->path_, &bytes, record));
  std::unique_ptr<SegmentWriter> writer(new SegmentWriter);
  Rep& rep = *writer->rep_;
  rep.name = options.name;
  rep.path = absl::StrCat(options.dir, "/", options.name);
  rep.first_sequence = options.header.first_sequence();
  // The header need not be saved: another segment has its own.
  rep.extent.bytes = rep.durable.bytes = bytes;
  if (rename(prepared->path_.c_str(), rep.path.c_str()) != 0) {
    return PosixStatus(errno, rep.path, "cannot rename to");
  }
  rep.fd = std::exchange(prepared->fd_, -1);
  rep.directory_fd = std::exchange(prepared->directory_fd_, -1);
  rep.pages = std::move(prepared->pages_);
  return writer;
}

absl::Status SegmentWriter::Append(std::span<const absl::string_view> pieces) {
  uint64_t payload_bytes = 0;
  for (const absl::string_view piece : pieces) payload_bytes += piece.size();
  const FrameHead head = MakeFrameHead(payload_bytes);
  const FrameTail tail = MakeFrameTail(pieces);
  IoVectors parts;
  parts.push_back(ToIovec({head.data(), head.size()}));
  for (const absl::string_view piece : pieces) parts.push_back(ToIovec(piece));
  parts.push_back(ToIovec({tail.data(), tail.size()}));
  return rep_->Write(parts, 1);
}

absl::Status SegmentWriter::AppendFrames(
    std::span<const absl::string_view> pieces, uint64_t num_records) {
  IoVectors parts;
  for (const absl::string_view piece : pieces) parts.push_back(ToIovec(piece));
  return rep_->Write(parts, num_records);
}

absl::Status SegmentWriter::Append(const log::v1::LogRecord& record) {
  const std::string payload = record.SerializeAsString();
  const absl::string_view piece(payload);
  return Append({&piece, 1});
}

absl::Status SegmentWriter::Sync() {
  Rep& rep = *rep_;
  if (rep.fd < 0) return absl::OkStatus();
  const WrittenExtent covered = rep.Written();
  RETURN_IF_ERROR(rep.SyncAll());
  const std::lock_guard lock(rep.extent_mutex);
  rep.durable = covered;
  return absl::OkStatus();
}

absl::Status SegmentWriter::Close(bool is_last) {
  Rep& rep = *rep_;
  if (rep.fd < 0) return absl::OkStatus();
  // A footer says that what is before it is on the disk.
  RETURN_IF_ERROR(Sync());
  const WrittenExtent written = rep.Written();
  log::v1::LogRecord record;
  *record.mutable_footer() =
      MakeFooter(rep.first_sequence, written.num_records);
  record.mutable_footer()->set_is_last(is_last);
  uint64_t bytes = written.bytes;
  RETURN_IF_ERROR(WriteRecord(rep.fd, rep.path, &bytes, record));
  RETURN_IF_ERROR(TruncateFile(rep.fd, rep.path, bytes));
  RETURN_IF_ERROR(rep.SyncAll());
  rep.Grow({bytes - written.bytes, 0});
  // The mapping of the pages ahead may outlive the descriptor, and keep a lock.
  flock(rep.fd, LOCK_UN);
  close(rep.fd);
  rep.fd = -1;
  const std::lock_guard lock(rep.extent_mutex);
  rep.durable = rep.extent;
  return absl::OkStatus();
}

UnsyncedFrames SegmentWriter::ReadUnsynced() const {
  const Rep& rep = *rep_;
  UnsyncedFrames unsynced;
  const std::lock_guard lock(rep.extent_mutex);
  unsynced.first_record = rep.durable.num_records;
  std::string bytes;
  ReadAt(rep.fd, rep.durable.bytes, rep.extent.bytes - rep.durable.bytes,
         &bytes);
  absl::string_view rest = bytes;
  uint64_t payload_bytes = 0;
  while (ParseFrameHead(rest, &payload_bytes) && payload_bytes > 0 &&
         FrameBytes(payload_bytes) <= rest.size()) {
    const absl::string_view frame = rest.substr(0, FrameBytes(payload_bytes));
    rest.remove_prefix(frame.size());
    const absl::string_view payload =
        frame.substr(kFrameHeadBytes, payload_bytes);
    unsynced.intact.push_back(FrameTailMatches(
        payload, frame.substr(kFrameHeadBytes + payload_bytes)));
    if (!unsynced.intact.back()) continue;
    log::v1::LogRecord record;
    constexpr char kGapKey = log::v1::LogRecord::kGapFieldNumber << 3 | 2;
    if (payload[0] == kGapKey && ParseMessage(payload, &record)) {
      unsynced.gaps.push_back(record.gap());
      continue;
    }
    unsynced.frames.append(frame.data(), frame.size());
    ++unsynced.num_records;
  }
  // Behind a damaged head nothing can be found any more.
  unsynced.intact.resize(rep.extent.num_records - rep.durable.num_records);
  unsynced.num_lost = static_cast<uint64_t>(
      std::count(unsynced.intact.begin(), unsynced.intact.end(), false));
  return unsynced;
}

bool SegmentWriter::wants_pages() const {
  return rep_->pages != nullptr && rep_->pages->IsDue(rep_->Written().bytes);
}

void SegmentWriter::MakePages() {
  if (rep_->pages != nullptr) rep_->pages->Advance(rep_->Written().bytes);
}

const std::string& SegmentWriter::name() const { return rep_->name; }
uint64_t SegmentWriter::bytes() const { return rep_->Written().bytes; }
uint64_t SegmentWriter::num_records() const {
  return rep_->Written().num_records;
}

uint64_t SegmentWriter::num_durable_records() const {
  const std::lock_guard lock(rep_->extent_mutex);
  return rep_->durable.num_records;
}

bool SegmentWriter::is_torn() const { return rep_->is_torn; }

std::string SegmentName(int64_t created_time_us, absl::string_view writer_id,
                        uint64_t counter) {
  return absl::StrFormat("%016x-%s-%06d.seg", created_time_us, writer_id,
                         counter);
}

absl::string_view WriterIdOf(absl::string_view segment_name) {
  constexpr size_t kTimeLength = 17;  // With its dash.
  const size_t end = segment_name.rfind('-');
  if (end == absl::string_view::npos || end < kTimeLength) return {};
  return segment_name.substr(kTimeLength, end - kTimeLength);
}

}  // namespace sortition
