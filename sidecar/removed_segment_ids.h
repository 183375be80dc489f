#pragma once
// The ids of spool segments that were removed. They outlive the segments, so
// that a restarted sidecar recognises duplicates as if the segments were there.
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sidecar/join/join_records.h"

namespace sortition {

// One file per removed segment, <dir>/<segment>.ids, with the hashes and times
// of its ids. Not thread-safe.
class RemovedSegmentIds {
 public:
  // Load() makes `dir` if it is missing.
  explicit RemovedSegmentIds(std::string dir) : dir_(std::move(dir)) {}

  // Returns the ids of all removed segments, oldest first. `present` names the
  // segments of the spool, sorted: their files are dropped, because the
  // segments can be read again. A damaged file is logged and skipped.
  absl::StatusOr<std::vector<RememberedId>> Load(
      const std::vector<std::string>& present);

  // Stores the ids of a segment; they are on the disk when it returns. On a
  // full disk they take the place of a reserved file: segments must be
  // removable just then.
  absl::Status Add(const std::string& segment,
                   const std::vector<RememberedId>& ids);

  // Returns the latest time of an id of this writer's removed segments; 0 if
  // there is none.
  int64_t LatestTimeOf(absl::string_view writer_id) const;

  // Drops the files whose ids are all older than `time_us`.
  absl::Status DropBefore(int64_t time_us);

 private:
  absl::Status UseReserve(const std::string& path, absl::string_view bytes);
  // Makes the reserved file if there is none and the disk has room for it.
  void Reserve();
  absl::Status Drop(const std::string& segment);
  std::string PathOf(const std::string& segment) const {
    return dir_ + "/" + segment + ".ids";
  }

  const std::string dir_;
  std::map<std::string, int64_t> last_time_us_;  // Latest id by segment.
  bool is_reserved_ = false;
};

}  // namespace sortition
