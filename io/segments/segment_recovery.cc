#include "io/segments/segment_recovery.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"
#include "io/posix_status.h"
#include "io/segments/compressed_file.h"
#include "io/segments/parse_message.h"
#include "io/segments/record_frame.h"
#include "io/segments/segment.h"
#include "io/segments/segment_file.h"

namespace sortition {
namespace {

// Returns the path of the file if the segment is compressed; nothing otherwise.
std::optional<std::string> CompressedFileOf(const std::string& path) {
  if (absl::EndsWith(path, kCompressedSuffix)) return path;
  std::string compressed = CompressedSegmentPath(path);
  std::error_code ignored;
  const bool is_compressed = !std::filesystem::exists(path, ignored) &&
                             std::filesystem::exists(compressed, ignored);
  if (!is_compressed) return std::nullopt;
  return compressed;
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

// What can be read of a segment.
struct ReadableExtent {
  uint64_t first_sequence = 0;
  uint64_t num_records = 0;
  uint64_t end = 0;  // Offset behind the last intact record.
  std::optional<log::v1::SegmentFooter> footer;
};

// Reads to the end, or up to a damage if `stops(payload)` is true for the next
// intact record.
absl::StatusOr<ReadableExtent> MeasureSegment(
    const std::string& path, absl::FunctionRef<bool(absl::string_view)> stops) {
  ASSIGN_OR_RETURN(const auto reader, SegmentReader::Open(path));
  log::v1::LogRecord record;
  ReadableExtent whole;
  bool is_behind_damage = false;
  while (true) {
    absl::string_view payload;
    uint64_t offset = 0;
    ASSIGN_OR_RETURN(const auto outcome, reader->Next(&payload, &offset));
    if (outcome == SegmentReader::Outcome::kCorrupt) {
      is_behind_damage = true;
      continue;
    }
    if (outcome != SegmentReader::Outcome::kRecord) return whole;
    if (std::exchange(is_behind_damage, false) && stops(payload)) return whole;
    whole.end = reader->offset();
    const bool is_record = ParseMessage(payload, &record);
    if (is_record && record.has_footer()) {
      whole.footer = record.footer();
      return whole;
    }
    if (is_record && record.has_header()) {
      whole.first_sequence = record.header().first_sequence();
    } else {
      ++whole.num_records;
    }
  }
}

bool Never(absl::string_view) { return false; }

// Returns the footer that ends `whole`, behind which `torn_bytes` are cut off.
log::v1::LogRecord FooterOf(const ReadableExtent& whole, uint64_t torn_bytes) {
  log::v1::LogRecord record;
  *record.mutable_footer() =
      MakeFooter(whole.first_sequence, whole.num_records);
  record.mutable_footer()->set_recovered(true);
  record.mutable_footer()->set_torn_bytes(torn_bytes);
  return record;
}

// Ends the segment in place.
absl::Status CutInPlace(int fd, const std::string& path, uint64_t end,
                        const log::v1::LogRecord& footer) {
  RETURN_IF_ERROR(TruncateFile(fd, path, end));
  RETURN_IF_ERROR(WriteRecord(fd, path, &end, footer));
  return SyncFile(fd, path);
}

// Writes `contents` and a footer to `path`.
absl::Status WriteCopy(absl::string_view contents,
                       const log::v1::LogRecord& footer,
                       const std::string& path) {
  const int fd =
      open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return PosixStatus(errno, path, "cannot create");
  const absl::Cleanup closer = [fd] { close(fd); };
  uint64_t written = 0;
  RETURN_IF_ERROR(WriteAll(fd, path, &written, {ToIovec(contents)}));
  RETURN_IF_ERROR(WriteRecord(fd, path, &written, footer));
  return SyncFile(fd, path);
}

// Puts a synced copy with `contents` and `footer` in the place of the segment
// `path`. Nothing is changed if that fails.
absl::Status ReplaceByCopy(const std::string& path, absl::string_view contents,
                           const log::v1::LogRecord& footer) {
  const std::string copy = path + ".tmp";
  absl::Status status = WriteCopy(contents, footer, copy);
  if (status.ok() && rename(copy.c_str(), path.c_str()) != 0) {
    status = PosixStatus(errno, path, "cannot replace");
  }
  if (!status.ok()) {
    unlink(copy.c_str());
    return status;
  }
  return SyncDirectory(std::filesystem::path(path).parent_path().string());
}

// A compressed file is never changed in place: offsets in it are not those of
// the segment. The copy is not compressed.
absl::StatusOr<uint64_t> RewriteCompressed(const std::string& compressed,
                                           const ReadableExtent& whole) {
  ASSIGN_OR_RETURN(const auto file, CompressedFile::Open(compressed));
  std::string contents(whole.end, '\0');
  contents.resize(file->Read(0, contents.data(), contents.size()));
  const uint64_t cut = file->size() - contents.size();
  const std::string path(absl::StripSuffix(compressed, kCompressedSuffix));
  RETURN_IF_ERROR(ReplaceByCopy(path, contents, FooterOf(whole, cut)));
  if (unlink(compressed.c_str()) != 0) {
    return PosixStatus(errno, compressed, "cannot remove");
  }
  return cut;
}

}  // namespace

bool IsClosedSegment(const std::string& path) {
  // Only closed segments are compressed.
  if (CompressedFileOf(path).has_value()) return true;
  // A footer has a few dozen bytes.
  constexpr off_t kMostFooterBytes = 256;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const absl::Cleanup closer = [fd] { close(fd); };
  const off_t size = lseek(fd, 0, SEEK_END);
  std::string bytes;
  ReadAt(fd, static_cast<uint64_t>(std::max<off_t>(0, size - kMostFooterBytes)),
         kMostFooterBytes, &bytes);
  for (absl::string_view end = bytes; !end.empty(); end.remove_prefix(1)) {
    uint64_t payload_bytes = 0;
    if (!ParseFrameHead(end, &payload_bytes) ||
        FrameBytes(payload_bytes) != end.size()) {
      continue;
    }
    const absl::string_view payload =
        end.substr(kFrameHeadBytes, payload_bytes);
    log::v1::LogRecord record;
    if (FrameTailMatches(payload,
                         end.substr(kFrameHeadBytes + payload_bytes)) &&
        ParseMessage(payload, &record) && record.has_footer()) {
      return true;
    }
  }
  return false;
}

absl::StatusOr<bool> SegmentHasLiveWriter(const std::string& path) {
  if (CompressedFileOf(path).has_value()) return false;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return PosixStatus(errno, path, "cannot open");
  const absl::Cleanup closer = [fd] { close(fd); };
  if (flock(fd, LOCK_SH | LOCK_NB) == 0) return false;
  if (errno == EWOULDBLOCK) return true;
  return PosixStatus(errno, path, "cannot lock");
}

absl::StatusOr<log::v1::SegmentFooter> RecoverSegment(const std::string& path) {
  if (CompressedFileOf(path).has_value()) {
    ASSIGN_OR_RETURN(const ReadableExtent whole, MeasureSegment(path, &Never));
    return whole.footer.value_or(FooterOf(whole, 0).footer());
  }
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return PosixStatus(errno, path, "cannot open");
  const absl::Cleanup closer = [fd] { close(fd); };
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    return errno == EWOULDBLOCK
               ? absl::FailedPreconditionError(
                     absl::StrCat("segment ", path, " is still being written"))
               : PosixStatus(errno, path, "cannot lock");
  }
  ASSIGN_OR_RETURN(const ReadableExtent whole, MeasureSegment(path, &Never));
  if (whole.footer.has_value()) return *whole.footer;
  ASSIGN_OR_RETURN(const uint64_t torn, NonZeroBytesAfter(fd, path, whole.end));
  const log::v1::LogRecord footer = FooterOf(whole, torn);
  RETURN_IF_ERROR(CutInPlace(fd, path, whole.end, footer));
  return footer.footer();
}

absl::StatusOr<uint64_t> RewriteSegment(
    const std::string& path,
    absl::FunctionRef<bool(absl::string_view)> can_redo) {
  ASSIGN_OR_RETURN(const ReadableExtent whole, MeasureSegment(path, can_redo));
  if (whole.footer.has_value()) return 0;
  const std::optional<std::string> compressed = CompressedFileOf(path);
  if (compressed.has_value()) return RewriteCompressed(*compressed, whole);
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return PosixStatus(errno, path, "cannot open");
  const absl::Cleanup closer = [fd] { close(fd); };
  ASSIGN_OR_RETURN(const uint64_t cut, NonZeroBytesAfter(fd, path, whole.end));
  const log::v1::LogRecord footer = FooterOf(whole, cut);
  std::string contents;
  ReadAt(fd, 0, whole.end, &contents);
  if (contents.size() < whole.end) return PosixStatus(EIO, path, "cannot read");
  const absl::Status status = ReplaceByCopy(path, contents, footer);
  if (absl::IsResourceExhausted(status)) {
    RETURN_IF_ERROR(CutInPlace(fd, path, whole.end, footer));
    return cut;
  }
  RETURN_IF_ERROR(status);
  return cut;
}

absl::StatusOr<bool> IsEmptySegment(const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<SegmentReader> reader,
                   SegmentReader::Open(path));
  absl::string_view payload;
  uint64_t offset = 0;
  ASSIGN_OR_RETURN(SegmentReader::Outcome outcome,
                   reader->Next(&payload, &offset));
  if (outcome == SegmentReader::Outcome::kRecord) {
    ASSIGN_OR_RETURN(outcome, reader->Next(&payload, &offset));
  }
  return outcome == SegmentReader::Outcome::kEnd;
}

}  // namespace sortition
