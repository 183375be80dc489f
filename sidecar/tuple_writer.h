#pragma once
// The sidecar's output: tuple segments in <dir>, late segments in <dir>/late.
// Knows what earlier processes wrote, so that nothing is written twice.
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sidecar/segment_sequence.h"
#include "sortition/config/v1/sidecar.pb.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// Not thread-safe.
class TupleWriter {
 public:
  // Recovers the torn segments of a dead writer. `oldest_segment` names the
  // oldest segment of the spool; empty: the spool has none.
  static absl::StatusOr<std::unique_ptr<TupleWriter>> Open(
      const config::v1::SidecarOptions& options,
      const std::string& oldest_segment);

  // Returns true if the decision at `position` is the last one that was written
  // or comes before it. Tuples are written in the order of the spool.
  bool HasPassed(const log::v1::SpoolPosition& position) const;
  // Writes `tuple`, which lacks its decision, with the serialised Decision
  // `decision` appended unchanged. Requires !HasPassed(tuple.position()).
  absl::Status WriteTuple(const log::v1::BanditTuple& tuple,
                          absl::string_view decision, int64_t now_us);

  // Says that the decision at `position` gets no tuple.
  void Skip(const log::v1::SpoolPosition& position);
  // Writes down what Skip() said since the last tuple, if anything.
  absl::Status SaveSkips(int64_t now_us);

  // Returns true if an earlier process wrote the late feedback at `position`.
  bool HasLate(const log::v1::SpoolPosition& position) const;
  absl::Status WriteLate(const log::v1::LateFeedback& late, int64_t now_us);

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
  TupleWriter() = default;
  absl::Status FindResume(const std::string& dir);
  absl::Status FindLate(const std::string& dir,
                        const std::string& oldest_segment);

  std::unique_ptr<SegmentSequence> tuples_;
  std::unique_ptr<SegmentSequence> late_;
  log::v1::SpoolPosition resume_;  // All decisions before it have been written.
  bool has_unsaved_skips_ = false;
  // Offsets, by segment, of late feedback that earlier processes wrote.
  std::map<std::string, absl::flat_hash_set<uint64_t>> late_positions_;
};

}  // namespace sortition
