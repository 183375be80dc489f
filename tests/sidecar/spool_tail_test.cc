#include "sidecar/spool_tail.h"

#include <chrono>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/segments/segment_writer.h"
#include "sidecar/record_wire.h"
#include "tests/sidecar/spool_testing.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using namespace testing_sidecar;  // NOLINT: the fixture of this folder.
using Outcome = SpoolTail::Outcome;

class SpoolTailTest : public testing::Test {
 protected:
  std::string IdOf(const SpoolTail& tail) {
    const auto view = ViewRecord(tail.record().payload);
    EXPECT_OK(view);
    const auto decision = ViewDecision(view->bytes);
    EXPECT_OK(decision);
    return std::string(decision->id);
  }
  Outcome Next(SpoolTail* tail) {
    const auto outcome = tail->Next();
    EXPECT_OK(outcome);
    return *outcome;
  }

  const TempDir dir_{FastParent()};
};

TEST_F(SpoolTailTest, EmptySpoolIsCaughtUp) {
  SpoolTail tail(dir_.path(), true);
  EXPECT_EQ(Next(&tail), Outcome::kCaughtUp);
}

// The server keeps the next segment ready and may write to it before it closes
// the old one.
TEST_F(SpoolTailTest, ReadsPreparedSegmentsInOrder) {
  SpoolTail tail(dir_.path(), true);
  auto first = NewSegment(dir_.path(), 1, 0);
  auto second = NewSegment(dir_.path(), 2, 1);
  ASSERT_OK(first->Append(DecisionRecord("a", 1)));
  EXPECT_EQ(Next(&tail), Outcome::kRecord);
  EXPECT_EQ(IdOf(tail), "a");
  EXPECT_EQ(Next(&tail), Outcome::kCaughtUp);
  ASSERT_OK(second->Append(DecisionRecord("c", 3)));
  EXPECT_EQ(Next(&tail), Outcome::kWaiting);
  ASSERT_OK(first->Append(DecisionRecord("b", 2)));
  ASSERT_OK(first->Close());
  EXPECT_EQ(Next(&tail), Outcome::kRecord);
  EXPECT_EQ(IdOf(tail), "b");
  EXPECT_EQ(Next(&tail), Outcome::kSegmentDone);
  EXPECT_EQ(Next(&tail), Outcome::kRecord);
  EXPECT_EQ(IdOf(tail), "c");
  EXPECT_EQ(tail.current_segment(), 2u);
  EXPECT_EQ(Next(&tail), Outcome::kCaughtUp);
}

TEST_F(SpoolTailTest, DeadWriterIsRecoveredAndPassed) {
  SpoolTail tail(dir_.path(), true);
  auto writer = NewSegment(dir_.path(), 1, 0);
  EXPECT_EQ(Next(&tail), Outcome::kCaughtUp);
  ASSERT_OK(writer->Append(DecisionRecord("a", 1)));
  writer.reset();
  EXPECT_EQ(Next(&tail), Outcome::kRecord);
  EXPECT_EQ(Next(&tail), Outcome::kSegmentDone);
  EXPECT_EQ(Next(&tail), Outcome::kCaughtUp);
  EXPECT_EQ(tail.counts().recovered_segments, 1u);
  EXPECT_EQ(tail.counts().torn_bytes, 0u);
}

TEST_F(SpoolTailTest, CountsSegmentsThatComeTooLate) {
  SpoolTail tail(dir_.path(), true);
  ASSERT_OK(NewSegment(dir_.path(), 5, 0)->Close());
  EXPECT_EQ(Next(&tail), Outcome::kSegmentDone);
  ASSERT_OK(NewSegment(dir_.path(), 4, 1)->Close());
  EXPECT_EQ(Next(&tail), Outcome::kCaughtUp);
  EXPECT_EQ(tail.counts().out_of_order_segments, 1u);
}

TEST_F(SpoolTailTest, InotifyEndsTheWait) {
  SpoolTail tail(dir_.path(), true);
  auto writer = NewSegment(dir_.path(), 1, 0);
  tail.Wait(60);  // Consumes the events of its creation.
  std::thread thread(
      [&] { EXPECT_OK(writer->Append(DecisionRecord("a", 1))); });
  const auto start = std::chrono::steady_clock::now();
  tail.Wait(60);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
  thread.join();
}

TEST_F(SpoolTailTest, WithoutInotifyItWaitsTheTimeGiven) {
  SpoolTail tail(dir_.path(), false);
  const auto start = std::chrono::steady_clock::now();
  tail.Wait(0.05);
  EXPECT_GE(std::chrono::steady_clock::now() - start,
            std::chrono::milliseconds(49));
}

}  // namespace
}  // namespace sortition
