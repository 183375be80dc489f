#pragma once
// RankStream on a completion queue: many decisions over one call. Answers leave
// in the order of the requests, each of which takes the way of all requests
// (request_in_work.h). Nothing is read of a stream while one of its requests
// waits or is in the pool, so a stream takes its turns as a caller does that
// waits for each answer. Answers that must wait until their record is on the
// disk leave the thread to others, and the stream to kMaxInFlight of them.
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/async_stream.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "server/admission/waiting_calls.h"
#include "server/decisions/ranking_service.h"
#include "server/rpc/call_queue.h"
#include "server/rpc/connections/connection_table.h"
#include "server/rpc/request_in_work.h"
#include "sortition/v1/ranking.pb.h"

namespace sortition {

using RankStreamWriter =
    grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>;

// What the streams of all queues share. Its metrics count every request in a
// stream, and every stream that is refused.
struct RankStreamMethod : RpcMethod {
  std::function<void(grpc::ServerContext*, RankStreamWriter*,
                     grpc::ServerCompletionQueue*, void* tag)>
      ask;
  RankingService* ranking = nullptr;
};

class RankStreamCall;

// The streams of one queue; used in its thread, but for Drain(). Must be
// destroyed when neither queue, pool nor spool has anything left for them.
class RankStreams final : public CompletionEvent {
 public:
  // What they share in the thread of their queue.
  struct Messages {
    v1::RankStreamRequest request;
    v1::RankStreamResponse response;
  };

  // Waits for the first stream. All must outlive it.
  RankStreams(const RankStreamMethod* method, CallQueue* queue);
  ~RankStreams() override;

  // Thread-safe. Lets every stream answer what it has read, and then end as
  // UNAVAILABLE. Call after DrainState::draining is set: later streams look at
  // that.
  void Drain() { queue_->returned.Add(this); }
  void Proceed(bool ok) override;

 private:
  friend class RankStreamCall;

  void Listen();  // Waits for another stream.

  const RankStreamMethod* const method_;
  CallQueue* const queue_;
  Messages messages_;
  std::map<RankStreamCall*, std::unique_ptr<RankStreamCall>> calls_;
};

// One stream, or one that is waited for.
class RankStreamCall : private UnsentAnswer {
 public:
  static constexpr size_t kMaxInFlight = 64;

  explicit RankStreamCall(RankStreams* streams);

  void Listen();
  // Reads no more, and ends when everything is answered.
  void End(const absl::Status& status);

 private:
  // One request of the stream.
  class Item final : public RequestInWork {
   public:
    explicit Item(RankStreamCall* call);
    grpc::ByteBuffer* payload() { return &payload_; }
    void Take() {
      is_done_ = false;
      is_deciding_ = true;
      Arrive(absl::OkStatus());
    }
    bool is_done() const { return is_done_; }
    // Counts it, and returns what is to be sent, in place.
    grpc::ByteBuffer& Finish(int64_t now);
    void Forget();

   private:
    absl::Status Decide(DecisionScratch* scratch) override;
    absl::Status DecideWith(RankStreams::Messages* messages,
                            DecisionScratch* scratch);
    absl::Status Handle(RankStreams::Messages* messages,
                        DecisionScratch* scratch);
    void Answer() override;
    void OnSyncing() override;
    const grpc::ServerContext& context() const override {
      return call_->context_;
    }
    bool is_cancelled() const override { return call_->is_cancelled_; }

    RankStreamCall* const call_;
    bool is_done_ = false;
    bool is_deciding_ = false;  // Waits, or is in the pool.
  };

  // In the queue's thread:
  void OnStarted(bool ok);
  void OnRead(bool ok);
  void OnWritten(bool ok);
  void OnFinished(bool ok);
  void OnOver(bool ok);
  void Drop() override { context_.TryCancel(); }
  // Refuses a stream that is not to be served at all.
  absl::Status Admit();
  // Starts whatever can be done next. May destroy the call.
  void Advance();
  void Read();
  void Write();  // Sends the first answer, which is done.
  void Finish();

  RankStreams* const streams_;
  const RankStreamMethod* const method_;
  CallQueue* const queue_;
  MemberEvent<RankStreamCall> started_{this, &RankStreamCall::OnStarted};
  MemberEvent<RankStreamCall> read_{this, &RankStreamCall::OnRead};
  MemberEvent<RankStreamCall> written_{this, &RankStreamCall::OnWritten};
  MemberEvent<RankStreamCall> finished_{this, &RankStreamCall::OnFinished};
  MemberEvent<RankStreamCall> over_{this, &RankStreamCall::OnOver};
  grpc::ServerContext context_;
  RankStreamWriter stream_;
  int64_t start_ = 0;  // When it came.
  std::optional<CallMark> mark_;
  std::unique_ptr<Item> next_;  // Is read.
  std::deque<std::unique_ptr<Item>>
      in_flight_;  // In the order of the requests.
  std::vector<std::unique_ptr<Item>> spare_;
  absl::Status end_;  // How the stream ends.
  std::atomic<bool> is_cancelled_{false};
  bool is_started_ = false;
  bool is_reading_ = false;
  bool is_writing_ = false;
  bool is_deciding_ = false;  // The last request that was read is.
  bool is_ending_ = false;
  bool is_broken_ = false;  // Nobody hears the answers.
  bool is_finishing_ = false;
  bool is_finished_ = false;
  bool is_over_ = false;
};

}  // namespace sortition
