#include "trainer/exploration/calibrate.h"

#include <memory>
#include <span>

#include "core/counterfactual/moments.h"
#include "core/policies/distribution_factory.h"
#include "google/protobuf/util/json_util.h"
#include "io/files.h"
#include "tests/trainer/exploration/small_world.h"
#include "tests/trainer/synthetic_tuples.h"
#include "trainer/commands.h"
#include "trainer/exploration/calibrate_report.h"
#include "trainer/exploration/exploration_notation.h"
#include "trainer/exploration/exploration_table.h"

namespace sortition {
namespace {

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
  EXPECT_THAT(text, HasTexts("Calibrated: alpha = ",
                             "default version 2 published by --force"));
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
class CalibrateRankingsTest : public CalibrateTest,
                              public testing::WithParamInterface<SyntheticLog> {
};

TEST_P(CalibrateRankingsTest, AreWeighedAsSuch) {
  Prepare(GetParam());
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

std::vector<SyntheticLog> BoltzmannAndFactors() {
  SyntheticLog boltzmann{.action_kind = ActionKind::kRank};
  boltzmann.boltzmann.emplace().set_rank_weights(
      model::v1::BoltzmannRanking::DCG);
  boltzmann.boltzmann->set_head(4);
  boltzmann.boltzmann->set_plackett_luce_mixture(0.2);
  return {boltzmann,
          {.action_kind = ActionKind::kRank, .rank_factors = {2, 0.5}}};
}

INSTANTIATE_TEST_SUITE_P(Policies, CalibrateRankingsTest,
                         testing::ValuesIn(BoltzmannAndFactors()),
                         [](const auto& test) {
                           return test.param.boltzmann ? "Boltzmann"
                                                       : "Factors";
                         });

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
  SyntheticLog log{.action_kind = ActionKind::kRank};
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
  EXPECT_THAT(Calibrate(options_), IsFailedPrecondition("cannot abstain"));
}

TEST_F(CalibrateTest, EstimatesUseNoTupleThatTheModelMayHaveLearnedFrom) {
  Prepare({});
  // The published version has the parent 2, so that only tuples of version 2 or
  // later can validate and test it.
  model::v1::Model model = LoggingModel({});
  model.mutable_provenance()->set_parent_version(2);
  ASSERT_OK(store_.Publish(model, nullptr, {}));
  EXPECT_THAT(Calibrate(options_),
              IsFailedPrecondition("0 to validate, 0 to test, logged by "
                                   "version 2 or later"));
  options_.set_version(1);
  EXPECT_OK(Calibrate(options_));
}

TEST_F(CalibrateTest, ALogOfAbstentionsCannotJudgeWhoCannotAbstain) {
  // If the abstentions were left out, the weights of the other actions would be
  // too large.
  SyntheticLog no_abstaining{.can_abstain = false};
  Prepare({}, LoggingModel(no_abstaining));
  EXPECT_THAT(Calibrate(options_),
              IsFailedPrecondition("tuples abstained, which version 1 "
                                   "of model 'default' cannot"));
}

TEST_F(CalibrateTest, NothingIsReplacedWithoutForce) {
  Prepare({});
  options_.set_publish(true);
  EXPECT_THAT(Calibrate(options_), IsFailedPrecondition("then add --force"));
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
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "version 1 of model 'default' has the policy "
                       "independent_labels, must have softmax_selection, "
                       "plackett_luce, sorted_ranking or boltzmann_ranking"));
  options_.set_publish(true);
  options_.set_force(true);
  EXPECT_THAT(Calibrate(options_), IsFailedPrecondition("independent_labels"));
  EXPECT_EQ(NumVersions(), 1);
}

TEST_F(CalibrateTest, ErrorsNameWhatIsWrong) {
  Prepare({});
  options_.set_version(7);
  EXPECT_THAT(Calibrate(options_), IsNotFound());
  options_.set_version(0);
  options_.set_alpha_min(5);
  options_.set_alpha_max(2);
  EXPECT_THAT(Calibrate(options_), IsInvalidArgument("alpha_min is 5"));
  options_.clear_alpha_min();
  options_.set_reward_max(0.5);
  EXPECT_THAT(Calibrate(options_), IsInvalidArgument("must be in [0, 0.5]"));
  options_.clear_reward_max();
  options_.set_model("other");
  EXPECT_THAT(Calibrate(options_), IsNotFound("model 'other' has no"));
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

// The table of explorations as `calibrate` makes it.

using CalibrateExplorationsTest = CalibrateTest;

SyntheticLog Rankings() { return {.action_kind = ActionKind::kRank}; }

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
  EXPECT_THAT(text, HasTexts("P(MAP)", "Explorations of the same scores"));
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
              IsFailedPrecondition("version 1 of model 'default' has "
                                   "the policy boltzmann_ranking, must "
                                   "have plackett_luce or sorted_"));
}

TEST_F(CalibrateExplorationsTest, MistakesAreFoundBeforeTheLogIsRead) {
  Prepare(Rankings());
  options_.set_tuples("/nowhere");
  options_.add_explorations("pl,sorted:swap=0.7");
  EXPECT_THAT(Calibrate(options_),
              IsInvalidArgument("exploration 'sorted:swap=0.7': "));
  options_.clear_explorations();
  options_.set_against(1);
  EXPECT_THAT(Calibrate(options_),
              IsInvalidArgument("against is 1, the calibrated"));
  options_.set_against(7);
  EXPECT_THAT(Calibrate(options_), IsNotFound());
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
              IsFailedPrecondition("against: version 2 of model "
                                   "'default' has the policy "
                                   "game_ranking, must have"));
  model::v1::Model wider = LoggingModel(Rankings());
  wider.mutable_hidden_layer()->set_num_units(1);
  for (int j = 0; j < 5; ++j) wider.mutable_hidden_layer()->add_weights(0.1);
  wider.mutable_hidden_layer()->add_biases(0);
  wider.add_weights(1);
  ASSERT_OK(store_.Publish(wider, nullptr, {}));
  options_.set_against(3);
  EXPECT_THAT(Calibrate(options_),
              IsFailedPrecondition("other features, trees or hidden"));
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

// What a log predicts of explorations, against logs that they wrote.

constexpr size_t kDecisions = 40000;
constexpr uint32_t kCandidates = 5;
constexpr uint32_t kRanks = 2;

model::v1::Policy PolicyOf(const std::string& name, double alpha = 1.5) {
  return *ParseExploration(name, alpha);
}

ScoredCandidates Scored(std::span<const double> scores) {
  ScoredCandidates scored;
  scored.scores = scores;
  scored.top_k = kRanks;
  return scored;
}

// Decisions about random queries: five candidates, of which two are ranked.
class Simulation {
 public:
  Simulation(const std::string& policy, const std::string& seed)
      : distribution_(*MakeActionDistribution(PolicyOf(policy))), seed_(seed) {}

  BanditTuple Decide(size_t i) const {
    const Hash128 key =
        StableHash(HashDomain::kSimulation, {absl::StrCat(seed_, i)});
    RandomSequence random(key);
    BanditTuple tuple = WorldTuple({}, 0, 0, i);
    tuple.values.clear();
    std::vector<double> scores;
    for (uint32_t d = 0; d < kCandidates; ++d) {
      tuple.values.push_back(static_cast<float>(random.Normal()));
      scores.push_back(tuple.values.back());
    }
    Draw draw;
    distribution_->Sample(Scored(scores), CounterRandom(key, 1), &draw);
    tuple.action = draw.action;
    tuple.log_propensity = draw.log_propensity;
    // Candidates of scores near 0.5 please most.
    const double miss = scores[draw.action[0]] - 0.5;
    const double miss_below = scores[draw.action[1]] - 0.5;
    const double pleases = 0.1 + 0.5 * std::exp(-miss * miss) +
                           0.3 * std::exp(-miss_below * miss_below);
    tuple.loss = random.Uniform() < pleases ? -1 : 0;
    return tuple;
  }

 private:
  std::unique_ptr<const ActionDistribution> distribution_;
  std::string seed_;
};

double LogProbability(const ActionDistribution& distribution,
                      const BanditTuple& tuple) {
  const std::vector<double> scores(tuple.values.begin(), tuple.values.end());
  return distribution.LogPropensity(Scored(scores), tuple.action);
}

TEST(SimulatedExplorationTest, FreshLogsSpreadAsWasPredicted) {
  const Simulation logged("pl:alpha=1", "logged");
  std::vector<BanditTuple> tuples;
  Moments rewards;
  for (size_t i = 0; i < kDecisions; ++i) {
    tuples.push_back(logged.Decide(i));
    rewards.Add(-tuples.back().loss);
  }
  google::protobuf::RepeatedPtrField<std::string> named;
  for (const char* const name :
       {"pl:alpha=1:factors=2/0.5", "sorted:shuffle=0.3x5:uniform=0.3",
        "sorted:swap=0.4:uniform=0.2"}) {
    named.Add(name);
  }
  const auto logging = *MakeActionDistribution(PolicyOf("pl", 1));
  const auto present = *MakeActionDistribution(PolicyOf("pl", 1.5));
  const auto target = *MakeActionDistribution(PolicyOf("pl", 3));
  const model::v1::Model model = WorldModel(1.5);
  ASSERT_OK_AND_ASSIGN(const auto table,
                       MeasureExplorations({.model = model,
                                            .validation = tuples,
                                            .test = tuples,
                                            .explorations = named}));
  for (int k = table.rows_size() - named.size(); k < table.rows_size(); ++k) {
    const auto& row = table.rows(k);
    SCOPED_TRACE(row.exploration());
    const Simulation fresh(row.exploration(), "fresh");
    Moments seen;
    Moments squares;
    Moments terms;
    Moments earned;
    for (size_t i = 0; i < kDecisions; ++i) {
      const BanditTuple tuple = fresh.Decide(i);
      const double change = std::exp(LogProbability(*target, tuple)) -
                            std::exp(LogProbability(*present, tuple));
      const double f = change / std::exp(tuple.log_propensity) *
                       (-tuple.loss - rewards.mean());
      seen.Add(f);
      squares.Add(f * f);
      terms.Add(
          std::exp(tuple.log_propensity - LogProbability(*logging, tuple)) * f *
          f * f * f);
      earned.Add(-tuple.loss);
    }
    // Standard errors of the seen and of the predicted variance, whose terms
    // g = e/p f² in the log have E_p[g²] = E_e[e/p f⁴].
    const double error =
        std::sqrt((squares.variance() + terms.mean()) / kDecisions);
    EXPECT_NEAR(row.deviation() * row.deviation(), seen.variance(), 5 * error);
    EXPECT_LT(error, 0.1 * seen.variance());
    // The interval at 95 % and the mean seen; both have errors.
    const double reward_error =
        std::sqrt(earned.variance() / kDecisions) +
        (row.snips_reward().upper() - row.snips_reward().value()) / 1.96;
    EXPECT_NEAR(row.snips_reward().value(), earned.mean(), 5 * reward_error);
  }
}

}  // namespace
}  // namespace sortition
