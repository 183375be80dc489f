#pragma once
// One call slot of an asynchronous gRPC server: waits for a call, whose request
// then takes the way of all requests (request_in_work.h), and answers it.
// Messages, their buffers and the thread's scratch memory are reused from call
// to call.
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/async_unary_call.h>
#include <grpcpp/support/proto_buffer_writer.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "server/admission/waiting_calls.h"
#include "server/decisions/decision_scratch.h"
#include "server/identity/authorizer.h"
#include "server/rpc/call_queue.h"
#include "server/rpc/call_slots.h"
#include "server/rpc/request_in_work.h"
#include "server/rpc/status_conversion.h"

namespace sortition {

// One method, shared by its slots. The request arrives as bytes and is parsed
// here, so that an unreadable one is INVALID_ARGUMENT; gRPC's own parsing would
// make it INTERNAL.
template <typename Request, typename Response>
struct UnaryMethod : RpcMethod {
  std::function<void(grpc::ServerContext*, grpc::ByteBuffer*,
                     grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>*,
                     grpc::ServerCompletionQueue*, void* tag)>
      ask;
  std::function<absl::Status(const Request&, DecisionScratch*, Response*)>
      handle;
};

template <typename Request, typename Response>
class UnaryCall final : public RequestInWork, private UnsentAnswer {
 public:
  // What all slots of a method share in the thread of their queue.
  struct Messages {
    Request request;
    Response response;
  };

  // All must outlive it.
  UnaryCall(const UnaryMethod<Request, Response>* method, CallQueue* queue,
            CallSlots<UnaryCall>* slots, size_t its_index)
      : RequestInWork(method, queue),
        index(its_index),
        unary_(method),
        slots_(slots) {}

  // Waits for a call.
  void Ask() {
    context_.emplace();
    context_->AsyncNotifyWhenDone(&over_);
    writer_.emplace(&*context_);
    if (queue_->closed) return;
    unary_->ask(&*context_, &payload_, &*writer_, queue_->queue.get(), &asked_);
  }

  size_t index;  // For `slots`.

 private:
  void OnAsked(bool ok) {
    if (!ok) return;  // The server is shut down: idle until destroyed.
    slots_->Ask();
    method_->metrics->CountStarted();
    method_->metrics->CountReceived();
    num_ends_ = 0;
    is_cancelled_ = false;
    Arrive(AuthorizeCall(method_->authorizer, method_->role,
                         method_->metrics->method(), *context_));
  }

  // The call is over: answered, cancelled, or its client gone.
  void OnOver(bool) {
    if (context_->IsCancelled()) is_cancelled_ = true;
    EndOneOfTwo();
  }

  // Whether the answer arrived is not our concern.
  void OnAnswered(bool) {
    queue_->unsent.Remove(this);
    EndOneOfTwo();
  }

  // A slot is free once its answer is sent or dropped, and its call is over.
  void EndOneOfTwo() {
    if (++num_ends_ < 2) return;
    End();
    writer_.reset();
    context_.reset();
    slots_->Return(this);  // Perhaps destroys this.
  }

  absl::Status Decide(DecisionScratch* scratch) override {
    if (is_in_pool()) {
      Messages messages;
      return DecideWith(&messages, scratch);
    }
    absl::Status status = DecideWith(&slots_->messages, scratch);
    if (bytes() > kKeptBytes) slots_->messages = Messages();
    return status;
  }

  absl::Status DecideWith(Messages* messages, DecisionScratch* scratch) {
    RETURN_IF_ERROR(Parse(&messages->request, scratch));
    if (method_->role == Role::kAdmin) {
      scratch->caller = CallerName(method_->authorizer, *context_);
    }
    RETURN_IF_ERROR(
        unary_->handle(messages->request, scratch, &messages->response));
    bool own = false;
    grpc::GenericSerialize<grpc::ProtoBufferWriter, Response>(
        messages->response, &answer_, &own);
    return absl::OkStatus();
  }

  void Answer() override {
    if (queue_->closed) return;
    if (outcome_.ok()) {
      method_->metrics->CountSent();
      writer_->Finish(answer_, grpc::Status(), &answered_);
    } else {
      writer_->FinishWithError(ToGrpcStatus(outcome_), &answered_);
    }
    answer_.Clear();
    const int64_t now = MonotonicNanos();
    queue_->AddUnsent(this, now);
    Record(now);
    method_->metrics->CountHandled(outcome_.code());
  }

  void Drop() override { context_->TryCancel(); }

  // What gRPC's own retries wait for.
  void HintRetry(int64_t milliseconds) override {
    context_->AddTrailingMetadata("grpc-retry-pushback-ms",
                                  absl::StrCat(milliseconds));
  }

  const grpc::ServerContext& context() const override { return *context_; }
  bool is_cancelled() const override { return is_cancelled_; }

  const UnaryMethod<Request, Response>* const unary_;
  CallSlots<UnaryCall>* const slots_;
  MemberEvent<UnaryCall> asked_{this, &UnaryCall::OnAsked};
  MemberEvent<UnaryCall> over_{this, &UnaryCall::OnOver};
  MemberEvent<UnaryCall> answered_{this, &UnaryCall::OnAnswered};
  int num_ends_ = 0;                       // Of the answer, and of the call.
  std::atomic<bool> is_cancelled_{false};  // Nobody waits for the answer.
  std::optional<grpc::ServerContext> context_;
  std::optional<grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>> writer_;
};

}  // namespace sortition
