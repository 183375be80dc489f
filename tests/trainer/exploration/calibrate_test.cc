#include "trainer/exploration/calibrate.h"

#include <cmath>

#include "gmock/gmock.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "tests/testing/temp_dir.h"
#include "tests/trainer/status_codes.h"
#include "tests/trainer/synthetic_tuples.h"
#include "trainer/commands.h"
#include "trainer/exploration/calibrate_report.h"

namespace sortition {
namespace {

using testing::HasSubstr;

class CalibrateTest : public testing::Test {
 protected:
  // Writes a log of version 1, which will be calibrated.
  void Prepare(const SyntheticLog& log, const model::v1::Model& model) {
    const auto tuples = MakeTuples(log, 3000);
    WriteSegment(dir_.Sub("tuples"), 0, tuples);
    ASSERT_OK(store_.Publish(model, nullptr, {tuples[0].decision()}));
    options_.set_tuples(dir_.Sub("tuples"));
    options_.set_model_store(dir_.Sub("models"));
  }
  void Prepare(const SyntheticLog& log) { Prepare(log, LoggingModel(log)); }

  // Returns a model with an abstain score of 1.2; the best of six candidates is
  // below it in every fourth query.
  static model::v1::Model Abstaining(double mixture) {
    model::v1::Model model = LoggingModel({});
    model.mutable_policy()->set_uniform_mixture(mixture);
    model.mutable_policy()->mutable_softmax_selection()->set_abstain_score(1.2);
    for (int j = 0; j < 2; ++j) model.set_weights(j, 2 * model.weights(j));
    return model;
  }

  size_t NumVersions() const { return store_.ListVersions("default")->size(); }

  TempDir dir_;
  ModelStore store_{dir_.Sub("models")};
  config::v1::CalibrateOptions options_;
};

TEST_F(CalibrateTest, PublishesTheTemperatureAtWhichItAbstainsAsItsRule) {
  Prepare({}, Abstaining(0.02));
  options_.set_publish(true);
  options_.set_force(true);
  ASSERT_OK_AND_ASSIGN(const auto report, Calibrate(options_));
  ASSERT_TRUE(report.has_alpha()) << report.problem();
  EXPECT_EQ(report.version(), 1);
  EXPECT_EQ(report.published_version(), 2);
  const config::v1::CalibrateReport::Row* calibrated = nullptr;
  for (const auto& row : report.rows()) {
    if (row.calibrated()) calibrated = &row;
  }
  ASSERT_NE(calibrated, nullptr);
  EXPECT_EQ(calibrated->alpha(), report.alpha());
  EXPECT_NEAR(calibrated->abstention_rate(), report.map_abstention_rate(),
              report.exact() ? 1e-9 : 0.0101);
  // The current temperature does not already do so.
  EXPECT_GT(std::fabs(report.rows(3).abstention_rate() -
                      report.map_abstention_rate()),
            0.01);
  ASSERT_OK_AND_ASSIGN(const StoredModel stored, store_.Load("default", 2));
  EXPECT_EQ(stored.model.policy().inverse_temperature(), report.alpha());
  EXPECT_EQ(stored.model.policy().uniform_mixture(), 0.02);
  EXPECT_EQ(stored.model.weights(0), 1);
  EXPECT_EQ(stored.warmup.size(), 1);
  EXPECT_THAT(stored.model.provenance().comment(), HasSubstr("version 1 with"));
  ASSERT_OK_AND_ASSIGN(const auto evaluation,
                       store_.LoadEvaluation("default", 2));
  EXPECT_THAT(evaluation.verdict(), HasSubstr("no gate compared them"));
  EXPECT_EQ(evaluation.ips_reward().value(),
            calibrated->evaluation().ips_reward().value());
  const std::string text = FormatCalibration(report);
  EXPECT_THAT(text, HasSubstr("Calibrated: alpha = "));
  EXPECT_THAT(text, HasSubstr("default version 2 published by --force"));
}

TEST_F(CalibrateTest, TheTableSharpensWithAlphaAndEndsInMap) {
  Prepare({});
  ASSERT_OK_AND_ASSIGN(const auto report, Calibrate(options_));
  EXPECT_FALSE(report.has_published_version());
  EXPECT_EQ(NumVersions(), 1);
  for (int i = 1; i < report.rows_size(); ++i) {
    EXPECT_GT(report.rows(i).map_probability(),
              report.rows(i - 1).map_probability());
    EXPECT_LT(report.rows(i).entropy(), report.rows(i - 1).entropy());
  }
  const auto& map = report.rows(report.rows_size() - 1);
  EXPECT_FALSE(map.has_alpha());
  EXPECT_EQ(map.map_probability(), 1);
  EXPECT_EQ(map.abstention_rate(), report.map_abstention_rate());
  // At the current temperature the policy is the logging policy: every weight
  // is 1, and the interval is that of a mean.
  for (const auto& row : report.rows()) {
    if (row.alpha() != 1) continue;
    const auto& evaluation = row.evaluation();
    EXPECT_NEAR(evaluation.effective_sample_size(),
                static_cast<double>(evaluation.test_tuples()), 1e-6);
    EXPECT_NEAR(evaluation.ips_reward().value(),
                evaluation.logging_reward().value(), 1e-9);
    EXPECT_NEAR(evaluation.ips_reward().lower(),
                evaluation.logging_reward().lower(), 1e-9);
  }
}

TEST_F(CalibrateTest, RefusesGames) {
  model::v1::Model model = LoggingModel({});
  model.mutable_policy()->mutable_game_ranking()->set_discount(
      model::v1::GameRanking::DCG);
  Prepare({}, model);
  EXPECT_THAT(Calibrate(options_).status().message(),
              HasSubstr("version 1 of model 'default' plays a game"));
}

// The rows of the table use the logging distribution: weights are 1 at the
// current temperature.
TEST_F(CalibrateTest, BoltzmannRankingsAreWeighedAsSuch) {
  SyntheticLog log;
  log.action_kind = ActionKind::kRank;
  log.boltzmann.emplace().set_rank_weights(model::v1::BoltzmannRanking::DCG);
  log.boltzmann->set_head(4);
  log.boltzmann->set_plackett_luce_mixture(0.2);
  Prepare(log);
  options_.add_alphas(0.5);
  options_.add_alphas(1);
  ASSERT_OK_AND_ASSIGN(const auto report, Calibrate(options_));
  ASSERT_EQ(report.rows_size(), 3);
  const auto& half = report.rows(0).evaluation();
  const auto& present = report.rows(1).evaluation();
  EXPECT_NEAR(present.effective_sample_size(),
              static_cast<double>(present.test_tuples()), 1e-6);
  EXPECT_LT(half.effective_sample_size(),
            0.99 * static_cast<double>(half.test_tuples()));
}

TEST_F(CalibrateTest, RankFactorsAreWeighedAsSuch) {
  SyntheticLog log;
  log.action_kind = ActionKind::kRank;
  log.rank_factors = {2, 0.5};
  Prepare(log);
  options_.add_alphas(0.5);
  options_.add_alphas(1);
  ASSERT_OK_AND_ASSIGN(const auto report, Calibrate(options_));
  ASSERT_EQ(report.rows_size(), 3);
  const auto& half = report.rows(0).evaluation();
  const auto& present = report.rows(1).evaluation();
  EXPECT_NEAR(present.effective_sample_size(),
              static_cast<double>(present.test_tuples()), 1e-6);
  EXPECT_LT(half.effective_sample_size(),
            0.99 * static_cast<double>(half.test_tuples()));
}

TEST_F(CalibrateTest, OutOfReachPublishesNothingAndPrintsTheTable) {
  // MAP nearly always abstains; half of the actions are uniform.
  model::v1::Model model = LoggingModel({});
  model.mutable_policy()->set_uniform_mixture(0.5);
  model.mutable_policy()->mutable_softmax_selection()->set_abstain_score(9);
  Prepare({}, model);
  options_.set_publish(true);
  options_.set_force(true);
  ASSERT_OK_AND_ASSIGN(const auto report, Calibrate(options_));
  EXPECT_FALSE(report.has_alpha());
  EXPECT_THAT(report.problem(), HasSubstr("in a share of 1 (tolerance 0.01)"));
  EXPECT_EQ(NumVersions(), 1);
  EXPECT_EQ(report.rows_size(), 8);
  EXPECT_EQ(RunTrainer({"calibrate", "--tuples=" + options_.tuples(),
                        "--model_store=" + options_.model_store()}),
            kExitError);
}

TEST_F(CalibrateTest, RankingsHaveATableOnly) {
  SyntheticLog log;
  log.action_kind = ActionKind::kRank;
  Prepare(log);
  options_.add_alphas(0.5);
  options_.add_alphas(2);
  ASSERT_OK_AND_ASSIGN(const auto report, Calibrate(options_));
  EXPECT_EQ(report.rows_size(), 3);
  EXPECT_FALSE(report.has_problem());
  EXPECT_THAT(FormatCalibration(report),
              HasSubstr("This policy cannot abstain: there is no rate"));
  options_.set_publish(true);
  options_.set_force(true);
  EXPECT_THAT(Calibrate(options_),
              StatusIs(kFailed, HasSubstr("cannot abstain")));
}

TEST_F(CalibrateTest, EstimatesUseNoTupleThatTheModelMayHaveLearnedFrom) {
  Prepare({});
  // The published version has the parent 2, so that only tuples of version 2 or
  // later can validate and test it.
  model::v1::Model model = LoggingModel({});
  model.mutable_provenance()->set_parent_version(2);
  ASSERT_OK(store_.Publish(model, nullptr, {}));
  EXPECT_THAT(Calibrate(options_),
              StatusIs(kFailed, HasSubstr("0 to validate, 0 to test, logged by "
                                          "version 2 or later")));
  options_.set_version(1);
  EXPECT_OK(Calibrate(options_));
}

TEST_F(CalibrateTest, ALogOfAbstentionsCannotJudgeWhoCannotAbstain) {
  // If the abstentions were left out, the weights of the other actions would be
  // too large.
  SyntheticLog no_abstaining;
  no_abstaining.can_abstain = false;
  Prepare({}, LoggingModel(no_abstaining));
  EXPECT_THAT(Calibrate(options_),
              StatusIs(kFailed, HasSubstr("tuples abstained, which version 1 "
                                          "of model 'default' cannot")));
}

TEST_F(CalibrateTest, NothingIsReplacedWithoutForce) {
  Prepare({});
  options_.set_publish(true);
  EXPECT_THAT(Calibrate(options_),
              StatusIs(kFailed, HasSubstr("then add --force")));
  EXPECT_EQ(NumVersions(), 1);
}

TEST_F(CalibrateTest, LabelsAreRefused) {
  model::v1::Model labels = LoggingModel({});
  labels.clear_weights();
  labels.mutable_weights()->Resize(static_cast<int>(2 * labels.num_features()),
                                   0.5);
  labels.mutable_policy()->set_uniform_mixture(0);
  labels.mutable_policy()->mutable_independent_labels()->set_num_labels(2);
  Prepare({}, labels);
  EXPECT_THAT(Calibrate(options_),
              StatusIs(kFailed,
                       "version 1 of model 'default' has the policy "
                       "independent_labels, must have softmax_selection, "
                       "plackett_luce, sorted_ranking or boltzmann_ranking"));
  options_.set_publish(true);
  options_.set_force(true);
  EXPECT_THAT(Calibrate(options_),
              StatusIs(kFailed, HasSubstr("independent_labels")));
  EXPECT_EQ(NumVersions(), 1);
}

TEST_F(CalibrateTest, ErrorsNameWhatIsWrong) {
  Prepare({});
  options_.set_version(7);
  EXPECT_THAT(Calibrate(options_), StatusIs(absl::StatusCode::kNotFound));
  options_.set_version(0);
  options_.set_alpha_min(5);
  options_.set_alpha_max(2);
  EXPECT_THAT(Calibrate(options_),
              StatusIs(kInvalid, HasSubstr("alpha_min is 5")));
  options_.clear_alpha_min();
  options_.set_reward_max(0.5);
  EXPECT_THAT(Calibrate(options_),
              StatusIs(kInvalid, HasSubstr("must be in [0, 0.5]")));
  options_.clear_reward_max();
  options_.set_model("other");
  EXPECT_THAT(Calibrate(options_), StatusIs(absl::StatusCode::kNotFound,
                                            HasSubstr("model 'other' has no")));
}

TEST_F(CalibrateTest, CommandLineWritesTheReport) {
  Prepare({}, Abstaining(0));
  const std::string path = dir_.Sub("report") + "/calibration.json";
  const std::vector<std::string> arguments = {
      "calibrate", "--tuples=" + options_.tuples(),
      "--model_store=" + options_.model_store(), "--alphas=0.5,2",
      "--report=" + path};
  EXPECT_EQ(RunTrainer(arguments), kExitOk);
  ASSERT_OK_AND_ASSIGN(const std::string json, ReadFile(path));
  config::v1::CalibrateReport report;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(json, &report).ok());
  EXPECT_EQ(report.rows_size(), 4);  // 0.5, 2, calibrated, MAP.
  EXPECT_TRUE(report.has_alpha());
  EXPECT_EQ(NumVersions(), 1);
  std::vector<std::string> publish = arguments;
  publish.push_back("--publish");
  EXPECT_EQ(RunTrainer(publish), kExitError);
  publish.push_back("--force");
  EXPECT_EQ(RunTrainer(publish), kExitOk);
  EXPECT_EQ(NumVersions(), 2);
  EXPECT_EQ(RunTrainer({"calibrate", "--help"}), kExitOk);
  EXPECT_EQ(RunTrainer({"calibrate"}), kExitUsage);
}

}  // namespace
}  // namespace sortition
