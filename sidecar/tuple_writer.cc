#include "sidecar/tuple_writer.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "io/segments/erased_record.h"
#include "io/segments/parse_message.h"
#include "io/segments/segment.h"
#include "sidecar/spools/record_wire.h"

namespace sortition {
namespace {

using log::v1::SpoolPosition;
using log::v1::SpoolProgress;

// The writers of the output of the only spool; that of one of several has
// "-<writer_id>" behind it.
constexpr char kTupleSequence[] = "tuples";
constexpr char kLateSequence[] = "late";

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
  if (!view.ok() || oldest_segment.empty() ||
      view->kind == log::v1::LogRecord::kProgress) {
    return false;
  }
  const absl::StatusOr<SpoolPosition> position = ViewPosition(view->bytes);
  return position.ok() && position->segment() >= oldest_segment;
}

// Tuples of a decision are in segments that were made after that of the
// decision, as far as the clocks of two machines agree.
constexpr int64_t kMostClockDifferenceUs = int64_t{3600} * 1000000;

}  // namespace

absl::StatusOr<std::unique_ptr<TupleWriter>> TupleWriter::Open(
    const config::v1::SidecarOptions& options, const OutputSpool& spool) {
  std::unique_ptr<TupleWriter> writer(new TupleWriter(spool));
  writer->dir_ = options.tuples();
  SegmentSequence::Options tuples =
      writer->SequenceOptions(options, kTupleSequence);
  tuples.dir = options.tuples();
  tuples.kind = log::v1::SegmentHeader::TUPLES;
  tuples.preallocate_bytes = options.segment_bytes();
  ASSIGN_OR_RETURN(writer->tuples_, SegmentSequence::Open(tuples));
  SegmentSequence::Options late =
      writer->SequenceOptions(options, kLateSequence);
  late.dir = options.tuples() + "/late";
  late.kind = log::v1::SegmentHeader::LATE;
  late.preallocate_bytes =
      std::min(options.segment_bytes(), kLatePreallocateBytes);
  ASSIGN_OR_RETURN(writer->late_, SegmentSequence::Open(late));
  RETURN_IF_ERROR(writer->FindPlace());
  RETURN_IF_ERROR(writer->FindLate(late.dir));
  return writer;
}

std::set<std::string> TupleWriter::SequencesOf(const std::string& kind) const {
  std::set<std::string> sequences = {kind};
  for (const std::string& id : spool_.writer_ids) {
    sequences.insert(absl::StrCat(kind, "-", id));
  }
  return sequences;
}

SegmentSequence::Options TupleWriter::SequenceOptions(
    const config::v1::SidecarOptions& options, const std::string& kind) const {
  std::set<std::string> sequences = SequencesOf(kind);
  SegmentSequence::Options sequence;
  sequence.writer_id = spool_.is_one_of_several ? *sequences.rbegin() : kind;
  sequences.erase(sequence.writer_id);
  sequence.continued.assign(sequences.begin(), sequences.end());
  sequence.can_redo = [oldest =
                           spool_.oldest_segment](absl::string_view payload) {
    return IsInSpool(payload, oldest);
  };
  sequence.segment_bytes = options.segment_bytes();
  sequence.segment_seconds = options.segment_seconds();
  sequence.options_text = options.ShortDebugString();
  return sequence;
}

// The output of the only spool of a sidecar may hold several writers, of which
// some have no segment any more.
bool TupleWriter::IsOfSpool(const SpoolPosition& position) const {
  return !spool_.is_one_of_several || spool_.writer_ids.contains(std::string(
                                          WriterIdOf(position.segment())));
}

bool TupleWriter::IsOfSpool(const SpoolProgress& progress) const {
  SpoolPosition position;
  position.set_segment(progress.done_segment().empty()
                           ? progress.next_segment()
                           : progress.done_segment());
  return !position.segment().empty() && IsOfSpool(position);
}

absl::Status TupleWriter::FindPlace() {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListSegments(dir_));
  const std::set<std::string> sequences = SequencesOf(kTupleSequence);
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    if (!sequences.contains(std::string(WriterIdOf(*name)))) continue;
    log::v1::SegmentHeader header;
    std::optional<SpoolProgress> progress;
    const auto take = [&](const RecordView& record) {
      if (record.kind == log::v1::LogRecord::kProgress) {
        SpoolProgress later;
        if (ParseMessage(record.bytes, &later) && IsOfSpool(later)) {
          progress = std::move(later);
        }
      } else if (record.kind == log::v1::LogRecord::kTuple ||
                 record.kind == kErasedField) {
        const absl::StatusOr<SpoolPosition> position =
            ViewPosition(record.bytes);
        if (position.ok() && IsOfSpool(*position) && !HasPassed(*position)) {
          place_.resume = JustAfter(*position);
        }
      }
    };
    RETURN_IF_ERROR(ReadSegment(absl::StrCat(dir_, "/", *name), &header, take));
    if (IsOfSpool(header.resume()) &&
        IsBefore(place_.resume, header.resume())) {
      place_.resume = header.resume();
    }
    if (!progress.has_value() && header.has_progress() &&
        IsOfSpool(header.progress())) {
      progress = header.progress();
    }
    // That of the newest segment which has one counts.
    if (!place_.progress.has_value()) place_.progress = std::move(progress);
    const bool is_too_old = CreatedTimeOf(*name) + kMostClockDifferenceUs <
                            CreatedTimeOf(spool_.oldest_segment);
    if (!place_.resume.segment().empty() || is_too_old) break;
  }
  return absl::OkStatus();
}

// Reads all late segments: their names do not tell which part of the spool they
// hold if a clock was set back, and they are few and small.
absl::Status TupleWriter::FindLate(const std::string& dir) {
  if (spool_.oldest_segment.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListSegments(dir));
  const std::set<std::string> sequences = SequencesOf(kLateSequence);
  for (const std::string& name : names) {
    if (!sequences.contains(std::string(WriterIdOf(name)))) continue;
    log::v1::SegmentHeader header;
    const auto take = [&](const RecordView& record) {
      if (record.kind != log::v1::LogRecord::kLate &&
          record.kind != kErasedField) {
        return;
      }
      const absl::StatusOr<SpoolPosition> position = ViewPosition(record.bytes);
      if (!position.ok() || position->segment() < spool_.oldest_segment) return;
      late_positions_[position->segment()].insert(position->offset());
    };
    RETURN_IF_ERROR(ReadSegment(absl::StrCat(dir, "/", name), &header, take));
  }
  return absl::OkStatus();
}

bool TupleWriter::HasPassed(const SpoolPosition& position) const {
  return IsBefore(position, place_.resume);
}

absl::Status TupleWriter::WriteTuple(const log::v1::BanditTuple& tuple,
                                     absl::string_view decision,
                                     int64_t now_us) {
  DCHECK(!HasPassed(tuple.position()));
  const std::string prefix = TuplePrefix(tuple, decision.size());
  const std::array<absl::string_view, 2> pieces = {prefix, decision};
  const bool writes_header = !tuples_->has_segment();
  RETURN_IF_ERROR(tuples_->Append(pieces, place_, now_us));
  place_.resume = JustAfter(tuple.position());
  has_unsaved_skips_ = false;
  if (writes_header) has_unsaved_progress_ = false;
  return absl::OkStatus();
}

void TupleWriter::Skip(const SpoolPosition& position) {
  if (HasPassed(position)) return;
  place_.resume = JustAfter(position);
  has_unsaved_skips_ = true;
}

void TupleWriter::SetProgress(SpoolProgress progress) {
  place_.progress = std::move(progress);
  has_unsaved_progress_ = true;
}

// A header has both. On a full disk, progress alone waits: segments of the
// spool must be removable just then. If the process dies meanwhile, the next
// one counts them as missing.
absl::Status TupleWriter::SavePlace(int64_t now_us) {
  if (!has_unsaved_skips_ && !has_unsaved_progress_) return absl::OkStatus();
  absl::Status status;
  if (has_unsaved_skips_ || !tuples_->has_segment()) {
    status = tuples_->Rotate(place_, now_us);
  } else {
    log::v1::LogRecord record;
    *record.mutable_progress() = *place_.progress;
    status = Append(record, tuples_.get(), now_us);
  }
  if (absl::IsResourceExhausted(status) && !has_unsaved_skips_) {
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(status);
  has_unsaved_skips_ = has_unsaved_progress_ = false;
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
  return Append(record, late_.get(), now_us);
}

absl::Status TupleWriter::WriteIncomplete(const log::v1::Incomplete& incomplete,
                                          int64_t now_us) {
  log::v1::LogRecord record;
  *record.mutable_incomplete() = incomplete;
  return Append(record, tuples_.get(), now_us);
}

absl::Status TupleWriter::Append(const log::v1::LogRecord& record,
                                 SegmentSequence* sequence,
                                 int64_t now_us) const {
  const std::string bytes = record.SerializeAsString();
  const std::array<absl::string_view, 1> pieces = {bytes};
  return sequence->Append(pieces, place_, now_us);
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
