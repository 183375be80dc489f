#pragma once
// The output for one spool: tuple segments in <dir>, late segments in
// <dir>/late. Knows what earlier processes wrote, so that nothing is written
// twice.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sidecar/segment_sequence.h"
#include "sortition/config/v1/sidecar.pb.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// What an output is made of.
struct OutputSpool {
  std::string oldest_segment;  // Its name; empty: the spool has none.
  std::set<std::string> writer_ids;
  // The output has the name of the spool's only writer, because those of other
  // spools are in the same directory.
  bool is_one_of_several = false;
};

// Not thread-safe.
class TupleWriter {
 public:
  // Recovers the torn segments of a dead writer. Continues what was written for
  // the spool when it was the only one, or one of several.
  static absl::StatusOr<std::unique_ptr<TupleWriter>> Open(
      const config::v1::SidecarOptions& options, const OutputSpool& spool);

  // Returns true if the decision at `position` is the last one that was written
  // or comes before it. Tuples are written in the order of the spool.
  bool HasPassed(const log::v1::SpoolPosition& position) const;
  // Writes `tuple`, which lacks its decision, with the serialised Decision
  // `decision` appended unchanged. Requires !HasPassed(tuple.position()).
  absl::Status WriteTuple(const log::v1::BanditTuple& tuple,
                          absl::string_view decision, int64_t now_us);

  // Says that the decision at `position` gets no tuple.
  void Skip(const log::v1::SpoolPosition& position);
  // How far the spool is done, as earlier processes or SetProgress() said.
  // Nothing if it is not known.
  const std::optional<log::v1::SpoolProgress>& progress() const {
    return place_.progress;
  }
  void SetProgress(log::v1::SpoolProgress progress);
  bool has_unsaved_progress() const { return has_unsaved_progress_; }
  // Writes what Skip() and SetProgress() said since the last tuple, if
  // anything.
  absl::Status SavePlace(int64_t now_us);

  // Returns true if an earlier process wrote the late feedback at `position`.
  bool HasLate(const log::v1::SpoolPosition& position) const;
  absl::Status WriteLate(const log::v1::LateFeedback& late, int64_t now_us);

  absl::Status WriteIncomplete(const log::v1::Incomplete& incomplete,
                               int64_t now_us);

  absl::Status RotateByAge(int64_t now_us);
  // All that was written is on the disk when it returns.
  absl::Status Sync();
  // Closes the segments with footers, and syncs. Without it the files stay as a
  // dead process leaves them.
  absl::Status Close();

  // Bytes that Open() cut from the ends of its own segments.
  uint64_t torn_bytes() const {
    return tuples_->torn_bytes() + late_->torn_bytes();
  }

 private:
  explicit TupleWriter(OutputSpool spool) : spool_(std::move(spool)) {}
  // Returns the writer ids of the sequences that hold output of the spool, of
  // those that begin with `kind`.
  std::set<std::string> SequencesOf(const std::string& kind) const;
  SegmentSequence::Options SequenceOptions(
      const config::v1::SidecarOptions& options, const std::string& kind) const;
  bool IsOfSpool(const log::v1::SpoolPosition& position) const;
  bool IsOfSpool(const log::v1::SpoolProgress& progress) const;
  // Finds out what earlier processes wrote.
  absl::Status FindPlace();
  absl::Status Append(const log::v1::LogRecord& record,
                      SegmentSequence* sequence, int64_t now_us) const;
  absl::Status FindLate(const std::string& dir);

  const OutputSpool spool_;
  std::string dir_;
  std::unique_ptr<SegmentSequence> tuples_;
  std::unique_ptr<SegmentSequence> late_;
  OutputPlace place_;  // All decisions before `resume` have been written.
  bool has_unsaved_skips_ = false;
  bool has_unsaved_progress_ = false;
  // Offsets, by segment, of late feedback that earlier processes wrote.
  std::map<std::string, absl::flat_hash_set<uint64_t>> late_positions_;
};

}  // namespace sortition
