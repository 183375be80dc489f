// Rewards by rank through a stream: two servers whose users report to either,
// three brokers, and one sidecar that joins. The trainer learns, both servers
// swap, and the ledger is equal whatever is killed.
#include <signal.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/integration/ranks/rank_checks.h"
#include "tests/integration/ranks/rank_users.h"
#include "tests/integration/streams/stream_fixture.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

constexpr size_t kServers = 2;

class RankStreamTest : public StreamTest {
 protected:
  void KillPublisherAndConsumer() {
    shippers_[0]->Kill();
    consumer_->Kill();
    StartShipper(0);
    StartConsumer();
  }
  void KillLeader() {
    NatsServer& leader = brokers_->server(Leader());
    leader.Kill();
    leader.Start();
  }

  const TempDir store_;  // Of both servers.
};

TEST_F(RankStreamTest, LearnsFromRewardsByRankAndTheLedgerIsEqual) {
  window_ = Patience(4);
  server_flags_ = {"--model_store=" + store_.path(), "--poll_seconds=1"};
  PublishFirstVersion(store_.path());
  StartServers(/*num_brokers=*/3, kServers);
  for (size_t i = 0; i < kServers; ++i) StartShipper(i);
  StartConsumer();
  WaitForCopies();
  RankUsers users({sites_[0]->address(), sites_[1]->address()},
                  /*num_threads=*/2);
  users.Start(kFirstAnswers);
  ASSERT_TRUE(users.WaitForHalf());
  KillPublisherAndConsumer();
  ASSERT_TRUE(users.Finish());
  WaitForTuples(Tuples(), users.sessions().size());

  TrainSecondVersion(Tuples(), store_.path());
  // The version before answers until the next look at the store.
  users.Start(kLaterAnswers, /*version=*/2);
  ASSERT_TRUE(users.WaitForHalf());
  KillLeader();
  ASSERT_TRUE(users.Finish());
  WaitForTuples(Tuples(), users.sessions().size());
  for (size_t i = 0; i < kServers; ++i) {
    End(&sites_[i]->server());
    End(shippers_[i].get());
  }
  End(consumer_.get());

  ExpectLogOf(users, Tuples(), store_.path());
  ExpectMoreClicks(users, kServers);
  ExpectRankEstimates(users, Tuples(), store_.path());
}

}  // namespace
}  // namespace sortition
