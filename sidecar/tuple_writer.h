#pragma once
// The sidecar's output: tuple segments in <dir>, late segments in <dir>/late.
// Knows what earlier processes have written, so that nothing is written twice.
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
  // `oldest_segment` names the oldest segment of the spool; empty: none.
  // Recovers torn tails of a dead writer.
  static absl::StatusOr<std::unique_ptr<TupleWriter>> Open(
      const config::v1::SidecarOptions& options,
      const std::string& oldest_segment);

  // True when the decision at `position` came before or at the last one that
  // was written. Tuples are written in the order of the spool.
  bool HasPassed(const log::v1::SpoolPosition& position) const;
  // `tuple` lacks its decision, which is appended as it stands: `decision` is a
  // serialised Decision. Requires !HasPassed(tuple.position()).
  absl::Status WriteTuple(const log::v1::BanditTuple& tuple,
                          absl::string_view decision, int64_t now_us);

  bool HasLate(const log::v1::SpoolPosition& position) const;
  absl::Status WriteLate(const log::v1::LateFeedback& late, int64_t now_us);

  absl::Status RotateByAge(int64_t now_us);
  // All that was written is on the disk when it returns.
  absl::Status Sync();
  // Sync, with footers. Without it all is left as a dead process leaves it.
  absl::Status Close();

  // Cut from the ends of its own segments at Open().
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
  log::v1::SpoolPosition resume_;  // All decisions before it are written.
  // Offsets of late feedback by segment, from earlier processes.
  std::map<std::string, absl::flat_hash_set<uint64_t>> late_positions_;
};

}  // namespace sortition
