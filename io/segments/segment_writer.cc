#include "io/segments/segment_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/status_macros.h"
#include "io/posix_status.h"
#include "io/segments/record_frame.h"
#include "io/segments/segment.h"

namespace sortition {
namespace {

int64_t NowMicros() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

using IoVectors = absl::InlinedVector<iovec, 8>;

// Writes all of `pieces` at `*offset` and advances it by the bytes written,
// also on failure.
absl::Status WriteAll(int fd, const std::string& path, uint64_t* offset,
                      IoVectors pieces) {
  size_t first = 0;
  while (first < pieces.size()) {
    const ssize_t count = pwritev(
        fd, pieces.data() + first,
        static_cast<int>(std::min<size_t>(pieces.size() - first, IOV_MAX)),
        static_cast<off_t>(*offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return PosixStatus(errno, path, "cannot write");
    *offset += static_cast<uint64_t>(count);
    size_t left = static_cast<size_t>(count);
    while (first < pieces.size() && left >= pieces[first].iov_len) {
      left -= pieces[first++].iov_len;
    }
    if (left > 0) {
      pieces[first].iov_base =
          static_cast<char*>(pieces[first].iov_base) + left;
      pieces[first].iov_len -= left;
    }
  }
  return absl::OkStatus();
}

iovec ToIovec(absl::string_view bytes) {
  return {const_cast<char*>(bytes.data()), bytes.size()};
}

absl::Status WriteRecord(int fd, const std::string& path, uint64_t* offset,
                         const log::v1::LogRecord& record) {
  std::string frame;
  AppendFrame(record.SerializeAsString(), &frame);
  return WriteAll(fd, path, offset, {ToIovec(frame)});
}

struct Extent {
  uint64_t bytes = 0;
  uint64_t num_records = 0;
};

// Returns the extent of the frames that are complete within the first `written`
// bytes of `parts`.
Extent WholeFrames(const IoVectors& parts, uint64_t written) {
  std::string bytes;
  for (const iovec& part : parts) {
    bytes.append(static_cast<const char*>(part.iov_base),
                 std::min<uint64_t>(part.iov_len, written - bytes.size()));
  }
  Extent whole;
  uint64_t payload_bytes = 0;
  while (ParseFrameHead(absl::string_view(bytes).substr(whole.bytes),
                        &payload_bytes) &&
         whole.bytes + FrameBytes(payload_bytes) <= written) {
    whole.bytes += FrameBytes(payload_bytes);
    ++whole.num_records;
  }
  return whole;
}

// Returns the number of bytes from `begin` up to the last one that is not a
// preallocated zero.
absl::StatusOr<uint64_t> NonZeroBytesAfter(int fd, const std::string& path,
                                           uint64_t begin) {
  std::vector<char> buffer(1 << 20);
  uint64_t last = begin;
  for (uint64_t offset = begin;;) {
    const ssize_t count =
        pread(fd, buffer.data(), buffer.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return PosixStatus(errno, path, "cannot read");
    if (count == 0) return last - begin;
    for (ssize_t i = 0; i < count; ++i) {
      if (buffer[i] != 0) last = offset + static_cast<uint64_t>(i) + 1;
    }
    offset += static_cast<uint64_t>(count);
  }
}

absl::Status Truncate(int fd, const std::string& path, uint64_t bytes) {
  return ftruncate(fd, static_cast<off_t>(bytes)) == 0
             ? absl::OkStatus()
             : PosixStatus(errno, path, "cannot truncate");
}

absl::Status SyncFile(int fd, const std::string& path) {
  return fdatasync(fd) == 0 ? absl::OkStatus()
                            : PosixStatus(errno, path, "cannot sync");
}

absl::Status SyncDirectoryOf(const std::string& path) {
  const std::string dir = path.substr(0, path.rfind('/') + 1);
  const int fd = open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return PosixStatus(errno, dir, "cannot open");
  const absl::Cleanup closer = [fd] { close(fd); };
  return fsync(fd) == 0 ? absl::OkStatus()
                        : PosixStatus(errno, dir, "cannot sync");
}

// Returns the footer of a segment whose header has `first_sequence`.
log::v1::SegmentFooter MakeFooter(uint64_t first_sequence,
                                  uint64_t num_records) {
  log::v1::SegmentFooter footer;
  footer.set_num_records(num_records);
  if (num_records > 0) {
    footer.set_last_sequence(first_sequence + num_records - 1);
  }
  footer.set_closed_time_us(NowMicros());
  return footer;
}

}  // namespace

struct SegmentWriter::Rep {
  ~Rep() {
    if (fd >= 0) close(fd);
  }

  // Appends `parts`, which are `records` whole frames, to the segment. After a
  // failure the complete frames stay.
  absl::Status Write(const IoVectors& parts, uint64_t records);
  void CutTornBytes();

  std::string path;
  std::string name;
  int fd = -1;
  std::atomic<uint64_t> bytes{0};
  std::atomic<uint64_t> num_records{0};
  uint64_t first_sequence = 0;
  std::atomic<bool> is_directory_synced{false};
  bool is_torn = false;  // A failed write may have left bytes beyond the end.
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
  const uint64_t begin = bytes;
  uint64_t end = begin;
  absl::Status status = WriteAll(fd, path, &end, parts);
  if (status.ok()) {
    bytes = end;
    num_records += records;
    return status;
  }
  // A reader may have read complete frames already. If they were removed, the
  // reader would continue in the middle of later data.
  const Extent whole = WholeFrames(parts, end - begin);
  bytes = begin + whole.bytes;
  num_records += whole.num_records;
  is_torn = true;
  CutTornBytes();
  return status;
}

void SegmentWriter::Rep::CutTornBytes() {
  if (Truncate(fd, path, bytes).ok()) is_torn = false;
}

absl::StatusOr<std::unique_ptr<PreparedSegment>> PreparedSegment::Create(
    const std::string& dir, uint64_t preallocate_bytes) {
  std::unique_ptr<PreparedSegment> prepared(new PreparedSegment);
  std::string path = absl::StrCat(dir, "/.prepared-XXXXXX.tmp");
  constexpr int kSuffixLength = 4;
  prepared->fd_ = mkostemps(path.data(), kSuffixLength, O_CLOEXEC);
  if (prepared->fd_ < 0) return PosixStatus(errno, path, "cannot create");
  prepared->path_ = path;
  if (fchmod(prepared->fd_, 0644) != 0) {
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
  return prepared;
}

PreparedSegment::~PreparedSegment() {
  if (fd_ < 0) return;
  unlink(path_.c_str());
  close(fd_);
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
  rep.bytes = bytes;
  if (rename(prepared->path_.c_str(), rep.path.c_str()) != 0) {
    return PosixStatus(errno, rep.path, "cannot rename to");
  }
  rep.fd = std::exchange(prepared->fd_, -1);
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
  if (!rep.is_directory_synced) {
    RETURN_IF_ERROR(SyncDirectoryOf(rep.path));
    rep.is_directory_synced = true;
  }
  return SyncFile(rep.fd, rep.path);
}

absl::Status SegmentWriter::Close() {
  Rep& rep = *rep_;
  if (rep.fd < 0) return absl::OkStatus();
  log::v1::LogRecord record;
  *record.mutable_footer() = MakeFooter(rep.first_sequence, rep.num_records);
  uint64_t bytes = rep.bytes;
  RETURN_IF_ERROR(WriteRecord(rep.fd, rep.path, &bytes, record));
  rep.bytes = bytes;
  RETURN_IF_ERROR(Truncate(rep.fd, rep.path, bytes));
  RETURN_IF_ERROR(Sync());
  close(rep.fd);
  rep.fd = -1;
  return absl::OkStatus();
}

const std::string& SegmentWriter::name() const { return rep_->name; }
uint64_t SegmentWriter::bytes() const { return rep_->bytes; }
uint64_t SegmentWriter::num_records() const { return rep_->num_records; }

std::string SegmentName(int64_t created_time_us, absl::string_view writer_id,
                        uint64_t counter) {
  return absl::StrFormat("%016x-%s-%06d.seg", created_time_us, writer_id,
                         counter);
}

absl::StatusOr<bool> SegmentHasLiveWriter(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return PosixStatus(errno, path, "cannot open");
  const absl::Cleanup closer = [fd] { close(fd); };
  if (flock(fd, LOCK_SH | LOCK_NB) == 0) return false;
  if (errno == EWOULDBLOCK) return true;
  return PosixStatus(errno, path, "cannot lock");
}

absl::StatusOr<log::v1::SegmentFooter> RecoverSegment(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return PosixStatus(errno, path, "cannot open");
  const absl::Cleanup closer = [fd] { close(fd); };
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    return errno == EWOULDBLOCK
               ? absl::FailedPreconditionError(
                     absl::StrCat("segment ", path, " is still being written"))
               : PosixStatus(errno, path, "cannot lock");
  }
  ASSIGN_OR_RETURN(const auto reader, SegmentReader::Open(path));
  log::v1::LogRecord record;
  uint64_t first_sequence = 0;
  uint64_t num_records = 0;
  while (true) {
    absl::string_view payload;
    uint64_t offset = 0;
    ASSIGN_OR_RETURN(const auto outcome, reader->Next(&payload, &offset));
    if (outcome == SegmentReader::Outcome::kCorrupt) continue;
    if (outcome != SegmentReader::Outcome::kRecord) break;
    const bool is_record =
        record.ParseFromArray(payload.data(), static_cast<int>(payload.size()));
    if (is_record && record.has_footer()) return record.footer();
    if (is_record && record.has_header()) {
      first_sequence = record.header().first_sequence();
    } else {
      ++num_records;
    }
  }
  uint64_t end = reader->offset();
  ASSIGN_OR_RETURN(const uint64_t torn, NonZeroBytesAfter(fd, path, end));
  log::v1::SegmentFooter footer = MakeFooter(first_sequence, num_records);
  footer.set_recovered(true);
  footer.set_torn_bytes(torn);
  *record.mutable_footer() = footer;
  RETURN_IF_ERROR(Truncate(fd, path, end));
  RETURN_IF_ERROR(WriteRecord(fd, path, &end, record));
  RETURN_IF_ERROR(SyncFile(fd, path));
  return footer;
}

}  // namespace sortition
