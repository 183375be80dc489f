#include "sidecar/upkeep/tuple_keeper.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/status_macros.h"
#include "io/clocks.h"
#include "io/upkeep/stored_segments.h"
#include "io/upkeep/upkeep_lock.h"
#include "process/log.h"

namespace sortition {
namespace {

using config::v1::SidecarOptions;

// After a failure nothing is compressed for so long: on a full disk each try
// would do the work of a whole segment in vain. Nor is another failure logged.
constexpr int64_t kPauseUs = 60 * 1000000;

bool IsPause(std::optional<int64_t> since_us, int64_t now_us) {
  return since_us.has_value() && now_us >= *since_us &&
         now_us < *since_us + kPauseUs;
}

}  // namespace

TupleKeeper::TupleKeeper(const SidecarOptions& options)
    : options_(options), thread_([this] { Run(); }) {}

TupleKeeper::~TupleKeeper() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_stopping_ = true;
  }
  is_woken_.notify_one();
  thread_.join();
}

bool TupleKeeper::IsNeeded(const SidecarOptions& options) {
  return options.compress() != SidecarOptions::NONE ||
         options.keep_tuples_seconds() > 0 || options.keep_tuples_bytes() > 0;
}

void TupleKeeper::Wake(int64_t now_us) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    wake_us_ = now_us;
  }
  is_woken_.notify_one();
}

TupleKeeperCounts TupleKeeper::counts() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return counts_;
}

void TupleKeeper::Run() {
  while (true) {
    int64_t now_us = 0;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      is_woken_.wait(lock,
                     [this] { return is_stopping_ || wake_us_.has_value(); });
      if (is_stopping_) return;
      now_us = *std::exchange(wake_us_, std::nullopt);
    }
    Report(Work(now_us), now_us);
  }
}

absl::Status TupleKeeper::Work(int64_t now_us) {
  ASSIGN_OR_RETURN(const UpkeepLock lock, UpkeepLock::Take(options_.tuples()));
  // First, because it makes the room that compression needs.
  RETURN_IF_ERROR(RemoveOld(now_us));
  if (options_.compress() == SidecarOptions::NONE ||
      IsPause(failed_us_, now_us)) {
    return absl::OkStatus();
  }
  absl::Status status = Compress();
  failed_us_.reset();
  if (!status.ok()) failed_us_ = now_us;
  return status;
}

absl::Status TupleKeeper::Compress() {
  ASSIGN_OR_RETURN(const std::vector<StoredSegment> segments,
                   ListStored(options_.tuples()));
  CompressionCounts done;
  absl::Status status = CompressStored(
      segments, [this] { return is_stopping_.load(); }, &done);
  const std::lock_guard<std::mutex> lock(mutex_);
  counts_.compressed_segments += done.segments;
  counts_.bytes_before += done.bytes_before;
  counts_.bytes_after += done.bytes_after;
  return status;
}

absl::Status TupleKeeper::RemoveOld(int64_t now_us) {
  StorageLimits limits;
  limits.bytes = options_.keep_tuples_bytes();
  if (options_.keep_tuples_seconds() > 0) {
    limits.followed_from_us =
        std::max<int64_t>(0, now_us - Micros(options_.keep_tuples_seconds()));
  }
  if (limits.bytes == 0 && limits.followed_from_us == 0) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::vector<StoredSegment> all,
                   ListStoredWithLate(options_.tuples()));
  for (const StoredSegment& segment : ChooseForRemoval(all, limits)) {
    RETURN_IF_ERROR(RemoveStored(segment));
    LogInfo("removed a segment of the output",
            {{"file", segment.path}, {"bytes", segment.bytes}});
    const std::lock_guard<std::mutex> lock(mutex_);
    ++counts_.removed_segments;
    counts_.removed_bytes += segment.bytes;
    counts_.removed_began_us =
        std::max(counts_.removed_began_us, segment.began_us);
  }
  return absl::OkStatus();
}

void TupleKeeper::Report(const absl::Status& status, int64_t now_us) {
  if (status.ok() || absl::IsCancelled(status)) return;
  if (!IsPause(reported_us_, now_us)) {
    LogError("closed segments cannot be compressed or removed",
             {{"error", std::string(status.message())}});
    reported_us_ = now_us;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  ++counts_.failures;
}

}  // namespace sortition
