#include "sidecar/spools/spool_tail.h"

#include <chrono>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/segments/segment_writer.h"
#include "sidecar/spools/record_wire.h"
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
  // Passes over the begins of segments.
  static void Wait(const SpoolTail* tail, double seconds) {
    const SpoolTail* const tails[] = {tail};
    SpoolTail::Wait(tails, seconds);
  }
  Outcome Next(SpoolTail* tail) {
    while (true) {
      const auto outcome = tail->Next();
      EXPECT_OK(outcome);
      if (*outcome != Outcome::kSegmentBegun) return *outcome;
    }
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

// Writes a closed segment of two records.
void WriteNumbered(const std::string& dir, int64_t created_us,
                   const std::string& incarnation, uint64_t first_sequence) {
  SegmentWriter::Options options;
  options.dir = dir;
  options.name = SegmentName(created_us, "server", 0);
  options.header.set_format_version(1);
  options.header.set_kind(log::v1::SegmentHeader::SPOOL);
  options.header.set_incarnation(incarnation);
  options.header.set_first_sequence(first_sequence);
  ASSERT_OK_AND_ASSIGN(const auto writer, SegmentWriter::Create(options));
  ASSERT_OK(writer->Append(DecisionRecord("a", 1)));
  ASSERT_OK(writer->Append(DecisionRecord("b", 2)));
  ASSERT_OK(writer->Close());
}

TEST_F(SpoolTailTest, CountsWhatTheNumbersOfSegmentsMiss) {
  WriteNumbered(dir_.path(), 1, "one", 10);  // What was before is not known.
  WriteNumbered(dir_.path(), 2, "one", 12);
  WriteNumbered(dir_.path(), 3, "one", 17);  // 14, 15 and 16 are missing.
  // The writer of "one" did not end there: of how many records is not known.
  WriteNumbered(dir_.path(), 4, "two", 0);
  WriteNumbered(dir_.path(), 5, "two", 2);
  SpoolTail tail(dir_.path(), true);
  int records = 0;
  for (Outcome outcome = Next(&tail); outcome != Outcome::kCaughtUp;
       outcome = Next(&tail)) {
    if (outcome == Outcome::kRecord) ++records;
  }
  EXPECT_EQ(records, 10);
  EXPECT_EQ(tail.counts().missing_records, 3u + 1u);
}

// Another writer's header behind the first record would otherwise end the
// sidecar.
TEST_F(SpoolTailTest, AHeaderInTheMiddleIsARecord) {
  auto writer = NewSegment(dir_.path(), 1, 0);
  log::v1::LogRecord header;
  header.mutable_header()->set_writer_id("intruder");
  ASSERT_OK(writer->Append(header));
  ASSERT_OK(writer->Close());
  SpoolTail tail(dir_.path(), true);
  EXPECT_EQ(Next(&tail), Outcome::kRecord);
  EXPECT_EQ(tail.header().writer_id(), "server");
  EXPECT_EQ(Next(&tail), Outcome::kSegmentDone);
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
  constexpr double kHour = 3600;
  Wait(&tail, kHour);  // Consumes the events of its creation.
  std::thread thread(
      [&] { EXPECT_OK(writer->Append(DecisionRecord("a", 1))); });
  const auto start = std::chrono::steady_clock::now();
  Wait(&tail, kHour);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::hours(1));
  thread.join();
}

TEST_F(SpoolTailTest, WithoutInotifyItWaitsTheTimeGiven) {
  SpoolTail tail(dir_.path(), false);
  const auto start = std::chrono::steady_clock::now();
  Wait(&tail, 0.05);
  EXPECT_GE(std::chrono::steady_clock::now() - start,
            std::chrono::milliseconds(49));
}

}  // namespace
}  // namespace sortition
