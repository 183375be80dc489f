#include "trainer/rollout/rollout_sources.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "core/base/status_macros.h"
#include "io/segments/log_paths.h"
#include "io/segments/parse_message.h"
#include "io/segments/segment.h"
#include "io/segments/segment_recovery.h"
#include "io/segments/segment_writer.h"

namespace sortition {
namespace {

using model::v1::LedgerSource;

// Fills in the fields about the oldest segment, from its header and first
// tuple.
absl::Status ReadBeginningOf(const std::string& path, TupleSource* source) {
  const auto opened = SegmentReader::Open(path);
  if (absl::IsNotFound(opened.status())) return absl::OkStatus();
  RETURN_IF_ERROR(opened.status());
  log::v1::LogRecord record;
  while (true) {
    absl::string_view payload;
    uint64_t offset = 0;
    ASSIGN_OR_RETURN(const auto outcome, (*opened)->Next(&payload, &offset));
    if (outcome == SegmentReader::Outcome::kCorrupt) continue;
    if (outcome != SegmentReader::Outcome::kRecord) return absl::OkStatus();
    if (!ParseMessage(payload, &record)) continue;
    if (record.has_header()) {
      source->oldest_us = record.header().created_time_us();
      source->is_beginning = record.header().resume().segment().empty();
    }
    if (record.has_tuple()) {
      source->first_tuple_us = record.tuple().decision().time_us();
      return absl::OkStatus();
    }
  }
}

int64_t CreatedOf(const std::string& name) {
  constexpr size_t kDigits = 16;
  uint64_t created_us = 0;
  return absl::SimpleHexAtoi(absl::string_view(name).substr(0, kDigits),
                             &created_us)
             ? static_cast<int64_t>(created_us)
             : 0;
}

// Returns the creation time of the oldest segment that may still grow. This is
// the newest segment of each sidecar, unless it is closed.
int64_t NeededSince(const std::vector<std::string>& paths, int64_t now_us) {
  std::map<std::string, std::string> newest;  // By writer.
  for (const std::string& path : paths) {
    const std::string name = std::filesystem::path(path).filename().string();
    newest[std::string(WriterIdOf(name))] = path;
  }
  int64_t needed_us = now_us;
  for (const auto& [writer, path] : newest) {
    if (absl::EndsWith(path, kCompressedSuffix) || IsClosedSegment(path))
      continue;
    needed_us = std::min(
        needed_us, CreatedOf(std::filesystem::path(path).filename().string()));
  }
  return needed_us;
}

const TupleSource* Find(const std::vector<TupleSource>& sources,
                        const std::string& directory) {
  const auto found = std::find_if(
      sources.begin(), sources.end(),
      [&](const TupleSource& each) { return each.directory == directory; });
  return found == sources.end() ? nullptr : &*found;
}

bool ReachesBack(const TupleSource& source, int64_t needed_us,
                 const ReadSoFar& before) {
  return source.oldest_us <= needed_us ||
         (source.first_tuple_us > 0 &&
          source.first_tuple_us <= before.newest_us);
}

}  // namespace

absl::StatusOr<std::vector<TupleSource>> FindTupleSources(
    const std::string& tuples, int64_t now_us) {
  ASSIGN_OR_RETURN(const std::vector<std::string> paths,
                   FindSegments(SplitLogEntries(tuples)));
  std::map<std::string, std::vector<std::string>> by_directory;
  for (const std::string& path : paths) {
    by_directory[std::filesystem::path(path).parent_path().string()].push_back(
        path);
  }
  std::vector<TupleSource> sources;
  for (const auto& [directory, segments] : by_directory) {
    TupleSource& source = sources.emplace_back();
    source.directory = directory;
    RETURN_IF_ERROR(ReadBeginningOf(segments.front(), &source));
    source.needed_us = NeededSince(segments, now_us);
  }
  return sources;
}

std::string FindUnreadGap(const ReadSoFar& before,
                          const std::vector<TupleSource>& now) {
  std::map<std::string, int64_t> needed;
  for (const LedgerSource& source : before.sources) {
    needed[source.directory()] = source.needed_us();
  }
  bool is_one_missing = false;
  for (const auto& [directory, needed_us] : needed) {
    if (const TupleSource* const source = Find(now, directory)) {
      if (!ReachesBack(*source, needed_us, before)) return directory;
      continue;
    }
    // The directory may have been moved: look for a new one that reaches back.
    is_one_missing = true;
    if (std::none_of(now.begin(), now.end(), [&](const TupleSource& other) {
          return !needed.contains(other.directory) &&
                 ReachesBack(other, needed_us, before);
        })) {
      return directory;
    }
  }
  for (const TupleSource& source : now) {
    if (needed.contains(source.directory) ||
        ReachesBack(source, before.started_us, before) ||
        (source.is_beginning && !is_one_missing)) {
      continue;
    }
    return source.directory;
  }
  return "";
}

}  // namespace sortition
