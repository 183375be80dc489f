#pragma once
// One call slot of an asynchronous gRPC server: waits for a call, which then
// waits for the queue's thread or is refused, and answers it. Calls that may
// take long are decided in a pool of threads. An answer that must wait until
// its record is on the disk leaves the thread to others meanwhile. Messages,
// their buffers and the thread's scratch memory are reused from call to call.
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/async_unary_call.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/proto_buffer_writer.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "io/spool/spool_writer.h"
#include "server/decisions/decision_recorder.h"
#include "server/decisions/decision_scratch.h"
#include "server/identity/authorizer.h"
#include "server/rpc/admission.h"
#include "server/rpc/call_pool.h"
#include "server/rpc/call_queue.h"
#include "server/rpc/call_slots.h"
#include "server/rpc/request_log.h"
#include "server/rpc/rpc_metrics.h"
#include "server/rpc/status_conversion.h"
#include "server/rpc/waiting_calls.h"
#include "server/rpc/wire_counts.h"

namespace sortition {

// Whether requests are refused, and how many have been.
struct DrainState {
  std::atomic<bool> draining{false};
  std::atomic<uint64_t> refused{0};
  std::atomic<uint64_t> syncing{0};  // Answers that wait for the disk.
};

// One method, shared by its slots. The request arrives as bytes and is parsed
// here, so that an unreadable one is INVALID_ARGUMENT; gRPC's own parsing would
// make it INTERNAL.
template <typename Request, typename Response>
struct UnaryMethod {
  std::function<void(grpc::ServerContext*, grpc::ByteBuffer*,
                     grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>*,
                     grpc::ServerCompletionQueue*, void* tag)>
      ask;
  std::function<absl::Status(const Request&, DecisionScratch*, Response*)>
      handle;
  // Whether a small request may take more than a millisecond; empty: none does.
  std::function<bool(const Request&)> is_long;
  CallPool* pool;  // For requests that are large or long.
  const config::v1::RequestLimits* limits;
  RpcMetrics* metrics;
  RequestLog* log;
  const Authorizer* authorizer;  // Null: everybody may call.
  Role role;                     // What the method is for.
  Admission* admission;
  DrainState* drain;  // Null: the method is never refused.
};

template <typename Request, typename Response>
class UnaryCall final : public CompletionEvent,
                        private QueuedCall,
                        private UnsentAnswer,
                        private SpoolWaiter,
                        private PooledCall {
 public:
  // All must outlive it.
  UnaryCall(const UnaryMethod<Request, Response>* method, CallQueue* queue,
            CallSlots<UnaryCall>* slots, size_t its_index)
      : index(its_index), method_(method), queue_(queue), slots_(slots) {}

  // Waits for a call.
  void Ask() {
    stage_ = Stage::kAsking;
    context_.emplace();
    context_->AsyncNotifyWhenDone(&over_);
    writer_.emplace(&*context_);
    if (queue_->closed) return;
    method_->ask(&*context_, &payload_, &*writer_, queue_->queue.get(), this);
  }

  void Proceed(bool ok) override {
    switch (stage_) {
      case Stage::kAsking:
        // Otherwise the server is shut down: this slot is idle until destroyed.
        if (ok) Arrive();
        break;
      case Stage::kWaiting:
        break;  // Nothing was asked of the queue.
      case Stage::kPooled:
        Answer();
        break;
      case Stage::kSyncing:
        if (method_->drain != nullptr) --method_->drain->syncing;
        if (status_.ok() && !synced_.ok()) {
          status_ = absl::UnavailableError(absl::StrCat(
              "perhaps logged, but not answered: ", synced_.message()));
        }
        Answer();
        break;
      case Stage::kAnswering:
        // Whether the answer arrived is not our concern.
        queue_->unsent.Remove(this);
        EndOneOfTwo();
        break;
    }
  }

  size_t index;  // For `slots`.

 private:
  // What the slot waits for.
  enum class Stage { kAsking, kWaiting, kPooled, kSyncing, kAnswering };
  // Comes once the call is over: answered, cancelled, or its client gone.
  struct OverEvent final : public CompletionEvent {
    explicit OverEvent(UnaryCall* its_call) : call(its_call) {}
    void Proceed(bool) override {
      if (call->context_->IsCancelled()) call->is_cancelled_ = true;
      call->EndOneOfTwo();
    }
    UnaryCall* const call;
  };
  // When to try again where nothing tells.
  static constexpr double kRetrySeconds = 0.1;
  // Requests of more bytes go to the pool. Smaller ones cannot take much memory
  // either, however many entries they have.
  static constexpr size_t kLargeBytes = 1 << 20;

  // A call has come: it waits for the thread, or is refused.
  void Arrive() {
    slots_->Ask();
    num_ends_ = 0;
    is_cancelled_ = false;
    start_ = MonotonicNanos();
    bytes_ = payload_.Length();
    ++queue_->num_calls;
    queue_->unsent.DropStale(start_);
    if (method_->drain == nullptr) {
      TakeUp();
      return;
    }
    status_ = Admit();
    if (status_.ok()) {
      stage_ = Stage::kWaiting;
      queue_->waiting.Add(this);
    } else {
      payload_.Clear();
      Answer();
    }
  }

  void TakeUp() override {
    const bool is_large = bytes_ > kLargeBytes;
    DecisionScratch& scratch = queue_->scratch;
    scratch.waiter = this;
    scratch.is_waiting = false;
    status_ = CheckWanted(&scratch);
    if (status_.ok() && method_->drain != nullptr) {
      status_ = CheckWaited(method_->admission->limits().max_wait_seconds());
    }
    if (status_.ok() && !is_large) status_ = Parse();
    if (status_.ok() && (is_large || IsLong())) {
      stage_ = Stage::kPooled;
      pooled_ = MonotonicNanos();
      const auto refusal = method_->pool->Add(this, scratch.seconds_left);
      if (!refusal.has_value()) return;
      status_ = Refuse(*refusal);
    }
    if (status_.ok()) Handle(&scratch);
    Release();
    if (scratch.is_waiting) {
      stage_ = Stage::kSyncing;
      if (method_->drain != nullptr) ++method_->drain->syncing;
    } else {
      Answer();
    }
  }

  // Decides in a thread of the pool, which also waits for the disk: the queue's
  // thread answers.
  void Run(DecisionScratch* scratch) override {
    scratch->waiter = nullptr;
    status_ = CheckWanted(scratch);
    if (status_.ok()) {
      status_ =
          CheckWaited(method_->admission->limits().max_long_wait_seconds());
    }
    if (status_.ok() && bytes_ > kLargeBytes) {
      status_ =
          CheckWireCounts(Request::descriptor(), *method_->limits, &payload_);
      if (status_.ok()) status_ = Parse();
    }
    if (status_.ok()) Handle(scratch);
    Release();
    queue_->returned.Add(this);
  }

  void Handle(DecisionScratch* scratch) {
    scratch->seconds_left = SecondsLeft();  // Parsing has taken some.
    if (method_->role == Role::kAdmin) {
      scratch->caller = CallerName(method_->authorizer, *context_);
    }
    status_ = method_->handle(request_, scratch, &response_);
  }

  void Release() {
    payload_.Clear();
    // A slot that waits must not hold the memory of a large request.
    constexpr size_t kKeptBytes = 1 << 16;
    if (bytes_ > kKeptBytes) request_ = Request();
    if (std::exchange(has_budget_, false)) {
      method_->admission->ReturnBytes(bytes_);
    }
  }

  // The spool's thread goes on with the next sync, and this queue's answers.
  void OnSynced(const absl::Status& status) override {
    synced_ = status;
    queue_->returned.Add(this);
  }

  void Answer() {
    stage_ = Stage::kAnswering;
    if (Send()) {
      queue_->unsent.Add(this);
      const double seconds = SecondsSince(start_);
      method_->metrics->Record(status_.code(), seconds);
      method_->log->Note(method_->metrics->method(), *context_, status_,
                         seconds);
    }
  }

  void Drop() override { context_->TryCancel(); }

  // A slot is free once its answer is sent or dropped, and its call is over.
  void EndOneOfTwo() {
    if (++num_ends_ < 2) return;
    --queue_->num_calls;
    writer_.reset();
    context_.reset();
    slots_->Return(this);  // Perhaps destroys this.
  }

  // Returns false if the queue is closed.
  bool Send() {
    grpc::ByteBuffer answer;
    grpc::Status sent;
    if (status_.ok()) {
      bool own = false;
      sent = grpc::GenericSerialize<grpc::ProtoBufferWriter, Response>(
          response_, &answer, &own);
    }
    if (queue_->closed) return false;
    if (status_.ok()) {
      writer_->Finish(answer, sent, this);
    } else {
      writer_->FinishWithError(ToGrpcStatus(status_), this);
    }
    return true;
  }

  // Refuses a call that is not even to wait.
  absl::Status Admit() {
    if (absl::Status refused = Authorize(); !refused.ok()) return refused;
    if (method_->drain->draining.load(std::memory_order_relaxed)) {
      ++method_->drain->refused;
      return absl::UnavailableError(
          "server is draining before it shuts down; ask another one");
    }
    if (queue_->num_calls > method_->admission->limits().max_calls()) {
      return Refuse({RefusalReason::kCalls, kRetrySeconds});
    }
    if (const auto refusal = queue_->waiting.Check(SecondsLeft())) {
      return Refuse(*refusal);
    }
    has_budget_ = method_->admission->TakeBytes(bytes_);
    if (has_budget_) return absl::OkStatus();
    return Refuse({RefusalReason::kBytes, kRetrySeconds});
  }

  absl::Status Authorize() const {
    return AuthorizeCall(method_->authorizer, method_->role,
                         method_->metrics->method(), *context_);
  }

  absl::Status Refuse(const Refusal& refusal) {
    // What gRPC's own retries wait for.
    context_->AddTrailingMetadata(
        "grpc-retry-pushback-ms",
        absl::StrCat(RetryMilliseconds(refusal.retry_seconds)));
    return method_->admission->Refuse(refusal);
  }

  double SecondsLeft() const {
    const gpr_timespec deadline = context_->raw_deadline();
    return 1e-6 * gpr_timespec_to_micros(
                      gpr_time_sub(deadline, gpr_now(deadline.clock_type)));
  }

  static double SecondsSince(int64_t start) {
    return static_cast<double>(MonotonicNanos() - start) * 1e-9;
  }

  // Refuses a call that nobody waits for any more. Stores the time left in
  // `scratch`.
  absl::Status CheckWanted(DecisionScratch* scratch) const {
    scratch->seconds_left = SecondsLeft();
    if (scratch->seconds_left < 0) {
      return absl::DeadlineExceededError(
          "deadline passed before the request was taken up; not decided");
    }
    if (is_cancelled_) {
      return absl::CancelledError("cancelled by the caller; not decided");
    }
    return absl::OkStatus();
  }

  // Refuses a call that has waited longer than it should.
  absl::Status CheckWaited(double most_seconds) {
    const double waited =
        SecondsSince(stage_ == Stage::kPooled ? pooled_ : start_);
    if (waited <= most_seconds) return absl::OkStatus();
    return Refuse({RefusalReason::kWaited, kRetrySeconds});
  }

  absl::Status Parse() {
    grpc::ProtoBufferReader reader(&payload_);
    if (reader.status().ok() && request_.ParseFromZeroCopyStream(&reader)) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "request of ", payload_.Length(), " bytes is not a readable ",
        Request::descriptor()->full_name(), " (text fields must be UTF-8)"));
  }

  bool IsLong() const {
    return method_->is_long != nullptr && method_->is_long(request_);
  }

  const UnaryMethod<Request, Response>* const method_;
  CallQueue* const queue_;
  CallSlots<UnaryCall>* const slots_;
  OverEvent over_{this};
  Stage stage_ = Stage::kAsking;
  int num_ends_ = 0;                       // Of the answer, and of the call.
  std::atomic<bool> is_cancelled_{false};  // Nobody waits for the answer.
  int64_t start_ = 0;                      // When the call came.
  int64_t pooled_ = 0;                     // When it came to the pool.
  size_t bytes_ = 0;                       // Of its request.
  bool has_budget_ = false;                // Has taken them from the budget.
  absl::Status status_;                    // How the call ends.
  absl::Status synced_;                    // What the spool said.
  std::optional<grpc::ServerContext> context_;
  std::optional<grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>> writer_;
  grpc::ByteBuffer payload_;
  Request request_;
  Response response_;
};

}  // namespace sortition
