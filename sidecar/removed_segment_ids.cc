#include "sidecar/removed_segment_ids.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/base/hash.h"
#include "core/base/status_macros.h"
#include "io/files.h"
#include "io/segments/segment_file.h"
#include "io/segments/segment_writer.h"
#include "process/log.h"
#include "sidecar/segment_sequence.h"

namespace sortition {
namespace {

// A file holds the magic, the entries, and the hash of both; little-endian.
constexpr absl::string_view kMagic = "SRTIDS1\n";
constexpr uint64_t kFeedbackBit = uint64_t{1} << 63;
constexpr size_t kEntryBytes = 3 * sizeof(uint64_t);
constexpr size_t kHashBytes = 2 * sizeof(uint64_t);
// Enough for the 700,000 ids of a segment of 64 MiB that holds feedback alone.
constexpr char kReserve[] = "/reserve";
constexpr off_t kReserveBytes = off_t{1} << 24;

void PutUint64(uint64_t value, std::string* bytes) {
  for (int shift = 0; shift < 64; shift += 8) {
    bytes->push_back(static_cast<char>(value >> shift & 0xFF));
  }
}

uint64_t GetUint64(absl::string_view bytes) {
  uint64_t value = 0;
  for (int i = 7; i >= 0; --i) {
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

std::string Encode(const std::vector<RememberedId>& ids) {
  std::string bytes(kMagic);
  bytes.reserve(kMagic.size() + ids.size() * kEntryBytes + kHashBytes);
  for (const RememberedId& id : ids) {
    PutUint64(id.hash.low, &bytes);
    PutUint64(id.hash.high, &bytes);
    PutUint64(
        static_cast<uint64_t>(id.time_us) | (id.is_feedback ? kFeedbackBit : 0),
        &bytes);
  }
  const Hash128 hash = HashBytes(bytes);
  PutUint64(hash.low, &bytes);
  PutUint64(hash.high, &bytes);
  return bytes;
}

absl::StatusOr<std::vector<RememberedId>> Decode(absl::string_view bytes) {
  const absl::Status damaged = absl::DataLossError("damaged");
  if (bytes.size() < kMagic.size() + kHashBytes) return damaged;
  const absl::string_view body = bytes.substr(0, bytes.size() - kHashBytes);
  const absl::string_view end = bytes.substr(body.size());
  if (HashBytes(body) != Hash128{GetUint64(end), GetUint64(end.substr(8))} ||
      !absl::StartsWith(body, kMagic) ||
      (body.size() - kMagic.size()) % kEntryBytes != 0) {
    return damaged;
  }
  std::vector<RememberedId> ids;
  for (size_t at = kMagic.size(); at < body.size(); at += kEntryBytes) {
    const uint64_t time = GetUint64(body.substr(at + 16));
    ids.push_back({{GetUint64(body.substr(at)), GetUint64(body.substr(at + 8))},
                   static_cast<int64_t>(time & ~kFeedbackBit),
                   0,
                   (time & kFeedbackBit) != 0});
  }
  return ids;
}

int64_t LastTime(const std::vector<RememberedId>& ids) {
  int64_t last = std::numeric_limits<int64_t>::min();
  for (const RememberedId& id : ids) last = std::max(last, id.time_us);
  return last;
}

// Returns whether the disk has room for the whole reserve already.
bool HasRoom(int fd) {
  constexpr off_t kBlockBytes = 512;
  struct stat info = {};
  return fstat(fd, &info) == 0 && info.st_blocks * kBlockBytes >= kReserveBytes;
}

absl::Status SyncFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool is_synced = fd >= 0 && fdatasync(fd) == 0;
  const int error = errno;
  if (fd >= 0) close(fd);
  if (is_synced) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("fdatasync of ", path, ": ", std::strerror(error)));
}

}  // namespace

absl::StatusOr<std::vector<RememberedId>> RemovedSegmentIds::Load(
    const std::vector<std::string>& present) {
  RETURN_IF_ERROR(MakeDirectories(dir_));
  RemoveTemporaries(dir_);
  std::vector<std::string> segments;
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(dir_));
  for (const std::string& name : names) {
    if (!absl::EndsWith(name, ".ids")) continue;
    segments.emplace_back(absl::StripSuffix(name, ".ids"));
  }
  Reserve();
  std::vector<RememberedId> all;
  for (const std::string& segment : segments) {
    if (std::binary_search(present.begin(), present.end(), segment)) {
      RETURN_IF_ERROR(Drop(segment));
      continue;
    }
    ASSIGN_OR_RETURN(const std::string bytes, ReadFile(PathOf(segment)));
    const absl::StatusOr<std::vector<RememberedId>> ids = Decode(bytes);
    if (!ids.ok()) {
      LogError(
          "a file of ids of a removed segment is damaged; duplicates of its "
          "decisions will not be recognised",
          {{"file", PathOf(segment)}});
      continue;
    }
    last_time_us_[segment] = LastTime(*ids);
    all.insert(all.end(), ids->begin(), ids->end());
  }
  return all;
}

absl::Status RemovedSegmentIds::Add(const std::string& segment,
                                    const std::vector<RememberedId>& ids) {
  const std::string path = PathOf(segment);
  const std::string bytes = Encode(ids);
  absl::Status status = WriteFile(path, bytes);
  if (absl::IsResourceExhausted(status)) status = UseReserve(path, bytes);
  RETURN_IF_ERROR(status);
  RETURN_IF_ERROR(SyncFile(path));
  RETURN_IF_ERROR(SyncDirectory(dir_));
  last_time_us_[segment] = LastTime(ids);
  Reserve();
  return absl::OkStatus();
}

void RemovedSegmentIds::Reserve() {
  if (is_reserved_) return;
  const std::string path = dir_ + kReserve;
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return;
  is_reserved_ = HasRoom(fd) || fallocate(fd, 0, 0, kReserveBytes) == 0;
  close(fd);
  // Part of the reserve would only take space from others.
  if (!is_reserved_) unlink(path.c_str());
}

// The reserved file becomes the file of ids: nobody else gets its space.
absl::Status RemovedSegmentIds::UseReserve(const std::string& path,
                                           absl::string_view bytes) {
  const std::string reserve = dir_ + kReserve;
  const int fd = open(reserve.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no space for ", path, ", and no ", reserve));
  }
  const ssize_t written = pwrite(fd, bytes.data(), bytes.size(), 0);
  const bool is_written = written == static_cast<ssize_t>(bytes.size()) &&
                          ftruncate(fd, written) == 0;
  close(fd);
  if (!is_written || rename(reserve.c_str(), path.c_str()) != 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no space for ", path, " in ", reserve));
  }
  is_reserved_ = false;
  return absl::OkStatus();
}

int64_t RemovedSegmentIds::LatestTimeOf(absl::string_view writer_id) const {
  int64_t latest_us = 0;
  for (const auto& [segment, last_us] : last_time_us_) {
    if (WriterIdOf(segment) == writer_id) {
      latest_us = std::max(latest_us, last_us);
    }
  }
  return latest_us;
}

absl::Status RemovedSegmentIds::DropBefore(int64_t time_us) {
  for (auto it = last_time_us_.begin(); it != last_time_us_.end();) {
    const auto current = it++;
    if (current->second < time_us) RETURN_IF_ERROR(Drop(current->first));
  }
  return absl::OkStatus();
}

absl::Status RemovedSegmentIds::Drop(const std::string& segment) {
  const std::string path = PathOf(segment);
  last_time_us_.erase(segment);
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("cannot remove ", path, ": ", std::strerror(errno)));
}

}  // namespace sortition
