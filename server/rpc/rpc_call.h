#pragma once
// One call slot of an asynchronous gRPC server: waits for a call, answers it in
// the queue's thread, and waits for the next. Calls that may take long are
// decided in a pool of threads. An answer that must wait until its record is on
// the disk leaves the thread to others meanwhile. Messages, their buffers and
// the thread's scratch memory are reused from call to call.
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

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "io/spool/spool_writer.h"
#include "server/decisions/decision_recorder.h"
#include "server/decisions/decision_scratch.h"
#include "server/rpc/call_pool.h"
#include "server/rpc/call_queue.h"
#include "server/rpc/rpc_metrics.h"
#include "server/rpc/status_conversion.h"
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
  DrainState* drain;  // Null: the method is answered even while draining.
};

template <typename Request, typename Response>
class UnaryCall final : public CompletionEvent,
                        private SpoolWaiter,
                        private PooledCall {
 public:
  // `method` and `queue` must outlive it.
  UnaryCall(const UnaryMethod<Request, Response>* method, CallQueue* queue)
      : method_(method), queue_(queue) {
    Ask();
  }

  void Proceed(bool ok) override {
    switch (stage_) {
      case Stage::kAsking:
        // Otherwise the server is shut down: this slot is idle until destroyed.
        if (ok) TakeUp();
        break;
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
        Ask();  // Whether the answer arrived is not our concern.
        break;
    }
  }

 private:
  // What the slot waits for.
  enum class Stage { kAsking, kPooled, kSyncing, kAnswering };
  // Requests of more bytes go to the pool. Smaller ones cannot take much memory
  // either, however many entries they have.
  static constexpr size_t kLargeBytes = 1 << 20;

  void Ask() {
    stage_ = Stage::kAsking;
    writer_.reset();
    context_.emplace();
    writer_.emplace(&*context_);
    if (queue_->closed) return;
    method_->ask(&*context_, &payload_, &*writer_, queue_->queue.get(), this);
  }

  void TakeUp() {
    start_ = absl::GetCurrentTimeNanos();
    is_large_ = payload_.Length() > kLargeBytes;
    DecisionScratch& scratch = queue_->scratch;
    scratch.waiter = this;
    scratch.is_waiting = false;
    status_ = Admit(&scratch);
    if (status_.ok() && !is_large_) status_ = Parse();
    if (status_.ok() && (is_large_ || IsLong())) {
      stage_ = Stage::kPooled;
      method_->pool->Add(this);
      return;
    }
    if (status_.ok()) {
      status_ = method_->handle(request_, &scratch, &response_);
    }
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
    status_ = CheckDeadline(scratch);
    if (status_.ok() && is_large_) {
      status_ =
          CheckWireCounts(Request::descriptor(), *method_->limits, &payload_);
      if (status_.ok()) status_ = Parse();
    }
    if (status_.ok()) {
      status_ = method_->handle(request_, scratch, &response_);
    }
    Release();
    queue_->returned.Add(this);
  }

  void Release() {
    payload_.Clear();
    // A huge request must not hold its memory for ever.
    if (is_large_) request_ = Request();
  }

  // The spool's thread goes on with the next sync, and this queue's answers.
  void OnSynced(const absl::Status& status) override {
    synced_ = status;
    queue_->returned.Add(this);
  }

  void Answer() {
    stage_ = Stage::kAnswering;
    if (Send()) {
      method_->metrics->Record(
          status_.code(),
          static_cast<double>(absl::GetCurrentTimeNanos() - start_) * 1e-9);
    }
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

  // Refuses a call that is not to be decided at all.
  absl::Status Admit(DecisionScratch* scratch) {
    if (method_->drain != nullptr &&
        method_->drain->draining.load(std::memory_order_relaxed)) {
      ++method_->drain->refused;
      return absl::UnavailableError(
          "server is draining before it shuts down; ask another one");
    }
    return CheckDeadline(scratch);
  }

  // Stores the time left in `scratch`.
  absl::Status CheckDeadline(DecisionScratch* scratch) const {
    const gpr_timespec deadline = context_->raw_deadline();
    const auto left = gpr_time_sub(deadline, gpr_now(deadline.clock_type));
    if (left.tv_sec < 0) {
      return absl::DeadlineExceededError(
          "deadline passed before the request was taken up; not decided");
    }
    scratch->seconds_left = 1e-6 * gpr_timespec_to_micros(left);
    return absl::OkStatus();
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
  Stage stage_ = Stage::kAsking;
  int64_t start_ = 0;  // When the call was taken up.
  bool is_large_ = false;
  absl::Status status_;  // How the call ends.
  absl::Status synced_;  // What the spool said.
  std::optional<grpc::ServerContext> context_;
  std::optional<grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>> writer_;
  grpc::ByteBuffer payload_;
  Request request_;
  Response response_;
};

}  // namespace sortition
