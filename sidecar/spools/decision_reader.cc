#include "sidecar/spools/decision_reader.h"

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "sidecar/spools/record_wire.h"

namespace sortition {
namespace {

// Reading on over so many bytes is cheaper than a new read-ahead elsewhere.
constexpr uint64_t kSkipBytes = 1 << 20;

}  // namespace

absl::StatusOr<absl::string_view> DecisionReader::Read(const std::string& path,
                                                       uint64_t offset) {
  if (reader_ == nullptr || path != path_) {
    reader_.reset();
    ASSIGN_OR_RETURN(reader_, SegmentReader::Open(path));
    path_ = path;
  }
  if (reader_->offset() > offset || reader_->offset() + kSkipBytes < offset) {
    reader_->Seek(offset);
  }
  while (true) {
    absl::string_view payload;
    uint64_t at = 0;
    ASSIGN_OR_RETURN(const SegmentReader::Outcome outcome,
                     reader_->Next(&payload, &at));
    const bool is_record = outcome == SegmentReader::Outcome::kRecord;
    const bool can_go_on =
        is_record || outcome == SegmentReader::Outcome::kCorrupt;
    if (can_go_on && at < offset) continue;
    if (is_record && at == offset) {
      const absl::StatusOr<RecordView> view = ViewRecord(payload);
      if (view.ok() && view->kind == kind_) {
        return view->bytes;
      }
    }
    return absl::DataLossError(absl::StrCat(
        path, ": no ",
        kind_ == log::v1::LogRecord::kDecision ? "decision" : "shadow view",
        " at offset ", offset));
  }
}

}  // namespace sortition
