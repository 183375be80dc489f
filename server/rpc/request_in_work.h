#pragma once
// A request from its arrival until it may be answered: the one way that those
// of unary calls and those of streams take.
//
//   Arrive() ─ refused ────────────────────────────────────────► Answer()
//      └► waits ─ TakeUp() ─ decided, or refused ──────────────► Answer()
//                    ├ long: pool ─ Run() ─ decided ─ returned ► Answer()
//                    │                         ▼
//                    └────► waits for the disk ─ returned ─────► Answer()
//
// All of it in the thread of its queue, but for Run() and OnSynced(), which end
// by giving the request back: whoever has it is the only one to touch it.
#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "google/protobuf/message.h"
#include "io/spool/spool_writer.h"
#include "process/tracing/tracer.h"
#include "server/admission/admission.h"
#include "server/admission/call_pool.h"
#include "server/admission/waiting_calls.h"
#include "server/decisions/decision_scratch.h"
#include "server/decisions/request_trace.h"
#include "server/identity/authorizer.h"
#include "server/rpc/call_queue.h"
#include "server/rpc/connections/connection_table.h"
#include "server/rpc/drain_state.h"
#include "server/rpc/request_log.h"
#include "server/rpc/rpc_metrics.h"

namespace sortition {

// What the requests of one method share.
struct RpcMethod {
  CallPool* pool = nullptr;  // For requests that are large or take long.
  const config::v1::RequestLimits* limits = nullptr;
  RpcMetrics* metrics = nullptr;
  RequestLog* log = nullptr;
  const Authorizer* authorizer = nullptr;  // Null: everybody may call.
  Role role = Role::kDecide;               // What the method is for.
  Admission* admission = nullptr;
  DrainState* drain = nullptr;
  Tracer* tracer = nullptr;  // Null: requests are not traced.
  std::string full_name;     // As in "sortition.v1.Ranking/Rank".
  // Requests of more bytes are parsed in the pool. Smaller ones cannot take
  // much memory either, however many entries they have.
  size_t large_bytes = 128 << 10;
  // Every request takes long. Where only some do, the method itself says so
  // (DecisionScratch::long_seconds).
  bool is_long = false;
  // Small requests are answered at once and to everybody, whatever waits; large
  // ones are refused.
  bool is_never_refused = false;
  // What the pool's calls of this method took; guarded by the pool.
  mutable RecentMean pace;
};

// The memory of requests above this size is given back at once.
inline constexpr size_t kKeptBytes = 1 << 16;

class RequestInWork : public CompletionEvent,
                      private QueuedCall,
                      private SpoolWaiter,
                      private PooledCall {
 public:
  // Comes back from the spool or from the pool.
  void Proceed(bool ok) final;

 protected:
  // Both must outlive it.
  RequestInWork(const RpcMethod* method, CallQueue* queue)
      : method_(method), queue_(queue) {}

  // `payload_` has come, of a caller who is known, if `status` is OK. Ends with
  // a call of Answer(), now or later.
  void Arrive(absl::Status status);
  // The answer, or the error, is given away, or never will be.
  void End() { --queue_->num_calls; }
  // Counts the request, logs it if it was refused or slow, and exports its
  // spans if it is traced.
  void Record(int64_t now);

  // Parses `payload_`, decides and serializes the answer into `answer_`. Called
  // again, in the pool, where scratch->long_seconds says so.
  virtual absl::Status Decide(DecisionScratch* scratch) = 0;
  // It is decided, or refused: `outcome_` and `answer_` are set. Perhaps
  // destroys this.
  virtual void Answer() = 0;
  // It is decided, and waits for the disk. Others may be read.
  virtual void OnSyncing() {}
  // Tells the caller when to try again.
  virtual void HintRetry(int64_t /*milliseconds*/) {}
  virtual const grpc::ServerContext& context() const = 0;
  // Thread-safe.
  virtual bool is_cancelled() const = 0;

  // Reads `payload_`; the entries of a large one are counted before. For use by
  // Decide().
  absl::Status Parse(google::protobuf::Message* request,
                     DecisionScratch* scratch);
  bool is_in_pool() const { return is_in_pool_; }
  size_t bytes() const { return bytes_; }

  const RpcMethod* const method_;
  CallQueue* const queue_;
  grpc::ByteBuffer payload_;
  grpc::ByteBuffer answer_;
  absl::Status outcome_;  // How it ends.

 private:
  void TakeUp() override;
  bool Run(DecisionScratch* scratch) override;
  void OnSynced(const absl::Status& status) override;
  // Refuses what is not even to wait.
  absl::Status Admit();
  // Notes in the trace, if there is one, that Decide() is called now.
  void BeginDecision(DecisionScratch* scratch);
  // Returns false if the pool has no time for it; otherwise it is the pool's.
  bool GiveToPool(double seconds_left, double long_seconds);
  void Release();
  absl::Status Refuse(const Refusal& refusal);
  double SecondsLeft() const;
  // Refuses what nobody waits for any more. Stores the time left in `scratch`.
  absl::Status CheckWanted(DecisionScratch* scratch) const;
  // Refuses what has waited since `start` for longer than it should.
  absl::Status CheckWaited(int64_t start, double most_seconds);
  // Control calls wait as long as their callers do, and small ones are never
  // refused: under overload most of all an operator must be heard.
  bool is_patient() const { return method_->role == Role::kAdmin; }
  bool is_large() const {
    return method_->is_long || bytes_ > method_->large_bytes;
  }

  bool is_in_pool_ = false;
  bool waits_for_disk_ = false;
  // Of the pool and the spool, one is done with it: the other one gives it
  // back.
  std::atomic<bool> is_half_done_{false};
  int64_t start_ = 0;        // When it came.
  int64_t pooled_ = 0;       // When it came to the pool.
  size_t bytes_ = 0;         // Of `payload_`.
  bool has_budget_ = false;  // Has taken them from the budget.
  absl::Status synced_;      // What the spool said.
  int64_t synced_ns_ = 0;    // When it said that.
  // Null: the request is not traced.
  std::unique_ptr<RequestTrace> trace_;
  std::optional<CallMark> mark_;  // While it is in the pool.
};

}  // namespace sortition
