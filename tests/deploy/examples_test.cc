// The example configurations are what the programs of today accept.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/features/feature_transform.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "process/metrics.h"
#include "process/options/options.h"
#include "server/identity/identity.h"
#include "server/identity/tokens.h"
#include "sortition/config/v1/rollout.pb.h"
#include "sortition/config/v1/server.pb.h"
#include "sortition/config/v1/sidecar.pb.h"
#include "sortition/config/v1/train.pb.h"
#include "tests/testing/child_process.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "trainer/labelled/labelled_frame.h"
#include "trainer/labelled/learner_choice.h"
#include "trainer/offpolicy/frame_options.h"
#include "trainer/rollout/rollout_plan.h"

namespace sortition {
namespace {

// Returns the options of a process that is started with --config=NAME alone.
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
  EXPECT_EQ(server.spool().dir(), sidecar.spool(0));
  EXPECT_EQ(server.feedback().reward_min(), sidecar.join().reward_min());
  EXPECT_EQ(server.feedback().reward_max(), sidecar.join().reward_max());
  EXPECT_EQ(sidecar.tuples(), trainer.tuples());
  EXPECT_EQ(trainer.model_store(), server.model_store());
  EXPECT_EQ(trainer.model(), server.default_model());
  EXPECT_OK(ChooseLearner(trainer));
}

// What `train --rollout` begins, `rollout` goes on with.
TEST(ExamplesTest, RolloutsAreOfTheTrainersModel) {
  const auto trainer =
      ParseExample<config::v1::TrainOptions>("trainer.textproto");
  const auto rollout =
      ParseExample<config::v1::RolloutOptions>("rollout.textproto");
  EXPECT_EQ(rollout.tuples(), trainer.tuples());
  EXPECT_EQ(rollout.model_store(), trainer.model_store());
  EXPECT_EQ(rollout.model(), trainer.model());
  EXPECT_EQ(rollout.plan().SerializeAsString(),
            trainer.plan().SerializeAsString());
  EXPECT_OK(CompletePlan(rollout.plan()));
}

// Their tokens are known, and the script makes what the server reads.
TEST(ExamplesTest, OfIdentityAreCompleteAndFitEachOther) {
  auto server =
      ParseExample<config::v1::ServerOptions>("identity/server.textproto");
  const std::string folder = std::string(SORTITION_EXAMPLES) + "/identity/";
  const TempDir dir;
  ASSERT_OK_AND_ASSIGN(
      const FinishedProcess made,
      RunToEnd({"/bin/sh", "-c",
                absl::StrCat("cd ", dir.path(), " && ", folder,
                             "make_certificates.sh ranking.example")}));
  ASSERT_EQ(made.exit_code, 0) << made.stderr_text;
  const auto here = [&](std::string* path, const std::string& parent) {
    *path = parent + path->substr(path->rfind('/') + 1);
  };
  const std::string parent = dir.path() + "/";
  here(server.mutable_tls()->mutable_certificate_file(), parent);
  here(server.mutable_tls()->mutable_key_file(), parent);
  here(server.mutable_tls()->mutable_client_ca_file(), parent);
  here(server.mutable_token_file(), folder);
  Metrics metrics;
  ASSERT_OK_AND_ASSIGN(const auto identity, Identity::Open(server, &metrics));
  ASSERT_OK_AND_ASSIGN(const std::string tokens, ReadFile(server.token_file()));
  ASSERT_OK_AND_ASSIGN(const TokenTable table,
                       TokenTable::Parse(tokens, server.token_file()));
  EXPECT_NE(table.Find("change-me-1"), nullptr);
  EXPECT_EQ(table.size(), 3u);
}

// Together they do what the sidecar does, for the same server and trainer.
TEST(ExamplesTest, StreamLeadsFromTheSpoolToTheTuples) {
  const auto sidecar =
      ParseExample<config::v1::SidecarOptions>("sidecar.textproto");
  const auto publish =
      ParseExample<config::v1::SidecarOptions>("publish.textproto");
  const auto consume =
      ParseExample<config::v1::SidecarOptions>("consume.textproto");
  EXPECT_EQ(publish.spool(0), sidecar.spool(0));
  EXPECT_EQ(publish.publish().url(), consume.consume().url());
  EXPECT_EQ(publish.publish().stream(), consume.consume().stream());
  EXPECT_EQ(consume.spool(0), consume.mirror() + "/*");
  EXPECT_EQ(consume.tuples(), sidecar.tuples());
  EXPECT_EQ(consume.join().SerializeAsString(),
            sidecar.join().SerializeAsString());
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
      info.make_labelled(mpg, {.num_features = 46, .max_relevance = 2}));
  EXPECT_EQ(learner->measure().Name(), "DCG@10");
}

// What the demo and the documents use for questions and sentences.
TEST(ExamplesTest, FeaturesOfAnswersAreDeclared) {
  ASSERT_OK_AND_ASSIGN(
      const model::v1::FeatureSpec spec,
      ReadFeatureSpec(absl::StrCat(SORTITION_SOURCES,
                                   "/deploy/features/answers.textproto")));
  ASSERT_OK_AND_ASSIGN(const Schema schema, Schema::Create(spec.schema()));
  const TempDir dir;
  ASSERT_OK(WriteFile(dir / "answers.tsv",
                      "Who came?\tAnn Lee came.\t1\nWho came?\tNo.\t0\n"));
  ASSERT_OK_AND_ASSIGN(const LabelledQueries data,
                       ReadQueries(dir / "answers.tsv", &schema));
  ASSERT_OK_AND_ASSIGN(const model::v1::Features features,
                       LearnFromQueries(spec, data.queries, {}));
  EXPECT_OK(FeatureTransform::Create(features));
}

std::vector<std::string> Examples() {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(SORTITION_EXAMPLES)) {
    if (entry.path().extension() == ".textproto") {
      names.push_back(entry.path().stem());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Returns the examples for `train`; the others are for other processes.
std::vector<std::string> TrainExamples() {
  std::vector<std::string> names = Examples();
  std::erase_if(names, [](const std::string& name) {
    return name == "server" || name == "sidecar" || name == "publish" ||
           name == "consume" || name == "rollout";
  });
  return names;
}

class TrainExampleTest : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Examples, TrainExampleTest,
                         testing::ValuesIn(TrainExamples()),
                         [](const auto& name) { return name.param; });

TEST_P(TrainExampleTest, IsAcceptedByItsLearner) {
  const auto options =
      ParseExample<config::v1::TrainOptions>(GetParam() + ".textproto");
  ASSERT_OK_AND_ASSIGN(const LearnerInfo info, ChooseLearner(options));
  const auto server =
      ParseExample<config::v1::ServerOptions>("server.textproto");
  EXPECT_EQ(options.model_store(), server.model_store());
  if (info.make_labelled == nullptr) return;
  EXPECT_TRUE(GetParam().starts_with(options.learner()));
  ASSERT_OK_AND_ASSIGN(
      const auto learner,
      info.make_labelled(options, {.num_features = 46, .max_relevance = 2}));
  const ActionKind action = options.action() == "select" ? ActionKind::kSelect
                            : options.action() == "rank" ? ActionKind::kRank
                            : options.action() == "label"
                                ? ActionKind::kSubset
                                : learner->default_action();
  LabelledPolicyTask task{.action_kind = action,
                          .uniform_mixture = options.uniform_mixture(),
                          .game = options.game_policy(),
                          .rank = options.rank_policy()};
  EXPECT_OK(learner->MakePolicy(task));
  for (const double alpha : options.inverse_temperature()) {
    EXPECT_TRUE(learner->has_temperature());
    task.inverse_temperature = alpha;
    EXPECT_OK(learner->MakePolicy(task));
  }
}

// A learner without an example is one that nobody finds.
TEST(ExamplesTest, EveryLearnerOfLabelsHasOne) {
  const std::vector<std::string> names = TrainExamples();
  for (const LearnerInfo& learner : ListLearners()) {
    if (learner.make_labelled == nullptr) continue;
    EXPECT_THAT(names, testing::Contains(std::string(learner.name)));
  }
}

}  // namespace
}  // namespace sortition
