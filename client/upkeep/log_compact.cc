#include "client/upkeep/log_compact.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "client/logs/log_scan.h"
#include "client/upkeep/source_join.h"
#include "core/base/status_macros.h"
#include "io/record_sorter.h"
#include "io/scratch_file.h"
#include "io/segments/erased_record.h"
#include "io/segments/log_paths.h"
#include "io/segments/seen_tuples.h"
#include "io/segments/segment_batch.h"
#include "io/segments/segment_recovery.h"
#include "process/log.h"
#include "process/progress.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {
namespace {

using log::v1::BanditTuple;
using log::v1::SegmentHeader;

constexpr char kWriter[] = "compact";

// Appends a number so that byte-wise order is that of the numbers.
void AppendOrdered(uint64_t value, int num_bytes, std::string* key) {
  for (int shift = 8 * (num_bytes - 1); shift >= 0; shift -= 8) {
    key->push_back(static_cast<char>(value >> shift & 0xFF));
  }
}

// Returns the key that sorts tuples by time, or by unit and then by time. What
// was decided at one time is sorted by its place.
std::string SortKey(const BanditTuple& tuple, bool is_by_unit) {
  constexpr uint64_t kSign = uint64_t{1} << 63;
  const log::v1::Decision& decision = tuple.decision();
  std::string key;
  if (is_by_unit) {
    // The length first: no unit's keys lie between those of another.
    AppendOrdered(decision.unit_id().size(), 4, &key);
    key += decision.unit_id();
  }
  AppendOrdered(static_cast<uint64_t>(decision.time_us()) ^ kSign, 8, &key);
  key += tuple.position().segment();
  key.push_back('\0');
  AppendOrdered(tuple.position().offset(), 8, &key);
  return key;
}

absl::Status CheckNoSidecar(const std::vector<std::string>& dirs) {
  for (const std::string& dir : dirs) {
    const absl::StatusOr<bool> is_locked =
        SegmentHasLiveWriter(dir + "/sidecar.lock");
    if (absl::IsNotFound(is_locked.status())) continue;
    RETURN_IF_ERROR(is_locked.status());
    if (*is_locked) {
      return absl::FailedPreconditionError(
          absl::StrCat("a sidecar works on ", dir, ": stop it first"));
    }
  }
  return absl::OkStatus();
}

// Reads the old segments and then writes the new ones.
class Compaction : public LogVisitor {
 public:
  Compaction(const config::v1::LogCompactOptions& options,
             const std::vector<std::string>& paths)
      : options_(options),
        num_paths_(paths.size()),
        sorter_(options.memory_mb() << 20, options.scratch().empty()
                                               ? DefaultScratchDirectory()
                                               : options.scratch()),
        seen_(paths) {}

  void BeginSegment(const std::string& path) override {
    path_ = path;
    has_header_ = false;
  }

  absl::Status Record(const log::v1::LogRecord& record,
                      const ScannedFrame& frame) override {
    if (record.has_header()) return TakeHeader(record.header());
    if (record.has_footer()) {
      result_.torn_bytes += record.footer().torn_bytes();
      return absl::OkStatus();
    }
    if (record.has_tuple()) return TakeTuple(record.tuple(), frame.payload);
    // Their places are not those of the old segments any more.
    if (IsErasedPayload(frame.payload) || record.has_progress()) {
      return absl::OkStatus();
    }
    // Marks of what the log lacks: few.
    others_.emplace_back(frame.payload);
    ++result_.other_records;
    return absl::OkStatus();
  }

  absl::Status Corrupt(uint64_t offset, uint64_t) override {
    const std::string what = absl::StrCat(path_, " is damaged at ", offset);
    if (!options_.skip_damage()) {
      return absl::DataLossError(
          absl::StrCat(what, "; --skip_damage leaves such records out"));
    }
    LogWarning(what);
    ++result_.damaged_records;
    return absl::OkStatus();
  }

  absl::Status EndSegment(const SegmentEnd& end) override {
    if (!has_header_) RETURN_IF_ERROR(Corrupt(0, end.bytes));
    result_.torn_bytes += end.torn_bytes;
    ++result_.segments_read;
    return absl::OkStatus();
  }

  absl::StatusOr<CompactResult> Write(const std::vector<std::string>& dirs) {
    if (result_.segments_read < num_paths_) {
      return absl::FailedPreconditionError(
          absl::StrCat(num_paths_ - result_.segments_read, " of ", num_paths_,
                       " segments were removed while others were read"));
    }
    SegmentBatch::Options batch_options;
    batch_options.dir = options_.out();
    batch_options.writer_id = kWriter;
    batch_options.kind = SegmentHeader::TUPLES;
    batch_options.segment_bytes = options_.segment_bytes();
    batch_options.compress = options_.compress();
    batch_options.created_us = newest_us_;
    batch_options.options_text = absl::StrCat(
        "# log compact --by=", options_.by(), " of ", result_.segments_read,
        " segments, the last one with these options:\n", join_.options_text());
    ASSIGN_OR_RETURN(const std::unique_ptr<SegmentBatch> batch,
                     SegmentBatch::Create(batch_options));
    Progress progress("writing", "tuples", result_.tuples);
    for (const std::string& payload : others_) {
      RETURN_IF_ERROR(batch->Append(payload));
    }
    const auto append = [&](absl::string_view, absl::string_view payload) {
      progress.Add(1);
      return batch->Append(payload);
    };
    RETURN_IF_ERROR(sorter_.Drain(append));
    // A sidecar that began meanwhile may have cut what was read.
    RETURN_IF_ERROR(CheckNoSidecar(dirs));
    RETURN_IF_ERROR(batch->Publish());
    result_.segments_written = batch->num_segments();
    return result_;
  }

 private:
  absl::Status TakeHeader(const SegmentHeader& header) {
    has_header_ = true;
    if (header.kind() != SegmentHeader::TUPLES) {
      return absl::FailedPreconditionError(absl::StrCat(
          path_, " is of kind ", SegmentHeader::Kind_Name(header.kind()),
          ": must be TUPLES"));
    }
    newest_us_ = std::max(newest_us_, header.created_time_us());
    return join_.Take(path_, header.options());
  }

  absl::Status TakeTuple(const BanditTuple& tuple, absl::string_view payload) {
    if (!seen_.Insert(tuple)) {
      ++result_.copies;
      return absl::OkStatus();
    }
    ++result_.tuples;
    return sorter_.Add(SortKey(tuple, options_.by() == "unit"), payload);
  }

  const config::v1::LogCompactOptions& options_;
  const size_t num_paths_;
  RecordSorter sorter_;
  SourceJoin join_;
  SeenTuples seen_;
  std::vector<std::string> others_;
  CompactResult result_;
  int64_t newest_us_ = 0;  // When the newest segment was created.
  std::string path_;       // Of the segment that is read.
  bool has_header_ = false;
};

}  // namespace

absl::StatusOr<CompactResult> CompactLog(
    const config::v1::LogCompactOptions& options,
    const std::vector<std::string>& entries) {
  ASSIGN_OR_RETURN(const std::vector<std::string> dirs,
                   ExpandLogEntries(entries));
  RETURN_IF_ERROR(CheckNoSidecar(dirs));
  // Each once, whatever leads to it.
  ASSIGN_OR_RETURN(const std::vector<std::string> paths, FindSegments(dirs));
  if (paths.empty()) {
    return absl::NotFoundError("there are no segments to compact");
  }
  Compaction compaction(options, paths);
  RETURN_IF_ERROR(ScanSegments(paths, &compaction, "reading tuples"));
  return compaction.Write(dirs);
}

}  // namespace sortition
