#include <algorithm>

#include "absl/strings/str_cat.h"
#include "client/upkeep/upkeep_commands.h"
#include "core/base/status_macros.h"
#include "io/clocks.h"
#include "io/segments/log_paths.h"
#include "io/segments/parse_message.h"
#include "io/segments/segment.h"
#include "io/upkeep/stored_segments.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {
namespace {

using log::v1::SegmentHeader;

// Fails unless the segment was written by a sidecar or another tool: what is in
// a spool may not have been joined yet.
absl::Status CheckIsOutput(const std::string& path) {
  ASSIGN_OR_RETURN(const auto reader, SegmentReader::Open(path));
  absl::string_view payload;
  uint64_t offset = 0;
  ASSIGN_OR_RETURN(const auto outcome, reader->Next(&payload, &offset));
  log::v1::LogRecord record;
  if (outcome == SegmentReader::Outcome::kRecord &&
      ParseMessage(payload, &record) &&
      (record.header().kind() == SegmentHeader::TUPLES ||
       record.header().kind() == SegmentHeader::LATE)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat(path,
                   " is no segment of kind TUPLES or LATE; only these "
                   "may be removed, and none was"));
}

}  // namespace

absl::Status RunLogPrune(const config::v1::LogPruneOptions& options,
                         const std::vector<std::string>& positional,
                         CommandOutput* output) {
  StorageLimits limits;
  limits.bytes = options.to_bytes();
  if (options.older_than_seconds() > 0) {
    limits.followed_from_us =
        std::max<int64_t>(0, NowUs() - Micros(options.older_than_seconds()));
  }
  if (limits.bytes == 0 && limits.followed_from_us == 0) {
    return UsageError("needs --older_than_seconds or --to_bytes");
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> dirs,
                   ExpandLogEntries(positional));
  std::vector<StoredSegment> chosen;
  for (const std::string& dir : dirs) {
    ASSIGN_OR_RETURN(const std::vector<StoredSegment> all,
                     ListStoredWithLate(dir));
    for (StoredSegment& segment : ChooseForRemoval(all, limits)) {
      chosen.push_back(std::move(segment));
    }
  }
  for (const StoredSegment& segment : chosen) {
    RETURN_IF_ERROR(CheckIsOutput(segment.path));
  }
  uint64_t bytes = 0;
  for (const StoredSegment& segment : chosen) {
    if (!options.dry_run()) RETURN_IF_ERROR(RemoveStored(segment));
    output->out << segment.path << " " << segment.bytes << " bytes\n";
    bytes += segment.bytes;
  }
  output->out << chosen.size() << " segments, " << bytes << " bytes "
              << (options.dry_run() ? "would be removed" : "removed") << "\n";
  return absl::OkStatus();
}

}  // namespace sortition
