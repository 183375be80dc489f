// Prediction games from labels to logs and back with the real programs: train
// mpg, publish, serve rankings and subsets under load while the model is
// replaced, log, verify; then POEM learns from that log.
#include <signal.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/integration/loop_fixture.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::HasSubstr;

constexpr int kGamesDecisions = 2000;

struct Loop {
  std::string name;
  std::string action;
  std::vector<std::string> game;     // Options of its training.
  std::vector<std::string> request;  // Options of the requests.
};

class GamesLoopTest : public LoopFixture,
                      public testing::WithParamInterface<Loop> {
 protected:
  // Trains and publishes the next version.
  void TrainGame(const std::string& lambda) {
    std::vector<std::string> arguments = {"sortition-trainer",
                                          "train",
                                          "--learner=mpg",
                                          WorldFlag(),
                                          StoreFlag(),
                                          "--action=" + GetParam().action,
                                          "--game.lambda=" + lambda,
                                          "--uniform_mixture=0.2",
                                          "--force"};
    arguments.insert(arguments.end(), GetParam().game.begin(),
                     GetParam().game.end());
    Run(arguments);
  }

  void Simulate(uint64_t seed, const std::string& until) {
    LoopFixture::Simulate(GetParam().action, seed, until, GetParam().request);
  }
};

TEST_P(GamesLoopTest, ServesLogsAndIsLearnedFrom) {
  Run({"sortition", "world", "--queries=300",
       "--output=" + deployment_.path("world.letor")});
  TrainGame("0.01");
  ASSERT_OK(deployment_.StartServer(
      {"--poll_seconds=0.05", "--spool.segment_seconds=0.5"}));
  ASSERT_OK(deployment_.StartSidecar({JoinWindow(1), "--segment_seconds=0.5"}));
  ExpectServed(1);
  // The first version may serve nothing of the load: learning is fast.
  Simulate(4, "--decisions=20");
  {
    // Every request is answered while the version changes.
    std::jthread load([this] { Simulate(1, "--until_version=2"); });
    TrainGame("0.003");
  }
  Simulate(2, absl::StrCat("--decisions=", kGamesDecisions));

  size_t tuples = 0;
  std::set<uint64_t> versions;
  EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
    tuples = 0;
    versions.clear();
    size_t of_second = 0;
    const absl::Status read =
        VisitRecords(deployment_.tuples(), false, [&](const auto& record) {
          if (!record.has_tuple()) return;
          ++tuples;
          const uint64_t version = record.tuple().decision().version();
          versions.insert(version);
          of_second += version == 2 ? 1 : 0;
        });
    return read.ok() && of_second >= kGamesDecisions;
  }));
  EXPECT_EQ(versions, (std::set<uint64_t>{1, 2}));

  const FinishedProcess learned =
      Run({"sortition-trainer", "train", "--tuples=" + deployment_.tuples(),
           StoreFlag(), "--force"});
  EXPECT_THAT(learned.stdout_text, HasSubstr("effective sample size"));
  ExpectServed(3);
  Simulate(3, "--decisions=200");

  deployment_.server().Signal(SIGTERM);
  EXPECT_EQ(deployment_.server().Wait(kPatienceSeconds), 0);
  deployment_.sidecar().Signal(SIGTERM);
  EXPECT_EQ(deployment_.sidecar().Wait(kPatienceSeconds), 0);
  const FinishedProcess verified =
      Run({"sortition", "log", "verify", deployment_.tuples(), StoreFlag()});
  EXPECT_THAT(verified.stdout_text, HasSubstr(" 0 different, 0 corrupt"));
}

INSTANTIATE_TEST_SUITE_P(
    Measures, GamesLoopTest,
    testing::Values(Loop{"Dcg",
                         "rank",
                         {"--game.measure=DCG", "--game.k=5"},
                         {"--top_k=5"}},
                    Loop{"Precision",
                         "label",
                         {"--game.measure=PRECISION", "--game.k=3"},
                         {"--k=3"}},
                    Loop{"FBeta", "label", {"--game.measure=F_BETA"}, {}}),
    [](const auto& loop) { return loop.param.name; });

}  // namespace
}  // namespace sortition
