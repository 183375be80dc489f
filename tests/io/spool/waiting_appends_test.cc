#include "io/spool/waiting_appends.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/io/segments/segment_testing.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using absl::StatusCode;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

class WaitingAppendsTest : public testing::Test {
 protected:
  struct Waiter final : public SpoolWaiter {
    void OnSynced(const absl::Status&) override {}
  };

  std::shared_ptr<SegmentWriter> Segment(const std::string& name) {
    return NewSegment(dir_.path(), 65536, name);
  }

  // Appends `num_records` for the waiter with this number.
  void Append(int waiter, int num_records,
              const std::shared_ptr<SegmentWriter>& segment) {
    const uint64_t first = segment->num_records();
    for (int i = 0; i < num_records; ++i) {
      ASSERT_OK(segment->Append(FeedbackRecord("f")));
    }
    waiting_.Add(&waiters_[static_cast<size_t>(waiter)], segment, first);
  }

  // Returns the numbers of the waiters that have new answers.
  std::vector<std::pair<int, StatusCode>> TakeAnswers() {
    std::vector<std::pair<int, StatusCode>> answers;
    for (const auto& [waiter, status] : waiting_.TakeAnswers()) {
      answers.emplace_back(static_cast<Waiter*>(waiter) - waiters_.data(),
                           status.code());
    }
    return answers;
  }

  const TempDir dir_;
  const absl::Status lost_ = absl::UnavailableError("lost");
  std::array<Waiter, 4> waiters_;
  WaitingAppends waiting_;
};

TEST_F(WaitingAppendsTest, ASyncAnswersWhatWasAppendedBeforeIt) {
  const auto segment = Segment("1.seg");
  Append(0, 1, segment);
  Append(1, 2, segment);
  waiting_.AnswerDurable();
  EXPECT_THAT(TakeAnswers(), IsEmpty());
  ASSERT_OK(segment->Sync());
  Append(2, 1, segment);
  waiting_.AnswerDurable();
  EXPECT_THAT(TakeAnswers(),
              ElementsAre(Pair(0, StatusCode::kOk), Pair(1, StatusCode::kOk)));
  EXPECT_EQ(waiting_.size(), 1u);
  ASSERT_OK(segment->Close());
  waiting_.AnswerDurable();
  EXPECT_THAT(TakeAnswers(), ElementsAre(Pair(2, StatusCode::kOk)));
  EXPECT_TRUE(waiting_.empty());
}

// Records 0 | 1 2 | 3 | 4 of four appends; record 0 was synced, 2 is lost.
TEST_F(WaitingAppendsTest, OnlyThoseThatLostARecordHearOfIt) {
  const auto from = Segment("1.seg");
  const auto to = Segment("2.seg");
  Append(0, 1, from);
  Append(1, 2, from);
  Append(2, 1, from);
  Append(3, 1, to);
  UnsyncedFrames unsynced;
  unsynced.first_record = 1;
  unsynced.intact = {true, false, true};
  waiting_.Move(*from, unsynced, to, to->num_records(), lost_);
  EXPECT_THAT(TakeAnswers(), ElementsAre(Pair(1, StatusCode::kUnavailable)));
  // The others wait for the segment to which their records went.
  ASSERT_OK(from->Sync());
  waiting_.AnswerDurable();
  EXPECT_THAT(TakeAnswers(), IsEmpty());
  ASSERT_OK(to->Sync());
  waiting_.AnswerDurable();
  EXPECT_THAT(TakeAnswers(),
              ElementsAre(Pair(0, StatusCode::kOk), Pair(2, StatusCode::kOk),
                          Pair(3, StatusCode::kOk)));
}

// The segment to which records were saved fails as well.
TEST_F(WaitingAppendsTest, RecordsCanBeLostAfterTheyWereSaved) {
  const auto first = Segment("1.seg");
  const auto second = Segment("2.seg");
  const auto third = Segment("3.seg");
  Append(0, 1, first);
  UnsyncedFrames unsynced;
  unsynced.intact = {true};
  ASSERT_OK(second->Append(FeedbackRecord("f")));
  waiting_.Move(*first, unsynced, second, 0, lost_);
  EXPECT_THAT(TakeAnswers(), IsEmpty());
  unsynced.intact = {false};
  waiting_.Move(*second, unsynced, third, 0, lost_);
  EXPECT_THAT(TakeAnswers(), ElementsAre(Pair(0, StatusCode::kUnavailable)));
}

TEST_F(WaitingAppendsTest, AnswersThoseInCertainSegments) {
  const std::vector<std::shared_ptr<SegmentWriter>> segments = {
      Segment("1.seg"), Segment("2.seg"), Segment("3.seg")};
  for (int i = 0; i < 3; ++i) Append(i, 1, segments[static_cast<size_t>(i)]);
  waiting_.AnswerIn(std::span(segments).first(2), lost_);
  EXPECT_THAT(TakeAnswers(), ElementsAre(Pair(0, StatusCode::kUnavailable),
                                         Pair(1, StatusCode::kUnavailable)));
  waiting_.AnswerAll(absl::OkStatus());
  EXPECT_THAT(TakeAnswers(), ElementsAre(Pair(2, StatusCode::kOk)));
  EXPECT_EQ(waiting_.LongestSeconds(WaitingAppends::Clock::now()), 0);
}

}  // namespace
}  // namespace sortition
