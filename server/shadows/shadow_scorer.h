#pragma once
// Lets versions that do not serve look on: says into the log with which
// probability they would have done what was served, and what they would rather
// have done (ShadowView in log.proto). A thread with low priority asks them; no
// answer waits for it.
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/policies/linear_policy.h"
#include "io/spool/spool_writer.h"
#include "process/metrics.h"
#include "server/models/baseline_agreement.h"
#include "server/models/serving_set.h"
#include "server/shadows/shadow_metrics.h"
#include "server/shadows/shadow_queue.h"

namespace sortition {

// A decision that was logged. References: all must outlive the call.
struct ServedDecision {
  const std::shared_ptr<const ServingSet>& set;
  const std::string& decision_id;
  ActionKind action_kind;
  const PolicyQuery& query;
  std::span<const int32_t> action;
};

// Thread-safe.
class ShadowScorer {
 public:
  // All must outlive it. At most `queue_bytes` wait. `spool` null: nothing is
  // logged, only counted.
  ShadowScorer(uint64_t queue_bytes, SpoolWriter* spool, Metrics* metrics,
               BaselineAgreement* agreement);
  ~ShadowScorer();  // Stop(0)

  // Hands the decision to the shadows that look on at it, if there are any.
  // Never waits: where too many wait already, it is dropped and counted.
  void Offer(const ServedDecision& decision);

  // Of decisions that wait for a shadow, or to be written.
  uint64_t waiting_bytes() const { return waiting_.bytes() + scored_.bytes(); }

  // Finishes what waits, for at most `seconds` or until the one in work is
  // done; drops and counts the rest. Later decisions are dropped.
  void Stop(double seconds);

 private:
  void Score();
  void ScoreJob(ShadowJob* job);
  void Write();
  // Logs and counts the views of a job.
  void WriteJob(ShadowJob* job);
  // Counts a view that was logged.
  void Count(const ShadowJob& job, const log::v1::ShadowView& view);

  SpoolWriter* const spool_;
  BaselineAgreement* const agreement_;
  ShadowMetrics metrics_;
  ShadowQueue waiting_;  // For the shadows.
  // Views to be written. Another thread writes and frees: the lock of the spool
  // and those of the allocator must not be held by a thread that others do not
  // let run.
  ShadowQueue scored_;
  std::atomic<int64_t> stop_at_us_;  // Steady; when to drop what waits.
  PolicyWorkspace workspace_;        // Of the scoring thread.
  std::mutex stop_mutex_;            // Stop() runs once at a time.
  std::thread scorer_;
  std::thread writer_;
};

}  // namespace sortition
