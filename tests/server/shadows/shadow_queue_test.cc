#include "server/shadows/shadow_queue.h"

#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

std::unique_ptr<ShadowJob> Job(const std::string& id) {
  static constexpr float kValues[] = {1, 2};
  PolicyQuery query;
  query.candidates = Candidates::DenseUnchecked(kValues, 2);
  auto job = std::make_unique<ShadowJob>(query);
  job->decision_id = id;
  return job;
}

TEST(ShadowQueueTest, ReservesUpToItsLimit) {
  ShadowQueue queue(100);
  EXPECT_TRUE(queue.Reserve(60));
  EXPECT_FALSE(queue.Reserve(41));
  EXPECT_TRUE(queue.Reserve(40));
  EXPECT_FALSE(queue.Reserve(1));
  queue.Release(60);
  EXPECT_EQ(queue.bytes(), 40u);
  EXPECT_TRUE(queue.Reserve(60));
  EXPECT_FALSE(queue.Reserve(101));
}

TEST(ShadowQueueTest, GivesJobsInTheirOrder) {
  ShadowQueue queue(100);
  for (const char* id : {"a", "b", "c"}) {
    auto job = Job(id);
    ASSERT_TRUE(queue.Push(&job));
    EXPECT_EQ(job, nullptr);
  }
  std::string ids;
  for (const auto& job : queue.TakeAll()) ids += job->decision_id;
  EXPECT_EQ(ids, "abc");
}

TEST(ShadowQueueTest, IsEmptyOnceItIsClosed) {
  ShadowQueue queue(100);
  auto early = Job("a");
  EXPECT_TRUE(queue.Push(&early));
  queue.Close();
  auto late = Job("b");
  EXPECT_FALSE(queue.Push(&late));
  EXPECT_NE(late, nullptr);
  EXPECT_EQ(queue.TakeAll().size(), 1u);
  EXPECT_TRUE(queue.TakeAll().empty());
}

// Nobody takes them any more.
TEST(ShadowQueueTest, FreesWhatIsLeft) {
  ShadowQueue queue(100);
  for (const char* id : {"a", "b"}) {
    auto job = Job(id);
    EXPECT_TRUE(queue.Push(&job));
  }
}

// Those of each thread come in its order.
TEST(ShadowQueueTest, LosesNothingBetweenThreads) {
  constexpr int kThreads = 4;
  constexpr int kJobs = 5000;
  ShadowQueue queue(100);
  std::vector<std::thread> pushers;
  for (int t = 0; t < kThreads; ++t) {
    pushers.emplace_back([&, t] {
      for (int i = 0; i < kJobs; ++i) {
        auto job = Job(absl::StrCat(t));
        job->bytes = static_cast<uint64_t>(i);
        EXPECT_TRUE(queue.Push(&job));
      }
    });
  }
  std::thread closer([&] {
    for (std::thread& pusher : pushers) pusher.join();
    queue.Close();
  });
  std::map<std::string, uint64_t> next;
  for (auto jobs = queue.TakeAll(); !jobs.empty(); jobs = queue.TakeAll()) {
    for (const auto& job : jobs) {
      EXPECT_EQ(job->bytes, next[job->decision_id]++);
    }
  }
  closer.join();
  EXPECT_EQ(next.size(), size_t{kThreads});
  for (const auto& [thread, jobs] : next) EXPECT_EQ(jobs, uint64_t{kJobs});
}

}  // namespace
}  // namespace sortition
