#include "trainer/tuples/scan/tuple_log.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/segments/log_paths.h"
#include "io/segments/parse_message.h"
#include "io/segments/reward_join.h"
#include "io/segments/segment.h"
#include "process/log.h"
#include "process/progress.h"

namespace sortition {
namespace {

struct Beginning {
  std::string join;
  int64_t created_us = 0;
  double reward_wait_seconds = 0;
  bool has_tuple = false;
  bool is_spool = false;
};

absl::StatusOr<Beginning> ReadBeginning(const std::string& path) {
  ASSIGN_OR_RETURN(const auto reader, SegmentReader::Open(path));
  Beginning beginning;
  log::v1::LogRecord record;
  while (!beginning.has_tuple) {
    absl::string_view payload;
    uint64_t offset = 0;
    ASSIGN_OR_RETURN(const auto outcome, reader->Next(&payload, &offset));
    if (outcome == SegmentReader::Outcome::kCorrupt) continue;
    if (outcome != SegmentReader::Outcome::kRecord) break;
    if (!ParseMessage(payload, &record)) continue;
    beginning.has_tuple = record.has_tuple();
    if (!record.has_header()) continue;
    beginning.is_spool =
        record.header().kind() == log::v1::SegmentHeader::SPOOL;
    beginning.join = RewardJoinText(record.header());
    beginning.created_us = record.header().created_time_us();
    beginning.reward_wait_seconds = RewardWaitSeconds(record.header());
  }
  return beginning;
}

// Calls `take` for each tuple of a segment, in the order of writing. Returns
// where it ends.
absl::StatusOr<uint64_t> VisitTuples(
    const std::string& path,
    absl::FunctionRef<absl::Status(const log::v1::BanditTuple&)> take) {
  ASSIGN_OR_RETURN(const auto reader, SegmentReader::Open(path));
  log::v1::LogRecord record;
  while (true) {
    absl::string_view payload;
    uint64_t offset = 0;
    ASSIGN_OR_RETURN(const auto outcome, reader->Next(&payload, &offset));
    if (outcome == SegmentReader::Outcome::kEnd ||
        outcome == SegmentReader::Outcome::kIncomplete) {
      return reader->offset();
    }
    if (outcome == SegmentReader::Outcome::kRecord &&
        ParseMessage(payload, &record) && record.has_tuple()) {
      RETURN_IF_ERROR(take(record.tuple()));
    }
  }
}

// Returns false if a segment was surely not written since that time.
bool WrittenSince(const std::string& path, int64_t time_us) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0) return true;
  constexpr int64_t kUsPerSecond = 1'000'000;
  return info.st_mtim.tv_sec >= time_us / kUsPerSecond;
}

void LogJoins(const std::vector<TupleLog::Segment>& segments) {
  std::map<std::string, size_t> joins;
  for (const TupleLog::Segment& segment : segments) ++joins[segment.join];
  for (const auto& [join, count] : joins) {
    const bool is_read = std::any_of(
        segments.begin(), segments.end(), [&name = join](const auto& segment) {
          return segment.join == name && segment.is_read;
        });
    LogInfo("rewards in the log",
            {{"joined_by", join.empty() ? "no sidecar" : join},
             {"segments", count},
             {"read", is_read}});
  }
}

}  // namespace

absl::StatusOr<TupleLog> TupleLog::Open(const std::string& tuples,
                                        const Options& options) {
  ASSIGN_OR_RETURN(std::vector<std::string> paths,
                   FindSegments(SplitLogEntries(tuples)));
  std::erase_if(paths, [&](const std::string& path) {
    return !WrittenSince(path, options.written_since_us);
  });
  TupleLog log;
  log.name_ = tuples;
  log.allows_incomplete_ = options.allow_incomplete;
  int64_t newest_us = 0;
  bool has_tuple = false;
  size_t num_spool_segments = 0;
  std::string newest_join;
  for (const std::string& path : paths) {
    absl::StatusOr<Beginning> beginning = ReadBeginning(path);
    if (absl::IsNotFound(beginning.status())) {
      LogWarning("a segment was removed before it was read",
                 {{"segment", path}});
      continue;
    }
    RETURN_IF_ERROR(beginning.status());
    num_spool_segments += beginning->is_spool;
    if (beginning->has_tuple &&
        (!has_tuple || beginning->created_us >= newest_us)) {
      has_tuple = true;
      newest_us = beginning->created_us;
      newest_join = beginning->join;
    }
    log.reward_wait_seconds_ =
        std::max(log.reward_wait_seconds_, beginning->reward_wait_seconds);
    log.segments_.push_back({path, std::move(beginning->join)});
  }
  if (num_spool_segments > 0 && num_spool_segments == log.segments_.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "tuples is '", tuples,
        "', which is a spool of a server: decisions "
        "that are not joined with their rewards yet. Give the directory in "
        "which the sidecar writes tuples (its option `tuples`)"));
  }
  for (Segment& segment : log.segments_) {
    segment.is_read =
        options.mix_joins || !has_tuple || segment.join == newest_join;
  }
  LogJoins(log.segments_);
  if (CanHaveCopies(paths)) RETURN_IF_ERROR(log.FindCopies(options.scratch));
  return log;
}

absl::Status TupleLog::FindCopies(const std::string& scratch) {
  Progress progress("looking for copies", "segments", segments_.size());
  CopyFinder finder(scratch);
  for (size_t i = 0; i < segments_.size(); ++i) {
    progress.Add(1);
    if (!segments_[i].is_read) continue;
    uint32_t index = 0;
    const absl::StatusOr<uint64_t> end =
        VisitTuples(segments_[i].path, [&](const log::v1::BanditTuple& tuple) {
          return finder.Add(CopyKey(tuple), static_cast<uint32_t>(i), index++);
        });
    // ScanTuples() says that it is gone.
    if (absl::IsNotFound(end.status())) continue;
    RETURN_IF_ERROR(end.status());
    segments_[i].end = *end;
  }
  ASSIGN_OR_RETURN(copies_, finder.Find());
  return absl::OkStatus();
}

}  // namespace sortition
