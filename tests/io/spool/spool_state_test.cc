#include "io/spool/spool_state.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

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

}  // namespace
}  // namespace sortition
