// Rewards by rank through a spool, with the real programs: users click, the
// sidecar joins, the trainer learns from clicks and seen ranks, the server
// swaps, users click more. A ledger says what every tuple must be.
#include <signal.h>

#include <string>

#include "gtest/gtest.h"
#include "tests/integration/deployment.h"
#include "tests/integration/ranks/rank_checks.h"
#include "tests/integration/ranks/rank_users.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

class RanksLoopTest : public testing::Test {
 protected:
  void StartSidecar() {
    ASSERT_OK(
        deployment_.StartSidecar({JoinWindow(4), "--segment_seconds=0.5"}));
  }
  void KillSidecar() {
    deployment_.sidecar().Kill();
    StartSidecar();
  }

  Deployment deployment_;
};

TEST_F(RanksLoopTest, LearnsFromRewardsByRankAndTheLedgerIsEqual) {
  const std::string tuples = deployment_.tuples();
  const std::string models = deployment_.models();
  PublishFirstVersion(models);
  ASSERT_OK(deployment_.StartServer(
      {"--poll_seconds=1", "--spool.segment_seconds=0.5"}));
  StartSidecar();
  RankUsers users({deployment_.address()}, /*num_threads=*/2);
  users.Start(kFirstAnswers);
  ASSERT_TRUE(users.WaitForHalf());
  KillSidecar();
  ASSERT_TRUE(users.Finish());
  WaitForTuples(tuples, users.sessions().size());

  TrainSecondVersion(tuples, models);
  // The version before answers until the next look at the store.
  users.Start(kLaterAnswers, /*version=*/2);
  ASSERT_TRUE(users.WaitForHalf());
  KillSidecar();
  ASSERT_TRUE(users.Finish());
  WaitForTuples(tuples, users.sessions().size());
  deployment_.server().Signal(SIGTERM);
  EXPECT_EQ(deployment_.server().Wait(kPatienceSeconds), 0);
  deployment_.sidecar().Signal(SIGTERM);
  EXPECT_EQ(deployment_.sidecar().Wait(kPatienceSeconds), 0);

  ExpectLogOf(users, tuples, models);
  ExpectMoreClicks(users, /*num_servers=*/1);
  ExpectRankEstimates(users, tuples, models);
}

}  // namespace
}  // namespace sortition
