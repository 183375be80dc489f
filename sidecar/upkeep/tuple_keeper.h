#pragma once
// Looks after what a sidecar has written: compresses closed tuple segments, and
// removes tuple and late segments that are too old or too many.
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "sortition/config/v1/sidecar.pb.h"

namespace sortition {

// Since the process started.
struct TupleKeeperCounts {
  uint64_t compressed_segments = 0;
  uint64_t bytes_before = 0;
  uint64_t bytes_after = 0;
  uint64_t removed_segments = 0;
  uint64_t removed_bytes = 0;
  // When the newest of the removed segments began, microseconds since the
  // epoch; 0: none was removed.
  int64_t removed_began_us = 0;
  uint64_t failures = 0;  // Rounds that ended with an error.
};

// Works in a thread of its own, so that the join never waits for it. Touches no
// segment that is the newest of its writer. May die at any time.
class TupleKeeper {
 public:
  explicit TupleKeeper(const config::v1::SidecarOptions& options);
  // Gives up the work of the moment and ends the thread.
  ~TupleKeeper();
  TupleKeeper(const TupleKeeper&) = delete;
  TupleKeeper& operator=(const TupleKeeper&) = delete;

  // Returns whether the options leave anything to do.
  static bool IsNeeded(const config::v1::SidecarOptions& options);

  // Has the thread work one round, now or when it is done with the last one.
  void Wake(int64_t now_us);
  TupleKeeperCounts counts() const;

 private:
  void Run();
  absl::Status Work(int64_t now_us);
  absl::Status Compress();
  absl::Status RemoveOld(int64_t now_us);
  void Report(const absl::Status& status, int64_t now_us);

  const config::v1::SidecarOptions options_;
  std::atomic<bool> is_stopping_{false};
  mutable std::mutex mutex_;
  std::condition_variable is_woken_;
  std::optional<int64_t> wake_us_;      // Guarded by mutex_.
  TupleKeeperCounts counts_;            // Guarded by mutex_.
  std::optional<int64_t> failed_us_;    // When compression failed.
  std::optional<int64_t> reported_us_;  // When a failure was logged.
  std::thread thread_;
};

}  // namespace sortition
