// The table of explorations as `calibrate` makes it.
#include "gmock/gmock.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "tests/testing/temp_dir.h"
#include "tests/trainer/status_codes.h"
#include "tests/trainer/synthetic_tuples.h"
#include "trainer/commands.h"
#include "trainer/exploration/calibrate.h"
#include "trainer/exploration/calibrate_report.h"

namespace sortition {
namespace {

using testing::HasSubstr;
using testing::Not;

class CalibrateExplorationsTest : public testing::Test {
 protected:
  // Writes a log of version 1.
  void Prepare(const SyntheticLog& log) {
    const auto tuples = MakeTuples(log, 3000);
    WriteSegment(dir_.Sub("tuples"), 0, tuples);
    ASSERT_OK(
        store_.Publish(LoggingModel(log), nullptr, {tuples[0].decision()}));
    options_.set_tuples(dir_.Sub("tuples"));
    options_.set_model_store(dir_.Sub("models"));
  }

  static SyntheticLog Rankings() {
    SyntheticLog log;
    log.action_kind = ActionKind::kRank;
    return log;
  }

  TempDir dir_;
  ModelStore store_{dir_.Sub("models")};
  config::v1::CalibrateOptions options_;
};

// The present row is that of the present temperature.
TEST_F(CalibrateExplorationsTest, AgreesWithTheTableOfTemperatures) {
  Prepare(Rankings());
  options_.add_alphas(1);
  options_.add_explorations("pl:alpha=1:uniform=0.1");
  ASSERT_OK_AND_ASSIGN(const auto report, Calibrate(options_));
  const auto& table = report.explorations();
  ASSERT_GT(table.rows_size(), 2);
  const auto& present = table.rows(0);
  const auto& own = table.rows(table.rows_size() - 1);
  const auto& evaluation = report.rows(0).evaluation();
  EXPECT_EQ(table.test_tuples(), evaluation.test_tuples());
  for (const auto& row : {present, own}) {
    EXPECT_NEAR(row.reward().value(), evaluation.ips_reward().value(), 1e-9);
    EXPECT_NEAR(row.reward().lower(), evaluation.ips_reward().lower(), 1e-9);
    EXPECT_NEAR(row.effective_sample_size(),
                static_cast<double>(table.test_tuples()), 1e-6);
  }
  const auto& by_score = table.rows(1);
  const auto& map = report.rows(1).evaluation();
  EXPECT_NEAR(by_score.snips_reward().value(), map.snips_reward().value(),
              1e-9);
  EXPECT_NEAR(by_score.reward().value(), map.ips_reward().value(), 1e-9);
  const std::string text = FormatCalibration(report);
  EXPECT_THAT(text, HasSubstr("P(MAP)"));
  EXPECT_THAT(text, HasSubstr("Explorations of the same scores"));
}

TEST_F(CalibrateExplorationsTest, SortedRankingsHaveThisTableOnly) {
  SyntheticLog log = Rankings();
  log.sorted.emplace().set_swap_probability(0.4);
  Prepare(log);
  ASSERT_OK_AND_ASSIGN(const auto report, Calibrate(options_));
  EXPECT_EQ(report.rows_size(), 0);
  const auto& table = report.explorations();
  EXPECT_FALSE(table.has_problem()) << table.problem();
  EXPECT_EQ(table.cost_reference(), "order by score");
  EXPECT_NEAR(table.rows(0).effective_sample_size(),
              static_cast<double>(table.test_tuples()), 1e-6);
  EXPECT_GT(table.rows(0).decisions(), 0);
  const std::string text = FormatCalibration(report);
  EXPECT_THAT(text, Not(HasSubstr("P(MAP)")));
  EXPECT_THAT(text, HasSubstr("only tables"));
}

TEST_F(CalibrateExplorationsTest, BoltzmannRankingsHaveNone) {
  SyntheticLog log = Rankings();
  log.boltzmann.emplace().set_rank_weights(model::v1::BoltzmannRanking::DCG);
  log.boltzmann->set_head(6);
  Prepare(log);
  ASSERT_OK_AND_ASSIGN(const auto report, Calibrate(options_));
  EXPECT_FALSE(report.has_explorations());
  EXPECT_GT(report.rows_size(), 0);
  options_.set_delta(0.1);
  EXPECT_THAT(Calibrate(options_),
              StatusIs(kFailed, HasSubstr("version 1 of model 'default' has "
                                          "the policy boltzmann_ranking, must "
                                          "have plackett_luce or sorted_")));
}

TEST_F(CalibrateExplorationsTest, MistakesAreFoundBeforeTheLogIsRead) {
  Prepare(Rankings());
  options_.set_tuples("/nowhere");
  options_.add_explorations("pl,sorted:swap=0.7");
  EXPECT_THAT(Calibrate(options_),
              StatusIs(kInvalid, HasSubstr("exploration 'sorted:swap=0.7': ")));
  options_.clear_explorations();
  options_.set_against(1);
  EXPECT_THAT(Calibrate(options_),
              StatusIs(kInvalid, HasSubstr("against is 1, the calibrated")));
  options_.set_against(7);
  EXPECT_THAT(Calibrate(options_), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(CalibrateExplorationsTest, TellsFromAnotherVersion) {
  Prepare(Rankings());
  model::v1::Model better = LoggingModel(Rankings());
  better.set_weights(1, 0.5);
  ASSERT_OK(store_.Publish(better, nullptr, {}));
  options_.set_version(1);
  options_.set_against(2);
  options_.set_delta(0.2);
  ASSERT_OK_AND_ASSIGN(const auto report, Calibrate(options_));
  const auto& table = report.explorations();
  EXPECT_EQ(table.target(), "version 2");
  EXPECT_EQ(table.delta(), 0.2);
  EXPECT_FALSE(table.has_problem()) << table.problem();
  options_.clear_against();
  ASSERT_OK_AND_ASSIGN(const auto sharper, Calibrate(options_));
  EXPECT_EQ(sharper.explorations().target(), "the same at alpha = 2");
  EXPECT_NE(sharper.explorations().rows(0).deviation(),
            table.rows(0).deviation());
}

TEST_F(CalibrateExplorationsTest, RefusesVersionsOfOtherKindsAndFeatures) {
  Prepare(Rankings());
  model::v1::Model other = LoggingModel(Rankings());
  other.mutable_policy()->mutable_game_ranking()->set_discount(
      model::v1::GameRanking::DCG);
  ASSERT_OK(store_.Publish(other, nullptr, {}));
  options_.set_version(1);
  options_.set_against(2);
  EXPECT_THAT(Calibrate(options_),
              StatusIs(kFailed, HasSubstr("against: version 2 of model "
                                          "'default' has the policy "
                                          "game_ranking, must have")));
  model::v1::Model wider = LoggingModel(Rankings());
  wider.mutable_hidden_layer()->set_num_units(1);
  for (int j = 0; j < 5; ++j) wider.mutable_hidden_layer()->add_weights(0.1);
  wider.mutable_hidden_layer()->add_biases(0);
  wider.add_weights(1);
  ASSERT_OK(store_.Publish(wider, nullptr, {}));
  options_.set_against(3);
  EXPECT_THAT(Calibrate(options_),
              StatusIs(kFailed, HasSubstr("other features, trees or hidden")));
}

TEST_F(CalibrateExplorationsTest, CommandLineWritesTheReport) {
  Prepare(Rankings());
  const std::string path = dir_.Sub("report") + "/calibration.json";
  const std::vector<std::string> arguments = {
      "calibrate",
      "--tuples=" + options_.tuples(),
      "--model_store=" + options_.model_store(),
      "--explorations=pl:factors=4/2/1,sorted:swap=0.3",
      "--explorations=sorted:shuffle=0.1x3",
      "--delta=0.03",
      "--report=" + path};
  EXPECT_EQ(RunTrainer(arguments), kExitOk);
  ASSERT_OK_AND_ASSIGN(const std::string json, ReadFile(path));
  config::v1::CalibrateReport report;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(json, &report).ok());
  const auto& table = report.explorations();
  EXPECT_EQ(table.delta(), 0.03);
  const int n = table.rows_size();
  ASSERT_GT(n, 3);
  EXPECT_EQ(table.rows(n - 3).exploration(), "pl:factors=4/2/1");
  EXPECT_EQ(table.rows(n - 2).exploration(), "sorted:swap=0.3");
  EXPECT_EQ(table.rows(n - 1).exploration(), "sorted:shuffle=0.1x3");
  EXPECT_TRUE(table.rows(0).has_decisions());
  std::vector<std::string> wrong = arguments;
  wrong.push_back("--explorations=pl:warm");
  EXPECT_EQ(RunTrainer(wrong), kExitError);
  std::vector<std::string> nothing_to_tell = arguments;
  nothing_to_tell.push_back("--delta=0");
  EXPECT_NE(RunTrainer(nothing_to_tell), kExitOk);
}

}  // namespace
}  // namespace sortition
