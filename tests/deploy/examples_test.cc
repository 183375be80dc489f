// The example configurations are what the programs of today accept.
#include <string>

#include "gtest/gtest.h"
#include "process/options.h"
#include "sortition/config/v1/server.pb.h"
#include "sortition/config/v1/sidecar.pb.h"
#include "sortition/config/v1/trainer.pb.h"
#include "tests/testing/status_matchers.h"
#include "trainer/learner_choice.h"

namespace sortition {
namespace {

// Options as a process gets them that is started with --config=NAME alone.
template <typename Options>
Options ParseExample(const std::string& name) {
  Options options;
  CommandLine command_line;
  EXPECT_OK(
      ParseOptions({"--config=" + std::string(SORTITION_EXAMPLES) + "/" + name},
                   &options, &command_line));
  return options;
}

TEST(ExamplesTest, AreCompleteAndLeadFromOneProcessToTheNext) {
  const auto server =
      ParseExample<config::v1::ServerOptions>("server.textproto");
  const auto sidecar =
      ParseExample<config::v1::SidecarOptions>("sidecar.textproto");
  const auto trainer =
      ParseExample<config::v1::TrainOptions>("trainer.textproto");
  EXPECT_EQ(server.spool().dir(), sidecar.spool());
  EXPECT_EQ(sidecar.tuples(), trainer.tuples());
  EXPECT_EQ(trainer.model_store(), server.model_store());
  EXPECT_EQ(trainer.model(), server.default_model());
  EXPECT_OK(ChooseLearner(trainer));
}

// Learns from labels for the same server.
TEST(ExamplesTest, PredictionGamesAreTrainedForTheServersModel) {
  const auto server =
      ParseExample<config::v1::ServerOptions>("server.textproto");
  const auto mpg = ParseExample<config::v1::TrainOptions>("mpg.textproto");
  EXPECT_EQ(mpg.model_store(), server.model_store());
  EXPECT_EQ(mpg.model(), server.default_model());
  ASSERT_OK_AND_ASSIGN(const LearnerInfo info, ChooseLearner(mpg));
  ASSERT_OK_AND_ASSIGN(
      const auto learner,
      info.make_labelled(OwnOptions(info, mpg),
                         {.num_features = 46, .max_relevance = 2}));
  EXPECT_EQ(learner->measure().Name(), "DCG@10");
}

}  // namespace
}  // namespace sortition
