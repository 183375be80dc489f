#include "io/upkeep/stored_segments.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <map>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"
#include "io/files.h"
#include "io/posix_status.h"
#include "io/segments/compressed_file.h"
#include "io/segments/segment.h"
#include "io/segments/segment_file.h"
#include "io/segments/segment_recovery.h"

namespace sortition {
namespace {

// "<time, 16 hexadecimal digits>-<writer_id>-<counter>.seg".
constexpr size_t kTimeDigits = 16;

// Returns the time that the name begins with; 0 if it does not.
int64_t TimeOf(absl::string_view name) {
  uint64_t time_us = 0;
  if (!absl::SimpleHexAtoi(name.substr(0, kTimeDigits), &time_us)) return 0;
  return static_cast<int64_t>(time_us);
}

// Returns the writer in the name. A name of another form is one of its own.
absl::string_view WriterOf(absl::string_view name) {
  const size_t end = name.rfind('-');
  if (TimeOf(name) == 0 || end == name.npos || end <= kTimeDigits) return name;
  return name.substr(kTimeDigits, end - kTimeDigits);
}

uint64_t FileBytes(const std::string& path) {
  std::error_code error;
  const uint64_t bytes = std::filesystem::file_size(path, error);
  return error ? 0 : bytes;
}

// Lets each late segment count as followed no earlier than the tuple segments
// that began before it was. The newest of a writer, which stay for ever, do not
// hold it up.
void WaitForTuples(const std::vector<StoredSegment>& tuples,
                   std::vector<StoredSegment>* late) {
  // From the begin of a segment to when it and all that began before it were
  // followed.
  std::map<int64_t, int64_t> followed_us;
  for (const StoredSegment& segment : tuples) {
    if (segment.is_newest) continue;
    int64_t& latest = followed_us[segment.began_us];
    latest = std::max(latest, segment.followed_us);
  }
  int64_t latest = 0;
  for (auto& [began_us, followed] : followed_us) {
    latest = followed = std::max(latest, followed);
  }
  for (StoredSegment& segment : *late) {
    if (segment.is_newest) continue;
    const auto next = followed_us.lower_bound(segment.followed_us);
    if (next == followed_us.begin()) continue;
    segment.followed_us =
        std::max(segment.followed_us, std::prev(next)->second);
  }
}

absl::Status RemoveFile(const std::string& path) {
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  return PosixStatus(errno, path, "cannot remove");
}

}  // namespace

absl::StatusOr<std::vector<StoredSegment>> ListStored(const std::string& dir) {
  ASSIGN_OR_RETURN(const std::vector<std::string> files, ListDirectory(dir));
  std::map<std::string, StoredSegment> by_name;
  for (const std::string& file : files) {
    absl::string_view name = file;
    const bool is_compressed = absl::ConsumeSuffix(&name, kCompressedSuffix);
    if (!absl::EndsWith(name, kSegmentSuffix)) continue;
    StoredSegment& segment = by_name[std::string(name)];
    segment.path = absl::StrCat(dir, "/", name);
    // Names are sorted: the compressed file comes behind the plain one.
    segment.bytes = FileBytes(absl::StrCat(dir, "/", file));
    (is_compressed ? segment.is_compressed : segment.is_plain) = true;
  }
  std::map<absl::string_view, int64_t> next_us;  // By writer.
  std::vector<StoredSegment> segments;
  for (auto it = by_name.rbegin(); it != by_name.rend(); ++it) {
    const auto [next, is_newest] =
        next_us.try_emplace(WriterOf(it->first), TimeOf(it->first));
    it->second.is_newest = is_newest;
    it->second.began_us = TimeOf(it->first);
    it->second.followed_us = is_newest ? 0 : next->second;
    next->second = TimeOf(it->first);
    segments.push_back(it->second);
  }
  std::reverse(segments.begin(), segments.end());
  return segments;
}

absl::StatusOr<std::vector<StoredSegment>> ListStoredWithLate(
    const std::string& dir) {
  ASSIGN_OR_RETURN(std::vector<StoredSegment> all, ListStored(dir));
  absl::StatusOr<std::vector<StoredSegment>> late = ListStored(dir + "/late");
  if (late.ok()) {
    WaitForTuples(all, &*late);
    all.insert(all.end(), late->begin(), late->end());
  } else if (!absl::IsNotFound(late.status())) {
    return late.status();
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const StoredSegment& a, const StoredSegment& b) {
                     return a.followed_us < b.followed_us;
                   });
  return all;
}

std::vector<StoredSegment> ChooseForRemoval(
    const std::vector<StoredSegment>& segments, const StorageLimits& limits) {
  uint64_t bytes = 0;
  for (const StoredSegment& segment : segments) bytes += segment.bytes;
  std::vector<StoredSegment> chosen;
  for (const StoredSegment& segment : segments) {
    if (segment.is_newest) continue;
    const bool is_old = segment.followed_us < limits.followed_from_us;
    if (!is_old && (limits.bytes == 0 || bytes <= limits.bytes)) continue;
    bytes -= segment.bytes;
    chosen.push_back(segment);
  }
  return chosen;
}

absl::Status RemoveStored(const StoredSegment& segment) {
  RETURN_IF_ERROR(RemoveFile(CompressedSegmentPath(segment.path)));
  return RemoveFile(segment.path);
}

absl::Status CompressStored(const std::vector<StoredSegment>& segments,
                            absl::FunctionRef<bool()> should_stop,
                            CompressionCounts* counts) {
  for (const StoredSegment& segment : segments) {
    if (!segment.is_plain || segment.is_newest) continue;
    if (segment.is_compressed) {
      // Its name may not be on the disk yet, if the last round was cut short.
      RETURN_IF_ERROR(SyncDirectory(
          std::filesystem::path(segment.path).parent_path().string()));
      RETURN_IF_ERROR(RemoveFile(segment.path));
      continue;
    }
    if (!IsClosedSegment(segment.path)) continue;
    const std::string to = CompressedSegmentPath(segment.path);
    RETURN_IF_ERROR(CompressFile(segment.path, to, should_stop));
    ++counts->segments;
    counts->bytes_before += segment.bytes;
    counts->bytes_after += FileBytes(to);
  }
  return absl::OkStatus();
}

}  // namespace sortition
