#include "trainer/rollout/rollout_sources.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <set>

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

constexpr int64_t kNoEnd = std::numeric_limits<int64_t>::max();

// Fills in what the header and the first tuple of the oldest segment say.
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

std::string DirectoryOf(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

std::string NameOf(const std::string& path) {
  return std::filesystem::path(path).filename().string();
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
    newest[std::string(WriterIdOf(NameOf(path)))] = path;
  }
  int64_t needed_us = now_us;
  for (const auto& [writer, path] : newest) {
    if (absl::EndsWith(path, kCompressedSuffix) || IsClosedSegment(path))
      continue;
    needed_us = std::min(needed_us, CreatedOf(NameOf(path)));
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

// Returns whether `source` has all that was written since `read`.
bool ReachesBack(const TupleSource& source, const LedgerSource& read,
                 const ReadSoFar& before) {
  return source.oldest_us <= read.needed_us() ||
         (source.first_tuple_us > 0 &&
          source.first_tuple_us <=
              std::max(read.newest_us(), before.started_us));
}

}  // namespace

absl::StatusOr<std::vector<TupleSource>> FindTupleSources(
    const std::string& tuples, int64_t now_us) {
  ASSIGN_OR_RETURN(const std::vector<std::string> paths,
                   FindSegments(SplitLogEntries(tuples)));
  std::map<std::string, std::vector<std::string>> by_directory;
  for (const std::string& path : paths) {
    by_directory[DirectoryOf(path)].push_back(path);
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

ReadSegment SegmentOf(const std::string& path) {
  return {.directory = DirectoryOf(path),
          .created_us = CreatedOf(NameOf(path))};
}

ReadUntil ReadUntilOf(const std::vector<ReadSegment>& segments) {
  std::map<std::string, int64_t> newest;  // By directory.
  int64_t newest_us = 0;
  for (const ReadSegment& segment : segments) {
    int64_t& of_directory = newest[segment.directory];
    of_directory = std::max(of_directory, segment.newest_us);
    newest_us = std::max(newest_us, segment.newest_us);
  }
  std::erase_if(newest, [&](const auto& each) {
    return each.second == 0 || each.second < newest_us - kMaxLagUs;
  });
  if (newest.empty()) return {.register_us = kNoEnd};
  const auto slowest = std::min_element(
      newest.begin(), newest.end(),
      [](const auto& a, const auto& b) { return a.second < b.second; });
  return {.close_us = slowest->second,
          .register_us = newest.size() > 1 ? slowest->second : kNoEnd,
          .slowest = slowest->first};
}

LedgerSource LedgerSourceOf(const TupleSource& source,
                            const std::vector<ReadSegment>& segments,
                            const ReadUntil& until) {
  LedgerSource written;
  written.set_directory(source.directory);
  written.set_needed_us(source.needed_us);
  for (const ReadSegment& segment : segments) {
    if (segment.directory != source.directory) continue;
    written.set_newest_us(std::max(
        written.newest_us(), std::min(segment.newest_us, until.register_us)));
    // Its decisions that wait are read again.
    if (segment.newest_of_rollout_us > until.register_us) {
      written.set_needed_us(std::min(written.needed_us(), segment.created_us));
    }
  }
  return written;
}

std::string FindDamage(const ReadSoFar& before,
                       const std::vector<ReadSegment>& segments) {
  std::map<std::string, int64_t> needed;
  for (const LedgerSource& source : before.sources) {
    needed[source.directory()] = source.needed_us();
  }
  for (const ReadSegment& segment : segments) {
    const auto known = needed.find(segment.directory);
    const bool was_read = known != needed.end() && segment.created_us > 0 &&
                          segment.created_us < known->second;
    const bool is_older =
        segment.newest_of_rollout_us == 0 && segment.newest_of_all_us > 0 &&
        segment.newest_of_all_us < before.started_us - kMaxLagUs;
    if (segment.corrupt_records > 0 && !was_read && !is_older) {
      return segment.directory;
    }
  }
  return "";
}

std::string FindUnreadGap(const ReadSoFar& before,
                          const std::vector<TupleSource>& now) {
  std::map<std::string, const LedgerSource*> known;
  for (const LedgerSource& source : before.sources) {
    known[source.directory()] = &source;
  }
  std::set<std::string> moved;  // New directories that may be missing ones.
  bool is_one_missing = false;
  for (const auto& [directory, read] : known) {
    if (const TupleSource* const source = Find(now, directory)) {
      if (!ReachesBack(*source, *read, before)) return directory;
      continue;
    }
    is_one_missing = true;
    bool is_found = false;
    for (const TupleSource& other : now) {
      if (known.contains(other.directory) ||
          !ReachesBack(other, *read, before)) {
        continue;
      }
      is_found = true;
      moved.insert(other.directory);
    }
    if (!is_found) return directory;
  }
  LedgerSource beginning;
  beginning.set_needed_us(before.started_us);
  for (const TupleSource& source : now) {
    if (known.contains(source.directory) || moved.contains(source.directory) ||
        ReachesBack(source, beginning, before) ||
        (source.is_beginning && !is_one_missing)) {
      continue;
    }
    return source.directory;
  }
  return "";
}

}  // namespace sortition
