#include "client/upkeep/log_compact.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/upkeep/source_join.h"
#include "core/base/status_macros.h"
#include "io/record_sorter.h"
#include "io/scratch_file.h"
#include "io/segments/log_paths.h"
#include "io/segments/parse_message.h"
#include "io/segments/segment.h"
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

class Compaction {
 public:
  explicit Compaction(const config::v1::LogCompactOptions& options)
      : options_(options),
        sorter_(options.memory_mb() << 20, options.scratch().empty()
                                               ? DefaultScratchDirectory()
                                               : options.scratch()) {}

  absl::Status ReadAll(const std::vector<std::string>& dirs) {
    // Each once, whatever leads to it.
    ASSIGN_OR_RETURN(const std::vector<std::string> paths, FindSegments(dirs));
    Progress progress("reading", "segments", paths.size());
    for (const std::string& path : paths) {
      RETURN_IF_ERROR(Read(path));
      progress.Add(1);
    }
    if (result_.segments_read == 0) {
      return absl::NotFoundError("there are no segments to compact");
    }
    return absl::OkStatus();
  }

  absl::StatusOr<CompactResult> Write(const std::vector<std::string>& dirs) {
    SegmentBatch::Options batch_options;
    batch_options.dir = options_.out();
    batch_options.writer_id = kWriter;
    batch_options.kind = SegmentHeader::TUPLES;
    batch_options.segment_bytes = options_.segment_bytes();
    batch_options.compress = options_.compress();
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
  absl::Status Read(const std::string& path) {
    ASSIGN_OR_RETURN(const auto reader, SegmentReader::Open(path));
    bool has_header = false;
    while (true) {
      absl::string_view payload;
      uint64_t offset = 0;
      ASSIGN_OR_RETURN(const auto outcome, reader->Next(&payload, &offset));
      if (outcome == SegmentReader::Outcome::kEnd ||
          outcome == SegmentReader::Outcome::kIncomplete) {
        break;
      }
      if (outcome == SegmentReader::Outcome::kCorrupt ||
          !ParseMessage(payload, &record_)) {
        RETURN_IF_ERROR(TakeDamage(path, offset));
        continue;
      }
      if (record_.has_header()) {
        has_header = true;
        RETURN_IF_ERROR(TakeHeader(path));
      } else if (!record_.has_footer()) {
        RETURN_IF_ERROR(TakeRecord(payload));
      }
    }
    if (!has_header) RETURN_IF_ERROR(TakeDamage(path, 0));
    ++result_.segments_read;
    return absl::OkStatus();
  }

  absl::Status TakeDamage(const std::string& path, uint64_t offset) {
    const std::string what = absl::StrCat(path, " is damaged at ", offset);
    if (!options_.skip_damage()) {
      return absl::DataLossError(
          absl::StrCat(what, "; --skip_damage leaves such records out"));
    }
    LogWarning(what);
    ++result_.damaged_records;
    return absl::OkStatus();
  }

  absl::Status TakeHeader(const std::string& path) {
    if (record_.header().kind() != SegmentHeader::TUPLES) {
      return absl::FailedPreconditionError(
          absl::StrCat(path, " is of kind ",
                       SegmentHeader::Kind_Name(record_.header().kind()),
                       ": must be TUPLES"));
    }
    return join_.Take(path, record_.header().options());
  }

  absl::Status TakeRecord(absl::string_view payload) {
    if (record_.has_tuple()) {
      ++result_.tuples;
      return sorter_.Add(SortKey(record_.tuple(), options_.by() == "unit"),
                         payload);
    }
    // Marks of what the log lacks: few.
    others_.emplace_back(payload);
    ++result_.other_records;
    return absl::OkStatus();
  }

  const config::v1::LogCompactOptions& options_;
  RecordSorter sorter_;
  SourceJoin join_;
  std::vector<std::string> others_;
  CompactResult result_;
  log::v1::LogRecord record_;
};

}  // namespace

absl::StatusOr<CompactResult> CompactLog(
    const config::v1::LogCompactOptions& options,
    const std::vector<std::string>& dirs) {
  RETURN_IF_ERROR(CheckNoSidecar(dirs));
  Compaction compaction(options);
  RETURN_IF_ERROR(compaction.ReadAll(dirs));
  return compaction.Write(dirs);
}

}  // namespace sortition
