#include "sidecar/tuple_writer.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "io/segments/segment.h"
#include "sidecar/record_wire.h"

namespace sortition {
namespace {

using log::v1::SpoolPosition;

// Late feedback is rare and small.
constexpr uint64_t kLatePreallocateBytes = 1 << 18;

bool IsBefore(const SpoolPosition& a, const SpoolPosition& b) {
  return std::forward_as_tuple(a.segment(), a.offset()) <
         std::forward_as_tuple(b.segment(), b.offset());
}

SpoolPosition JustAfter(SpoolPosition position) {
  position.set_offset(position.offset() + 1);
  return position;
}

// Returns whether the spool, of which `oldest_segment` is the oldest one, still
// has what the tuple or late feedback was made of.
bool IsInSpool(absl::string_view payload, const std::string& oldest_segment) {
  const absl::StatusOr<RecordView> view = ViewRecord(payload);
  if (!view.ok() || oldest_segment.empty()) return false;
  const absl::StatusOr<SpoolPosition> position = ViewPosition(view->bytes);
  return position.ok() && position->segment() >= oldest_segment;
}

SegmentSequence::Options SequenceOptions(
    const config::v1::SidecarOptions& options,
    const std::string& oldest_segment) {
  SegmentSequence::Options sequence;
  sequence.can_redo = [oldest_segment](absl::string_view payload) {
    return IsInSpool(payload, oldest_segment);
  };
  sequence.segment_bytes = options.segment_bytes();
  sequence.segment_seconds = options.segment_seconds();
  sequence.options_text = options.ShortDebugString();
  return sequence;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TupleWriter>> TupleWriter::Open(
    const config::v1::SidecarOptions& options,
    const std::string& oldest_segment) {
  std::unique_ptr<TupleWriter> writer(new TupleWriter());
  SegmentSequence::Options tuples = SequenceOptions(options, oldest_segment);
  tuples.dir = options.tuples();
  tuples.writer_id = "tuples";
  tuples.kind = log::v1::SegmentHeader::TUPLES;
  tuples.preallocate_bytes = options.segment_bytes();
  ASSIGN_OR_RETURN(writer->tuples_, SegmentSequence::Open(tuples));
  SegmentSequence::Options late = SequenceOptions(options, oldest_segment);
  late.dir = options.tuples() + "/late";
  late.writer_id = "late";
  late.kind = log::v1::SegmentHeader::LATE;
  late.preallocate_bytes =
      std::min(options.segment_bytes(), kLatePreallocateBytes);
  ASSIGN_OR_RETURN(writer->late_, SegmentSequence::Open(late));
  RETURN_IF_ERROR(writer->FindResume(tuples.dir));
  RETURN_IF_ERROR(writer->FindLate(late.dir, oldest_segment));
  return writer;
}

absl::Status TupleWriter::FindResume(const std::string& dir) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListSegments(dir));
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    log::v1::SegmentHeader header;
    const auto take = [this](const RecordView& record) {
      if (record.kind != log::v1::LogRecord::kTuple) return;
      const absl::StatusOr<SpoolPosition> position = ViewPosition(record.bytes);
      if (position.ok() && !HasPassed(*position))
        resume_ = JustAfter(*position);
    };
    RETURN_IF_ERROR(ReadSegment(absl::StrCat(dir, "/", *name), &header, take));
    if (IsBefore(resume_, header.resume())) resume_ = header.resume();
    if (!resume_.segment().empty()) break;
  }
  return absl::OkStatus();
}

// Reads all late segments: their names do not tell which part of the spool they
// hold if a clock was set back, and they are few and small.
absl::Status TupleWriter::FindLate(const std::string& dir,
                                   const std::string& oldest_segment) {
  if (oldest_segment.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListSegments(dir));
  for (const std::string& name : names) {
    log::v1::SegmentHeader header;
    const auto take = [&](const RecordView& record) {
      if (record.kind != log::v1::LogRecord::kLate) return;
      const absl::StatusOr<SpoolPosition> position = ViewPosition(record.bytes);
      if (!position.ok() || position->segment() < oldest_segment) return;
      late_positions_[position->segment()].insert(position->offset());
    };
    RETURN_IF_ERROR(ReadSegment(absl::StrCat(dir, "/", name), &header, take));
  }
  return absl::OkStatus();
}

bool TupleWriter::HasPassed(const SpoolPosition& position) const {
  return IsBefore(position, resume_);
}

absl::Status TupleWriter::WriteTuple(const log::v1::BanditTuple& tuple,
                                     absl::string_view decision,
                                     int64_t now_us) {
  DCHECK(!HasPassed(tuple.position()));
  const std::string prefix = TuplePrefix(tuple, decision.size());
  const std::array<absl::string_view, 2> pieces = {prefix, decision};
  RETURN_IF_ERROR(tuples_->Append(pieces, resume_, now_us));
  resume_ = JustAfter(tuple.position());
  has_unsaved_skips_ = false;
  return absl::OkStatus();
}

void TupleWriter::Skip(const SpoolPosition& position) {
  if (HasPassed(position)) return;
  resume_ = JustAfter(position);
  has_unsaved_skips_ = true;
}

absl::Status TupleWriter::SaveSkips(int64_t now_us) {
  if (!has_unsaved_skips_) return absl::OkStatus();
  RETURN_IF_ERROR(tuples_->Rotate(resume_, now_us));
  has_unsaved_skips_ = false;
  return absl::OkStatus();
}

bool TupleWriter::HasLate(const SpoolPosition& position) const {
  const auto it = late_positions_.find(position.segment());
  return it != late_positions_.end() && it->second.contains(position.offset());
}

absl::Status TupleWriter::WriteLate(const log::v1::LateFeedback& late,
                                    int64_t now_us) {
  log::v1::LogRecord record;
  *record.mutable_late() = late;
  const std::string bytes = record.SerializeAsString();
  const std::array<absl::string_view, 1> pieces = {bytes};
  return late_->Append(pieces, resume_, now_us);
}

absl::Status TupleWriter::RotateByAge(int64_t now_us) {
  RETURN_IF_ERROR(tuples_->RotateByAge(now_us));
  return late_->RotateByAge(now_us);
}

absl::Status TupleWriter::Sync() {
  RETURN_IF_ERROR(tuples_->Sync());
  return late_->Sync();
}

absl::Status TupleWriter::Close() {
  RETURN_IF_ERROR(tuples_->Close());
  return late_->Close();
}

}  // namespace sortition
