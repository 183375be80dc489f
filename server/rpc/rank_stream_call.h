#pragma once
// RankStream on a completion queue: many decisions over one call. Answers leave
// in the order of the requests. A request is decided when it is read, one after
// the other; answers that must wait until their record is on the disk leave the
// thread to others meanwhile. No more is read while kMaxInFlight answers wait.
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/async_stream.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "io/spool/spool_writer.h"
#include "server/decisions/ranking_service.h"
#include "server/rpc/admission.h"
#include "server/rpc/call_pool.h"
#include "server/rpc/call_queue.h"
#include "server/rpc/rpc_call.h"
#include "server/rpc/rpc_metrics.h"
#include "sortition/v1/ranking.pb.h"

namespace sortition {

using RankStreamWriter =
    grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>;

// What the streams of all queues share.
struct RankStreamMethod {
  std::function<void(grpc::ServerContext*, RankStreamWriter*,
                     grpc::ServerCompletionQueue*, void* tag)>
      ask;
  RankingService* ranking;
  CallPool* pool;  // For requests that are large.
  const config::v1::RequestLimits* limits;
  RpcMetrics* metrics;  // Of every request in a stream.
  RequestLog* log;
  const Authorizer* authorizer;  // Null: everybody may call.
  DrainState* drain;
  Admission* admission;
};

class RankStreamCall;

// The streams of one queue; used in its thread, but for Drain(). Must be
// destroyed when neither queue, pool nor spool has anything left for them.
class RankStreams final : public CompletionEvent {
 public:
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
  std::map<RankStreamCall*, std::unique_ptr<RankStreamCall>> calls_;
};

// One stream, or one that is waited for.
class RankStreamCall {
 public:
  static constexpr size_t kMaxInFlight = 64;

  explicit RankStreamCall(RankStreams* streams);

  void Listen();
  // Reads no more, and ends when everything is answered.
  void End(const absl::Status& status);

 private:
  struct Event final : public CompletionEvent {
    using Handler = void (RankStreamCall::*)(bool ok);
    Event(RankStreamCall* its_call, Handler its_handler)
        : call(its_call), handler(its_handler) {}
    void Proceed(bool ok) override { (call->*handler)(ok); }
    RankStreamCall* const call;
    const Handler handler;
  };

  // One request from its arrival to its answer. Comes back to the queue's
  // thread from the spool or from the pool.
  struct Item final : public CompletionEvent,
                      public SpoolWaiter,
                      public PooledCall {
    explicit Item(RankStreamCall* its_call) : call(its_call) {}
    void Proceed(bool ok) override;
    void OnSynced(const absl::Status& status) override;
    void Run(DecisionScratch* scratch) override;

    RankStreamCall* const call;
    int64_t start = 0;  // When it was taken up.
    absl::Status status;
    absl::Status synced;
    grpc::ByteBuffer answer;  // Of a request that was decided.
    bool is_syncing = false;
    bool is_done = false;
  };

  // In the queue's thread:
  void OnStarted(bool ok);
  void OnRead(bool ok);
  void OnWritten(bool ok);
  void OnFinished(bool ok);
  // Refuses a stream that is not to be served at all.
  absl::Status Admit() const;
  // Decides what was read, or lets the pool do it.
  void TakeUp();
  // Refuses a request for which the pool has no time.
  absl::Status GiveToPool(DecisionScratch* scratch, Item* item);
  void Decide(DecisionScratch* scratch, Item* item);
  absl::Status Handle(DecisionScratch* scratch);
  absl::Status CheckDeadline(DecisionScratch* scratch) const;
  // Starts whatever can be done next. May destroy the call.
  void Advance();
  void Write();  // Sends the first answer, which is done.
  // Starts an operation of gRPC; returns false if the queue is closed.
  template <typename Operation>
  bool InQueue(const Operation& operation);

  RankStreams* const streams_;
  const RankStreamMethod* const method_;
  CallQueue* const queue_;
  Event started_, read_, written_, finished_;
  grpc::ServerContext context_;
  RankStreamWriter stream_;
  grpc::ByteBuffer payload_;
  v1::RankStreamRequest request_;
  v1::RankStreamResponse response_;
  std::deque<std::unique_ptr<Item>>
      in_flight_;  // In the order of the requests.
  std::vector<std::unique_ptr<Item>> spare_;
  absl::Status end_;  // How the stream ends.
  bool is_started_ = false;
  bool is_reading_ = false;
  bool is_writing_ = false;
  bool is_pooled_ = false;  // The pool decides the last request that was read.
  bool is_ending_ = false;
  bool is_broken_ = false;  // Nobody hears the answers.
  bool is_finishing_ = false;
  bool is_finished_ = false;
};

}  // namespace sortition
