// Group commit: the rate of appends that wait for a sync.
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/log/log_bench.h"
#include "bench/support/clocks.h"
#include "bench/support/spools.h"
#include "bench/support/statistics.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

// Appends records so that always `waiting` of them wait for a sync, as the
// thread of a server does.
class WaitingLoad {
 public:
  WaitingLoad(SpoolWriter* spool, const Record& record, int waiting)
      : spool_(spool), record_(record), due_(waiting) {}

  // Returns the records per second that were answered.
  double Run(double seconds) {
    AppendDue();  // Those that were answered before the start do not count.
    const double start = WallSeconds();
    uint64_t answered = 0;
    while (WallSeconds() < start + seconds) {
      answered += static_cast<uint64_t>(AppendDue());
    }
    return static_cast<double>(answered) / (WallSeconds() - start);
  }

 private:
  class Slot final : public SpoolWaiter {
   public:
    explicit Slot(WaitingLoad* load) : load_(load) {}
    void OnSynced(const absl::Status& status) override {
      CHECK(status.ok());
      const std::lock_guard lock(load_->mutex_);
      ++load_->due_;
      load_->changed_.notify_one();
    }

   private:
    WaitingLoad* const load_;
  };

  int AppendDue() {
    int due = 0;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return due_ > 0; });
      due = std::exchange(due_, 0);
    }
    for (int i = 0; i < due; ++i) {
      const auto waits =
          spool_->AppendDecision(record_.decision, record_.features, &slot_);
      CHECK(waits.ok() && *waits);
    }
    return due;
  }

  SpoolWriter* const spool_;
  const Record& record_;
  Slot slot_{this};
  std::mutex mutex_;
  std::condition_variable changed_;
  int due_;  // Guarded by `mutex_`.
};

// Returns the records per second of a loop that writes `batch` of them and
// syncs.
double PlainSyncRate(const std::string& frame, int batch, double seconds,
                     PlainFiles* files) {
  const double start = WallSeconds();
  uint64_t written = 0;
  while (WallSeconds() < start + seconds) {
    for (int i = 0; i < batch; ++i) files->Write(frame);
    files->Sync();
    written += static_cast<uint64_t>(batch);
  }
  return static_cast<double>(written) / (WallSeconds() - start);
}

}  // namespace

absl::StatusOr<std::vector<Target>> MeasureSyncs(
    const SyncBenchOptions& options) {
  const Record record = MakeRecord();
  const std::string frame = FrameOf(record);
  const auto& [dir, rounds, waiting, seconds] = options;
  ASSIGN_OR_RETURN(const auto spool,
                   OpenSpool(dir, config::v1::SpoolOptions::POWER));
  PlainFiles files(dir);
  WaitingLoad load(spool.get(), record, waiting);
  Rounds to_single;
  Rounds to_batch;
  std::vector<double> singles;
  std::vector<double> batches;
  for (int round = -1; round < rounds; ++round) {
    const double single = PlainSyncRate(frame, 1, seconds, &files);
    const double batch = PlainSyncRate(frame, waiting, seconds, &files);
    const double shared = load.Run(seconds);
    RemoveClosedSegments(dir);
    if (round < 0) continue;
    singles.push_back(single);
    batches.push_back(batch);
    to_single.Add(shared, single);
    to_batch.Add(shared, batch);
  }
  RETURN_IF_ERROR(spool->Close());
  RemoveClosedSegments(dir);
  absl::PrintF(
      "records per second, each on the disk; ratio: median (lowest - highest)\n"
      "  %-38s %10.0f\n  %-38s %10.0f\n  %-38s %s\n  %-38s %s\n",
      "write and fdatasync, one by one", MedianOf(singles),
      absl::StrCat("write ", waiting, ", then fdatasync"), MedianOf(batches),
      absl::StrCat("POWER, ", waiting, " waiting, / one by one"),
      to_single.Text(), "the same / writes of as many", to_batch.Text());
  return std::vector<Target>{
      {"POWER, records per second, / write and fdatasync one by one",
       to_single.Ratio(), 0.8, true},
      {"POWER, records per second, / as many writes per fdatasync",
       to_batch.Ratio(), 0.8, true}};
}

}  // namespace sortition
