#include "trainer/train.h"

#include "core/base/hash.h"
#include "core/counterfactual/moments.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "tests/testing/temp_dir.h"
#include "tests/trainer/synthetic_tuples.h"
#include "trainer/commands.h"
#include "trainer/report.h"
#include "trainer/tuples/tuple_convert.h"

namespace sortition {
namespace {

using testing::HasSubstr;

// Writes the tuples of `log` to one directory, and their logging model as
// version 1 to another.
class TrainTest : public testing::Test {
 protected:
  void Prepare(const SyntheticLog& log, size_t n) {
    WriteSegment(dir_.Sub("tuples"), 0, MakeTuples(log, n));
    ASSERT_OK(store_.Publish(LoggingModel(log), nullptr, {}));
    options_.set_tuples(dir_.Sub("tuples"));
    options_.set_model_store(dir_.Sub("models"));
    options_.mutable_poem()->add_lambda(0.5);
    options_.mutable_poem()->add_l2(1e-4);
  }

  TempDir dir_;
  ModelStore store_{dir_.Sub("models")};
  config::v1::TrainOptions options_;
};

TEST_F(TrainTest, PublishesABetterSelection) {
  Prepare({}, 4000);
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  EXPECT_TRUE(report.gate_passed());
  EXPECT_EQ(report.version(), 2);
  EXPECT_EQ(report.parent_version(), 1);
  EXPECT_EQ(report.read_tuples(), 4000);
  ASSERT_OK_AND_ASSIGN(const StoredModel stored, store_.Load("default", 2));
  EXPECT_EQ(stored.model.provenance().learner(), "poem");
  EXPECT_EQ(stored.model.provenance().parent_version(), 1);
  EXPECT_EQ(stored.model.policy().uniform_mixture(), 0.02);
  EXPECT_TRUE(stored.model.policy().softmax_selection().has_abstain_score());
  EXPECT_EQ(stored.warmup.size(), 100);
  // The hidden weights are (1, 1, 1, 0, 0); the logging policy had the second
  // with the wrong sign.
  for (int j = 0; j < 3; ++j) EXPECT_GT(stored.model.weights(j), 0.3) << j;
  ASSERT_OK_AND_ASSIGN(const auto evaluation,
                       store_.LoadEvaluation("default", 2));
  EXPECT_TRUE(evaluation.promoted());
  EXPECT_GT(evaluation.improvement().lower(), 0);
  EXPECT_LT(evaluation.ips_reward().lower(), evaluation.snips_reward().value());
  EXPECT_GT(evaluation.ips_reward().upper(), evaluation.snips_reward().value());
  // One point of the grid with two starts.
  ASSERT_EQ(evaluation.grid_size(), 2);
  EXPECT_NE(evaluation.grid(0).chosen(), evaluation.grid(1).chosen());
  EXPECT_THAT(evaluation.verdict(), HasSubstr("Published: with 95 % conf"));
  EXPECT_THAT(FormatReport(report), HasSubstr("default version 2, parent 1"));
}

TEST_F(TrainTest, PublishesABetterRanking) {
  SyntheticLog log;
  log.action_kind = ActionKind::kRank;
  // Weights of orders have heavy tails, so that the bound needs more tuples
  // than for a single choice.
  Prepare(log, 16000);
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  EXPECT_TRUE(report.gate_passed()) << FormatReport(report);
  ASSERT_OK_AND_ASSIGN(const StoredModel stored, store_.Load("default", 2));
  EXPECT_TRUE(stored.model.policy().has_plackett_luce());
}

TEST_F(TrainTest, EveryObjectiveLearnsABetterSelectionAndRanking) {
  using config::v1::PoemOptions;
  for (const ActionKind kind : {ActionKind::kSelect, ActionKind::kRank}) {
    SyntheticLog log;
    log.action_kind = kind;
    log.top_k = 1;  // Weights of whole orders need more tuples.
    const TempDir dir;
    WriteSegment(dir.Sub("tuples"), 0, MakeTuples(log, 4000));
    ASSERT_OK(
        ModelStore(dir.Sub("models")).Publish(LoggingModel(log), nullptr, {}));
    config::v1::TrainOptions options;
    options.set_tuples(dir.Sub("tuples"));
    options.set_model_store(dir.Sub("models"));
    options.set_dry_run(true);
    PoemOptions* poem = options.mutable_poem();
    poem->set_start(PoemOptions::ZERO);
    poem->add_l2(1e-4);
    poem->set_optimiser(PoemOptions::BATCH);
    for (int number = PoemOptions::Objective_MIN;
         number <= PoemOptions::Objective_MAX; ++number) {
      poem->set_objective(static_cast<PoemOptions::Objective>(number));
      ASSERT_OK_AND_ASSIGN(const auto report, Train(options));
      EXPECT_TRUE(report.gate_passed()) << FormatReport(report);
      EXPECT_THAT(FormatReport(report),
                  HasSubstr(PoemOptions::Objective_Name(poem->objective())));
    }
  }
}

TEST_F(TrainTest, OptionsThatDoNotGoTogetherStopBeforeAnythingIsRead) {
  Prepare({}, 10);
  options_.set_tuples(dir_.Sub("none"));
  options_.mutable_poem()->set_objective(
      config::v1::PoemOptions::SELF_NORMALISED);
  EXPECT_THAT(Train(options_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("optimiser is STOCHASTIC, must be BATCH")));
  EXPECT_EQ(
      RunTrainer({"train", "--tuples=" + dir_.Sub("tuples"),
                  "--model_store=" + dir_.Sub("models"), "--objective=CRM",
                  "--lambda=1", "--lambda_factor=0.1"}),
      kExitError);
}

TEST_F(TrainTest, GateKeepsNoiseOutAndForceOverrides) {
  SyntheticLog log;
  log.rewards_are_noise = true;
  Prepare(log, 2000);
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  EXPECT_FALSE(report.gate_passed());
  EXPECT_FALSE(report.has_version());
  EXPECT_FALSE(report.evaluation().promoted());
  EXPECT_THAT(report.evaluation().verdict(), HasSubstr("Not published"));
  EXPECT_THAT(store_.ListVersions("default"),
              testing::Property(&absl::StatusOr<std::vector<uint64_t>>::value,
                                testing::ElementsAre(1)));
  options_.set_force(true);
  ASSERT_OK_AND_ASSIGN(const auto forced, Train(options_));
  EXPECT_FALSE(forced.gate_passed());
  EXPECT_EQ(forced.version(), 2);
  EXPECT_THAT(forced.evaluation().verdict(), HasSubstr("by --force"));
}

TEST_F(TrainTest, TheResultDoesNotDependOnTheNumberOfThreads) {
  Prepare({}, 1500);
  const ModelStore other(dir_.Sub("other"));
  ASSERT_OK(other.Publish(LoggingModel({}), nullptr, {}));
  options_.mutable_poem()->add_lambda(0);
  options_.set_force(true);
  options_.mutable_poem()->set_threads(1);
  ASSERT_OK(Train(options_));
  options_.mutable_poem()->set_threads(4);
  options_.set_model_store(other.root());
  ASSERT_OK(Train(options_));
  ASSERT_OK_AND_ASSIGN(const StoredModel one, store_.Load("default", 2));
  ASSERT_OK_AND_ASSIGN(const StoredModel four, other.Load("default", 2));
  for (int j = 0; j < one.model.weights_size(); ++j) {
    EXPECT_EQ(one.model.weights(j), four.model.weights(j));
  }
  ASSERT_OK_AND_ASSIGN(auto first, store_.LoadEvaluation("default", 2));
  ASSERT_OK_AND_ASSIGN(auto second, other.LoadEvaluation("default", 2));
  EXPECT_EQ(first.SerializeAsString(), second.SerializeAsString());
}

TEST_F(TrainTest, TheGateComparesWithTheNewestVersionOnly) {
  Prepare({}, 4000);
  ASSERT_OK_AND_ASSIGN(const auto first, Train(options_));
  ASSERT_EQ(first.version(), 2);
  // Version 1 logged everything: the reward of version 2 is not known.
  EXPECT_THAT(Train(options_),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("of version 2, 0 to validate, 0 to test")));
  options_.set_force(true);
  ASSERT_OK_AND_ASSIGN(const auto forced, Train(options_));
  EXPECT_FALSE(forced.gate_passed());
  EXPECT_EQ(forced.version(), 3);
  EXPECT_GT(forced.evaluation().test_tuples(), 800);
  EXPECT_THAT(forced.evaluation().verdict(),
              HasSubstr("too few tuples of version 2"));
}

TEST_F(TrainTest, OlderVersionsTrainAndTheNewestTests) {
  Prepare({}, 1000);
  // A second version logs too, and all its tuples are rewarded.
  ASSERT_OK(store_.Publish(LoggingModel({}), nullptr, {}));
  SyntheticLog newest;
  newest.version = 2;
  std::vector<log::v1::BanditTuple> tuples;
  for (int i = 0; i < 400; ++i) {
    tuples.push_back(MakeTuple(newest, absl::StrCat("new", i)));
    tuples.back().set_reward(1);
  }
  WriteSegment(dir_.Sub("tuples"), 1, tuples);
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  const auto& evaluation = report.evaluation();
  EXPECT_EQ(evaluation.logging_reward().value(), 1);
  EXPECT_FALSE(report.gate_passed());
  EXPECT_EQ(report.parent_version(), 2);
  // Binomial(400, 1/4) tuples, deviation 8.7, are for testing; all those of
  // version 1 are for training.
  EXPECT_NEAR(static_cast<double>(evaluation.test_tuples()), 100, 44);
  EXPECT_EQ(evaluation.train_tuples() + evaluation.validation_tuples() +
                evaluation.test_tuples(),
            1400);
  EXPECT_GT(evaluation.train_tuples(), 1100);
}

TEST_F(TrainTest, TheNewestVersionSaysWhetherToAbstain) {
  // Version 1 could abstain, version 2 cannot.
  Prepare({}, 1000);
  SyntheticLog newest;
  newest.version = 2;
  newest.can_abstain = false;
  ASSERT_OK(store_.Publish(LoggingModel(newest), nullptr, {}));
  std::vector<log::v1::BanditTuple> tuples;
  for (int i = 0; i < 1000; ++i) {
    tuples.push_back(MakeTuple(newest, absl::StrCat("new", i)));
  }
  WriteSegment(dir_.Sub("tuples"), 1, tuples);
  options_.set_force(true);
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  ASSERT_OK_AND_ASSIGN(const StoredModel stored, store_.Load("default", 3));
  EXPECT_FALSE(stored.model.policy().softmax_selection().has_abstain_score());
  // The parent is of the same family: a second start.
  EXPECT_EQ(report.evaluation().grid_size(), 2);
  // The abstentions of version 1 are nothing that version 3 could do, and no
  // sign of wrong propensities.
  EXPECT_GT(report.excluded().at(ReasonText(LeftOutReason::kAbstained)), 50);
  const auto& overlap = report.evaluation().train_overlap();
  EXPECT_NEAR(overlap.uniform_mean_weight(), 1,
              5 * overlap.uniform_mean_weight_error());
}

TEST_F(TrainTest, TheGateLooksAtTheTestPartOnly) {
  // In the test part all rewards are inverted: what looks better in training
  // and validation is worse there.
  Prepare({}, 0);
  std::vector<log::v1::BanditTuple> tuples = MakeTuples({}, 4000);
  Moments test_rewards;
  uint64_t validation = 0;
  for (auto& tuple : tuples) {
    const double split = UnitInterval(
        StableHash(HashDomain::kSplit, {tuple.decision().decision_id()}));
    if (split >= 0.25) {
      if (split < 0.5) ++validation;
      continue;
    }
    tuple.set_reward(1 - tuple.reward());
    test_rewards.Add(tuple.reward());
  }
  WriteSegment(dir_.Sub("tuples"), 1, tuples);
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  const auto& evaluation = report.evaluation();
  EXPECT_EQ(evaluation.test_tuples(), test_rewards.count());
  EXPECT_EQ(evaluation.validation_tuples(), validation);
  EXPECT_NEAR(evaluation.logging_reward().value(), test_rewards.mean(), 1e-12);
  EXPECT_LT(evaluation.improvement().value(), -0.05);
  EXPECT_FALSE(report.gate_passed());
  EXPECT_FALSE(report.has_version());
  for (const auto& point : evaluation.grid()) {
    EXPECT_GT(point.validation_lower(), 0);
  }
}

TEST_F(TrainTest, WhatWasShownInsteadEarnsForTheLoggingPolicyOnly) {
  // Rewards are coin flips, but for half of the failures the front end shows
  // something else, which earns 1.
  SyntheticLog noise;
  noise.rewards_are_noise = true;
  Prepare(noise, 0);
  std::vector<log::v1::BanditTuple> tuples = MakeTuples(noise, 2000);
  uint64_t mended = 0;
  for (size_t i = 0; i < tuples.size(); i += 2) {
    if (tuples[i].reward() == 1) continue;
    tuples[i].set_reward(1);
    tuples[i].mutable_shown()->add_shown(
        tuples[i].decision().action(0) == 0 ? 1 : 0);
    ++mended;
  }
  WriteSegment(dir_.Sub("tuples"), 1, tuples);
  options_.set_test_fraction(0.7);
  options_.set_validation_fraction(0.1);
  options_.set_dry_run(true);
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  EXPECT_EQ(report.shown_otherwise(), mended);
  EXPECT_TRUE(report.excluded().empty());
  // With the front end the mean reward is 3/4 (deviation 0.012 for 1400
  // tuples). Among tuples whose action was shown it is 2/3, which any policy
  // would seem to earn. The actions themselves are known to earn 1/2.
  EXPECT_NEAR(report.evaluation().logging_reward().value(), 0.75, 0.04);
  EXPECT_NEAR(report.evaluation().ips_reward().value(), 0.5, 0.06);
  EXPECT_THAT(FormatReport(report),
              HasSubstr("with weight 0: something else than the action"));
}

TEST_F(TrainTest, DryRunPublishesNothing) {
  Prepare({}, 3000);
  options_.set_dry_run(true);
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  EXPECT_TRUE(report.gate_passed());
  EXPECT_FALSE(report.has_version());
  EXPECT_THAT(report.evaluation().verdict(), HasSubstr("dry run"));
}

TEST_F(TrainTest, RewardsInOtherUnitsComeBackInThem) {
  // With reward 10 r - 3 in the same log, the estimates are transformed, and
  // the policy is the same up to rounding.
  Prepare({}, 3000);
  options_.set_dry_run(true);
  ASSERT_OK_AND_ASSIGN(const auto plain, Train(options_));
  std::vector<log::v1::BanditTuple> tuples = MakeTuples({}, 3000);
  for (auto& tuple : tuples) tuple.set_reward(10 * tuple.reward() - 3);
  WriteSegment(dir_.Sub("scaled"), 0, tuples);
  options_.set_tuples(dir_.Sub("scaled"));
  options_.set_reward_min(-3);
  options_.set_reward_max(7);
  ASSERT_OK_AND_ASSIGN(const auto scaled, Train(options_));
  EXPECT_NEAR(scaled.evaluation().ips_reward().lower(),
              10 * plain.evaluation().ips_reward().lower() - 3, 1e-9);
  EXPECT_NEAR(scaled.evaluation().improvement().lower(),
              10 * plain.evaluation().improvement().lower(), 1e-9);
  EXPECT_NEAR(scaled.evaluation().grid(0).validation_reward(),
              10 * plain.evaluation().grid(0).validation_reward() - 3, 1e-9);
}

TEST_F(TrainTest, SaysWhatIsMissing) {
  Prepare({}, 3);
  constexpr auto kFailed = absl::StatusCode::kFailedPrecondition;
  EXPECT_THAT(Train(options_), StatusIs(kFailed, HasSubstr("of version 1, ")));
  options_.set_model("other");
  EXPECT_THAT(Train(options_),
              StatusIs(kFailed, HasSubstr("3 left out: other model")));
  options_.set_model("default");
  options_.set_test_fraction(0.7);
  options_.set_validation_fraction(0.3);
  EXPECT_THAT(Train(options_), StatusIs(absl::StatusCode::kInvalidArgument,
                                        HasSubstr("must be below 1")));
}

TEST_F(TrainTest, EqualRewardsAreRefused) {
  Prepare({}, 1);
  std::vector<log::v1::BanditTuple> tuples = MakeTuples({}, 100);
  for (auto& tuple : tuples) tuple.set_reward(0);
  WriteSegment(dir_.Sub("constant"), 0, tuples);
  options_.set_tuples(dir_.Sub("constant"));
  EXPECT_THAT(Train(options_),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("training tuples have the reward 0")));
}

TEST_F(TrainTest, AReportThatCannotBeWrittenStopsBeforeAnythingIsPublished) {
  Prepare({}, 3000);
  const std::vector<std::string> arguments = {
      "train", "--tuples=" + dir_.Sub("tuples"),
      "--model_store=" + dir_.Sub("models"), "--poem.lambda=0.5"};
  for (const std::string& report :
       {dir_.Sub("report"), dir_.Sub("report") + "/missing/report.json"}) {
    std::vector<std::string> with_report = arguments;
    with_report.push_back("--report=" + report);
    EXPECT_EQ(RunTrainer(with_report), kExitError);
  }
  EXPECT_EQ(store_.ListVersions("default")->size(), 1);
  // If training fails, it leaves no files.
  const std::string path = dir_.Sub("report") + "/report.json";
  EXPECT_EQ(
      RunTrainer({"train", "--tuples=" + dir_.Sub("none"),
                  "--model_store=" + dir_.Sub("models"), "--report=" + path}),
      kExitError);
  EXPECT_TRUE(std::filesystem::is_empty(dir_.Sub("report")));
}

TEST_F(TrainTest, CommandLineExitsWithTheVerdict) {
  Prepare({}, 3000);
  const std::string report_path = dir_.Sub("report") + "/report.json";
  const std::vector<std::string> arguments = {
      "train",
      "--tuples=" + dir_.Sub("tuples"),
      "--model_store=" + dir_.Sub("models"),
      "--poem.lambda=0.5",
      "--poem.l2=0.0001",
      "--report=" + report_path};
  EXPECT_EQ(RunTrainer(arguments), kExitOk);
  ASSERT_OK_AND_ASSIGN(const std::string json, ReadFile(report_path));
  config::v1::TrainReport report;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(json, &report).ok());
  EXPECT_EQ(report.version(), 2);
  EXPECT_EQ(report.evaluation().grid_size(), 2);

  SyntheticLog noise;
  noise.version = 2;
  noise.rewards_are_noise = true;
  WriteSegment(dir_.Sub("noise"), 0, MakeTuples(noise, 500));
  EXPECT_EQ(RunTrainer({"train", "--tuples=" + dir_.Sub("noise"),
                        "--model_store=" + dir_.Sub("models")}),
            kExitGateSaysNo);
  EXPECT_EQ(RunTrainer({"train", "--tuples=" + dir_.Sub("noise")}), kExitError);
  EXPECT_EQ(RunTrainer({"train", "--help"}), kExitOk);
  EXPECT_EQ(RunTrainer({"--help"}), kExitOk);
  EXPECT_EQ(RunTrainer({"retrain"}), kExitError);
}

}  // namespace
}  // namespace sortition
