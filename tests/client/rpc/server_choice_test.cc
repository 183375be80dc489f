#include "client/rpc/server_choice.h"

#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

using Clock = ServerChoice::Clock;

class ServerChoiceTest : public testing::Test {
 protected:
  // Returns an id that chooses `server`.
  std::string IdOf(size_t server, int skip = 0) const {
    const ServerChoice fresh(choice_.addresses(), 0);
    for (int i = 0;; ++i) {
      const std::string id = absl::StrCat(i);
      if (fresh.Of(id) == server && skip-- == 0) return id;
    }
  }

  size_t First() const { return choice_.Route(id_, now_).front(); }

  void CallFails() {
    choice_.Begin(0, now_);
    choice_.Failed(0, now_);
  }

  ServerChoice choice_{{"a:1", "b:1"}, 1};
  const std::string id_ = IdOf(0);
  Clock::time_point now_ = Clock::time_point() + std::chrono::hours(1);
};

TEST_F(ServerChoiceTest, AServerThatFailedIsAvoidedAndThenTriedByOneCall) {
  EXPECT_EQ(First(), 0u);
  CallFails();
  EXPECT_EQ(First(), 1u);
  now_ += ServerChoice::kFirstAvoidance;
  EXPECT_EQ(First(), 0u);
  choice_.Begin(0, now_);
  EXPECT_EQ(First(), 1u);  // Until the call that tries it has come back.
  choice_.Answered(0);
  EXPECT_EQ(First(), 0u);
}

TEST_F(ServerChoiceTest, ThePauseDoublesUpToItsMaximum) {
  for (const int pause : {200, 400, 800, 1600, 3200, 6400, 10000, 10000}) {
    CallFails();
    now_ += milliseconds(pause - 1);
    EXPECT_EQ(First(), 1u) << pause;
    now_ += milliseconds(1);
    EXPECT_EQ(First(), 0u) << pause;
  }
}

TEST_F(ServerChoiceTest, CallsThatFailTogetherAreOneFailure) {
  for (int i = 0; i < 50; ++i) choice_.Begin(0, now_);
  for (int i = 0; i < 50; ++i) choice_.Failed(0, now_);
  now_ += ServerChoice::kFirstAvoidance;
  EXPECT_EQ(First(), 0u);
}

TEST_F(ServerChoiceTest, NewIdsAvoidServersThatAreAway) {
  CallFails();
  for (int i = 0; i < 50; ++i) {
    const std::string id = choice_.NewDecisionId(now_);
    EXPECT_EQ(choice_.Of(id), 1u);
    EXPECT_THAT(choice_.Route(id, now_), ElementsAre(1, 0));
  }
}

TEST_F(ServerChoiceTest, IfAllAreAwayTheirOrderIsThatOfTheId) {
  choice_.Failed(0, now_);
  choice_.Failed(1, now_);
  EXPECT_THAT(choice_.Route(id_, now_), ElementsAre(0, 1));
  EXPECT_FALSE(choice_.NewDecisionId(now_).empty());
}

TEST_F(ServerChoiceTest, ARouteHasEachServerOnce) {
  const ServerChoice three({"a:1", "b:1", "c:1"}, 0);
  for (int i = 0; i < 20; ++i) {
    EXPECT_THAT(three.Route(absl::StrCat(i), now_),
                UnorderedElementsAre(0, 1, 2));
  }
}

TEST_F(ServerChoiceTest, TheServersOfTheLastDecisionsThatMovedAreRemembered) {
  choice_.Decided(id_, 1);
  EXPECT_EQ(choice_.Of(id_), 1u);
  EXPECT_THAT(choice_.Route(id_, now_), ElementsAre(1, 0));
  const ServerChoice fresh(choice_.addresses(), 0);
  size_t moved = 1;
  for (int i = 0; moved <= ServerChoice::kMaxMoved; ++i) {
    const std::string id = absl::StrCat("other-", i);
    if (fresh.Of(id) != 0) continue;
    choice_.Decided(id, 1);
    EXPECT_EQ(choice_.Of(id), 1u);
    ++moved;
  }
  EXPECT_EQ(choice_.Of(id_), 0u);
}

TEST_F(ServerChoiceTest, ARetryIsWorthTenAnswers) {
  EXPECT_TRUE(choice_.TakeRetry());
  EXPECT_FALSE(choice_.TakeRetry());
  for (int i = 0; i < 9; ++i) choice_.Answered(0);
  EXPECT_FALSE(choice_.TakeRetry());
  choice_.Answered(1);
  EXPECT_TRUE(choice_.TakeRetry());
  for (int i = 0; i < 100; ++i) choice_.Answered(0);
  EXPECT_TRUE(choice_.TakeRetry());
  EXPECT_FALSE(choice_.TakeRetry());  // The budget is no larger than at first.
}

}  // namespace
}  // namespace sortition
