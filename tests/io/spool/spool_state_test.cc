#include "io/spool/spool_state.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "io/spool/waiting_appends.h"
#include "io/spool/writer_state.h"
#include "tests/io/segments/segment_testing.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using absl::StatusCode;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

const absl::Status kNoSpace = absl::ResourceExhaustedError("no space");
const absl::Status kBroken = absl::UnavailableError("broken");

// Each event as "count error", or "again".
std::vector<std::string> Take(SpoolStateMachine* state, int at_seconds) {
  std::vector<std::string> texts;
  for (const SpoolEvent& event : state->TakeEvents(
           SpoolStateMachine::Clock::time_point(seconds(at_seconds)))) {
    texts.push_back(event.is_error
                        ? std::to_string(event.count) + " " + event.error
                        : "again");
  }
  return texts;
}

TEST(SpoolStateMachineTest, ReportsTheFirstFailureThenOnceAMinute) {
  SpoolStateMachine state;
  EXPECT_THAT(Take(&state, 100), IsEmpty());
  state.Fail(SpoolState::kFull, kNoSpace);
  EXPECT_EQ(state.state(), SpoolState::kFull);
  EXPECT_THAT(Take(&state, 100), ElementsAre("1 no space"));
  for (int i = 0; i < 7; ++i) state.Fail(SpoolState::kFull, kNoSpace);
  EXPECT_THAT(Take(&state, 159), IsEmpty());
  EXPECT_THAT(Take(&state, 160), ElementsAre("7 no space"));
  EXPECT_THAT(Take(&state, 300), IsEmpty());
}

TEST(SpoolStateMachineTest, KindsAreReportedApart) {
  SpoolStateMachine state;
  state.Fail(SpoolState::kFull, kNoSpace);
  state.Fail(SpoolState::kIoError, kBroken);
  EXPECT_EQ(state.state(), SpoolState::kIoError);
  EXPECT_THAT(Take(&state, 1), ElementsAre("1 no space", "1 broken"));
}

TEST(SpoolStateMachineTest, ReportsTheEndOnce) {
  SpoolStateMachine state;
  state.Fail(SpoolState::kFull, kNoSpace);
  Take(&state, 1);
  state.Succeed();
  EXPECT_EQ(state.state(), SpoolState::kOk);
  EXPECT_THAT(Take(&state, 2), ElementsAre("again"));
  EXPECT_THAT(Take(&state, 3), IsEmpty());
}

TEST(SpoolStateMachineTest, OnlyRecoverEndsAFailedSync) {
  SpoolStateMachine state;
  state.Fail(SpoolState::kSyncFailed, kBroken);
  state.Succeed();
  state.Fail(SpoolState::kFull, kNoSpace);
  EXPECT_EQ(state.state(), SpoolState::kSyncFailed);
  state.Recover();
  EXPECT_EQ(state.state(), SpoolState::kOk);
}

TEST(SpoolStateMachineTest, OtherTroubleHidesAStall) {
  SpoolStateMachine state;
  state.SetStalled(true);
  state.SetStalled(true);
  EXPECT_EQ(state.state(), SpoolState::kStalled);
  EXPECT_THAT(Take(&state, 1),
              ElementsAre("1 fdatasync has not returned for seconds"));
  state.Fail(SpoolState::kFull, kNoSpace);
  EXPECT_EQ(state.state(), SpoolState::kFull);
  state.Succeed();
  EXPECT_EQ(state.state(), SpoolState::kStalled);
  EXPECT_THAT(Take(&state, 2), ElementsAre("1 no space"));
  state.SetStalled(false);
  EXPECT_EQ(state.state(), SpoolState::kOk);
  EXPECT_THAT(Take(&state, 3), ElementsAre("again"));
}

TEST(SpoolStateMachineTest, WarningsChangeNothing) {
  SpoolStateMachine state;
  state.Warn(kBroken);
  EXPECT_EQ(state.state(), SpoolState::kOk);
  EXPECT_THAT(Take(&state, 1), ElementsAre("1 broken"));
}

WriterState SomeState() {
  return {.newest_segment_us = 0x123456789abc,
          .alive_us = 2,
          .trouble_since_us = 3,
          .durable_us = 4,
          .is_closed = true,
          .boot_id = "01234567-89ab-cdef-0123-456789abcdef"};
}

TEST(WriterStateTest, ComesBackAsItWas) {
  EXPECT_EQ(DecodeWriterState(EncodeWriterState(SomeState())), SomeState());
  EXPECT_EQ(DecodeWriterState(EncodeWriterState({})), WriterState{});
  WriterState without_boot = SomeState();
  without_boot.boot_id = "";
  EXPECT_EQ(DecodeWriterState(EncodeWriterState(without_boot)), without_boot);
}

// It is overwritten in place.
TEST(WriterStateTest, HasOneLength) {
  const size_t length = EncodeWriterState({}).size();
  EXPECT_EQ(EncodeWriterState(SomeState()).size(), length);
  WriterState extreme = SomeState();
  extreme.alive_us = extreme.durable_us = INT64_MAX;
  extreme.boot_id = std::string(100, 'b');
  EXPECT_EQ(EncodeWriterState(extreme).size(), length);
}

// Each byte of a line that is half of one state and half of another.
TEST(WriterStateTest, DistrustsATornLine) {
  const std::string line = EncodeWriterState(SomeState());
  WriterState other_state = SomeState();
  other_state.alive_us = 77;
  const std::string other = EncodeWriterState(other_state);
  const WriterState only_newest{.newest_segment_us = 0x123456789abc};
  int num_torn = 0;
  for (size_t i = 0; i <= line.size(); ++i) {
    const std::string torn = line.substr(0, i) + other.substr(i);
    if (torn == line || torn == other) continue;
    ++num_torn;
    EXPECT_EQ(DecodeWriterState(torn), only_newest) << i;
  }
  EXPECT_GT(num_torn, 10);
}

TEST(WriterStateTest, OfACopyHasTwoLines) {
  WriterState copy = SomeState();
  copy.seen_us = 99;
  const std::string lines = EncodeWriterState(copy);
  EXPECT_EQ(lines.substr(0, EncodeWriterState(SomeState()).size()),
            EncodeWriterState(SomeState()));
  EXPECT_EQ(DecodeWriterState(lines), copy);
  // Half of a later state: neither line may be believed.
  WriterState later = copy;
  later.alive_us = 100;
  later.seen_us = 101;
  const std::string other = EncodeWriterState(later);
  for (size_t i = 0; i <= lines.size(); ++i) {
    const std::string torn = other.substr(0, i) + lines.substr(i);
    if (torn == lines || torn == other) continue;
    EXPECT_EQ(DecodeWriterState(torn).alive_us, 0) << i;
  }
}

TEST(WriterStateTest, ReadsTheLineOfAnOlderServer) {
  EXPECT_EQ(DecodeWriterState("0000000000000abc"),
            WriterState{.newest_segment_us = 0xabc});
  EXPECT_EQ(DecodeWriterState(""), WriterState{});
  EXPECT_EQ(DecodeWriterState("nonsense that is long enough"), WriterState{});
}

TEST(WriterStateTest, AbsentFileHasNoState) {
  const TempDir dir;
  ASSERT_OK_AND_ASSIGN(const WriterState absent, ReadWriterState(dir.path()));
  EXPECT_EQ(absent, WriterState{});
  ASSERT_OK(WriteFile(dir / kWriterLockFile, EncodeWriterState(SomeState())));
  ASSERT_OK_AND_ASSIGN(const WriterState state, ReadWriterState(dir.path()));
  EXPECT_EQ(state, SomeState());
}

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
