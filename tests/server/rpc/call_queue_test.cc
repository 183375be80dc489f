#include "server/rpc/call_queue.h"

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "gtest/gtest.h"
#include "server/admission/admission.h"
#include "server/rpc/connections/connection_table.h"

namespace sortition {
namespace {

void WaitFor(const std::atomic<bool>& flag) {
  while (!flag) std::this_thread::yield();
}

class CallQueueTest : public testing::Test {
 protected:
  CallQueueTest() {
    limits_.set_max_wait_seconds(1);
    limits_.set_target_wait_seconds(0.001);
    limits_.set_answer_seconds(0.001);
  }
  ~CallQueueTest() override {
    server_->Shutdown();
    queue_->Close();
    thread_.join();
  }

  void Start() {
    admission_.emplace(limits_, &metrics_);
    queue_.emplace(&*admission_, connections_.get());
    grpc::ServerBuilder builder;
    queue_->queue = builder.AddCompletionQueue();
    server_ = builder.BuildAndStart();
    thread_ = std::thread(&CallQueue::Serve, &*queue_);
  }
  // Runs a task in the thread of the queue, as an event, and waits for it.
  void InQueue(std::function<void()> task) {
    struct Task final : public CompletionEvent {
      void Proceed(bool) override {
        task();
        is_done = true;
      }
      std::function<void()> task;
      std::atomic<bool> is_done = false;
    } event;
    event.task = std::move(task);
    queue_->returned.Add(&event);
    WaitFor(event.is_done);
  }

  Metrics metrics_;
  config::v1::AdmissionLimits limits_;
  std::unique_ptr<ConnectionTable> connections_ =
      std::make_unique<ConnectionTable>();
  std::optional<Admission> admission_;
  std::optional<CallQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
  std::thread thread_;
};

void WaitNanos(int64_t nanos) {
  const int64_t end = MonotonicNanos() + nanos;
  while (MonotonicNanos() < end) std::this_thread::yield();
}

// Takes 100 ms.
struct SlowCall final : public QueuedCall {
  void TakeUp() override {
    WaitNanos(100'000'000);
    is_done = true;
  }
  std::atomic<bool> is_done = false;
};

// Calls take 0.1 s. After more than a second of silence two come together. The
// wait of the second is above the target, but this is no overload.
TEST_F(CallQueueTest, CallsThatComeTogetherAfterSilenceAreABurst) {
  Start();
  SlowCall first;
  InQueue([&] { queue_->waiting.Add(&first); });
  WaitFor(first.is_done);
  WaitNanos(1'100'000'000);
  SlowCall second;
  std::optional<Refusal> refusal;
  InQueue([&] {
    queue_->waiting.Add(&second);
    refusal = queue_->waiting.Check(1e9);
    EXPECT_GT(queue_->waiting.EstimateSeconds(), 0.05);
  });
  WaitFor(second.is_done);
  EXPECT_FALSE(refusal.has_value());
}

struct Unsent final : public UnsentAnswer {
  void Drop() override { is_dropped = true; }
  std::atomic<bool> is_dropped = false;
};

// Nothing else happens.
TEST_F(CallQueueTest, AnswersThatNobodyTakesAreDroppedInSilence) {
  Start();
  for (int i = 0; i < 3; ++i) {
    Unsent answer;
    InQueue([&] { queue_->AddUnsent(&answer, MonotonicNanos()); });
    WaitFor(answer.is_dropped);
  }
}

TEST_F(CallQueueTest, ADrainHurriesAnswers) {
  limits_.set_answer_seconds(3600);
  Start();
  Unsent answer;
  InQueue([&] { queue_->AddUnsent(&answer, MonotonicNanos()); });
  queue_->Hurry(0.001);
  WaitFor(answer.is_dropped);
}

TEST_F(CallQueueTest, AThreadThatHangsTakesNoTurn) {
  Start();
  EXPECT_TRUE(queue_->TakesTurns());
  // What was asked before comes back before the next task.
  InQueue([] {});
  EXPECT_TRUE(queue_->TakesTurns());
  InQueue([] {});
  // The thread itself asks: it cannot take its turn meanwhile.
  bool takes_turns[3];
  InQueue([&] {
    for (bool& turn : takes_turns) turn = queue_->TakesTurns();
  });
  EXPECT_TRUE(takes_turns[0]);
  EXPECT_FALSE(takes_turns[1]);
  EXPECT_FALSE(takes_turns[2]);
}

}  // namespace
}  // namespace sortition
