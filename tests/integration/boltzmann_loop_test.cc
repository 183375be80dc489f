// Boltzmann rankings with the real programs: served, logged, verified bit for
// bit, learned from by POEM under their own law, and served again. Lists are
// shorter and longer than the head.
#include <signal.h>

#include <string>

#include "tests/integration/loop_fixture.h"

namespace sortition {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kBoltzmannFeatures = 6;
constexpr size_t kBoltzmannDecisions = 2000;

// The best eight of up to fourteen candidates come first, except in the shares
// of Plackett-Luce and uniform rankings.
model::v1::Model FirstVersion() {
  model::v1::Model model = RankingModel(kBoltzmannFeatures, 0.1);
  model.mutable_policy()->set_uniform_mixture(0.1);
  auto* boltzmann = model.mutable_policy()->mutable_boltzmann_ranking();
  boltzmann->set_rank_weights(model::v1::BoltzmannRanking::DCG);
  boltzmann->set_cutoff(5);
  boltzmann->set_head(8);
  boltzmann->set_tail_scale(0.5);
  boltzmann->set_plackett_luce_mixture(0.2);
  return model;
}

class BoltzmannLoopTest : public LoopFixture {
 protected:
  // Waits until `number` tuples are written; counts the lists shorter and
  // longer than the head.
  void AwaitTuples(size_t number) {
    EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
      within_head_ = beyond_head_ = 0;
      const absl::Status read =
          VisitRecords(deployment_.tuples(), false, [&](const auto& record) {
            if (!record.has_tuple()) return;
            const auto& decision = record.tuple().decision();
            ++(decision.num_candidates() > 8 ? beyond_head_ : within_head_);
            EXPECT_TRUE(decision.policy().has_boltzmann_ranking());
          });
      return read.ok() && within_head_ + beyond_head_ >= number;
    }));
  }

  size_t within_head_ = 0;
  size_t beyond_head_ = 0;
};

TEST_F(BoltzmannLoopTest, IsServedLoggedVerifiedAndLearned) {
  Run({"sortition", "world", "--queries=300", "--min_candidates=3",
       "--max_candidates=14", "--features=6",
       "--output=" + deployment_.path("world.letor")});
  const model::v1::Model first = FirstVersion();
  ASSERT_OK(
      deployment_.store()
          .Publish(first, nullptr, {}, {.draw_salt = std::string(32, '0')})
          .status());
  ASSERT_OK(deployment_.StartServer(
      {"--poll_seconds=0.05", "--spool.segment_seconds=0.5"}));
  ASSERT_OK(deployment_.StartSidecar({JoinWindow(1), "--segment_seconds=0.5"}));
  ExpectServed(1);
  // Ten ranks: prefixes of long lists reach beyond the head.
  Simulate("rank", 1, absl::StrCat("--decisions=", kBoltzmannDecisions),
           {"--top_k=10"});
  AwaitTuples(kBoltzmannDecisions);
  EXPECT_GT(within_head_, kBoltzmannDecisions / 10);
  EXPECT_GT(beyond_head_, kBoltzmannDecisions / 10);

  const FinishedProcess learned =
      Run({"sortition-trainer", "train", "--tuples=" + deployment_.tuples(),
           StoreFlag(), "--force"});
  EXPECT_THAT(learned.stdout_text, HasSubstr("effective sample size"));
  ASSERT_OK_AND_ASSIGN(const StoredModel second,
                       deployment_.store().Load("default", 2));
  EXPECT_EQ(second.model.policy().boltzmann_ranking().SerializeAsString(),
            first.policy().boltzmann_ranking().SerializeAsString());
  EXPECT_EQ(second.model.policy().inverse_temperature(), 1);
  ExpectServed(2);
  Simulate("rank", 2, "--decisions=200", {"--top_k=10"});
  AwaitTuples(kBoltzmannDecisions + 200);

  deployment_.server().Signal(SIGTERM);
  EXPECT_EQ(deployment_.server().Wait(kPatienceSeconds), 0);
  deployment_.sidecar().Signal(SIGTERM);
  EXPECT_EQ(deployment_.sidecar().Wait(kPatienceSeconds), 0);
  const FinishedProcess verified =
      Run({"sortition", "log", "verify", deployment_.tuples(), StoreFlag()});
  EXPECT_THAT(verified.stdout_text, HasSubstr("2200 decisions verified bit for "
                                              "bit, 0 different, 0 corrupt"));
}

}  // namespace
}  // namespace sortition
