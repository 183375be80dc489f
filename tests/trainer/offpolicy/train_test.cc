#include "trainer/train.h"

#include <functional>
#include <string>

#include "core/base/hash.h"
#include "core/learners/counterfactual/counterfactual_grid.h"
#include "core/learners/counterfactual/linear_weights.h"
#include "google/protobuf/util/json_util.h"
#include "io/files.h"
#include "io/models/look_ledger.h"
#include "tests/trainer/offpolicy/train_fixture.h"
#include "trainer/commands.h"
#include "trainer/report.h"
#include "trainer/tuples/tuple_convert.h"

namespace sortition {
namespace {

using TrainTest = TrainFixture;

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
  // The parent, and one point of the grid with two starts.
  ASSERT_EQ(evaluation.grid_size(), 3);
  EXPECT_EQ(evaluation.grid(0).termination(), kNotTrained);
  EXPECT_FALSE(evaluation.grid(0).chosen());
  EXPECT_NE(evaluation.grid(1).chosen(), evaluation.grid(2).chosen());
  EXPECT_THAT(evaluation.verdict(), HasSubstr("Published: with 95 % conf"));
  EXPECT_THAT(FormatReport(report), HasSubstr("default version 2, parent 1"));
}

TEST_F(TrainTest, PublishesABetterRanking) {
  SyntheticLog log{.action_kind = ActionKind::kRank};
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
    SyntheticLog log{.action_kind = kind};
    log.top_k = 1;  // Weights of whole orders need more tuples.
    const TempDir dir;
    WriteSegment(dir.Sub("tuples"), 0, MakeTuples(log, 4000));
    ASSERT_OK(
        ModelStore(dir.Sub("models")).Publish(LoggingModel(log), nullptr, {}));
    config::v1::TrainOptions options;
    options.set_tuples(dir.Sub("tuples"));
    options.set_model_store(dir.Sub("models"));
    options.set_dry_run(true);
    options.set_look_now(true);
    PoemOptions* poem = options.mutable_poem();
    poem->set_start(PoemOptions::ZERO);
    poem->add_l2(1e-4);
    poem->set_optimiser(PoemOptions::BATCH);
    for (int number = PoemOptions::Objective_MIN;
         number <= PoemOptions::Objective_MAX; ++number) {
      if (number == PoemOptions::EXPOSURE) continue;  // Needs rewards by rank.
      poem->set_objective(static_cast<PoemOptions::Objective>(number));
      ASSERT_OK_AND_ASSIGN(const auto report, Train(options));
      EXPECT_TRUE(report.gate_passed()) << FormatReport(report);
      EXPECT_THAT(FormatReport(report),
                  HasSubstr(PoemOptions::Objective_Name(poem->objective())));
    }
  }
}

// Returns the objective of the grid for `log`, with `set` changing the options.
std::string ObjectiveFor(
    const SyntheticLog& log,
    const std::function<void(config::v1::TrainOptions*)>& set) {
  const TempDir dir;
  WriteSegment(dir.Sub("tuples"), 0, MakeTuples(log, 400));
  EXPECT_OK(
      ModelStore(dir.Sub("models")).Publish(LoggingModel(log), nullptr, {}));
  config::v1::TrainOptions options;
  options.set_tuples(dir.Sub("tuples"));
  options.set_model_store(dir.Sub("models"));
  options.set_dry_run(true);
  options.mutable_poem()->add_lambda(0);
  set(&options);
  const auto report = Train(options);
  EXPECT_OK(report.status());
  if (!report.ok()) return "";
  const auto& grid = report->evaluation().grid();
  return grid[grid.size() - 1].objective();
}

TEST_F(TrainTest, FewDecisionsOfOneCandidateAreLearnedFromWithAModelOfRewards) {
  using config::v1::TrainOptions;
  const auto unchanged = [](TrainOptions*) {};
  SyntheticLog log;
  EXPECT_EQ(ObjectiveFor(log, unchanged), "DOUBLY_ROBUST");
  EXPECT_EQ(ObjectiveFor(log,
                         [](TrainOptions* options) {
                           options->mutable_poem()->set_objective(
                               config::v1::PoemOptions::CRM);
                         }),
            "CRM");
  EXPECT_EQ(
      ObjectiveFor(log,
                   [](TrainOptions* options) { options->set_hidden_units(4); }),
      "CRM");
  log.action_kind = ActionKind::kRank;
  log.top_k = 1;
  EXPECT_EQ(ObjectiveFor(log, unchanged), "DOUBLY_ROBUST");
  // The model follows the first rank alone.
  log.top_k = 2;
  EXPECT_EQ(ObjectiveFor(log, unchanged), "CRM");
}

TEST_F(TrainTest, SmoothingIsADimensionOfTheGrid) {
  Prepare({}, 4000);
  options_.mutable_poem()->add_smoothing(0.5);
  options_.mutable_poem()->add_smoothing(1);
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  EXPECT_TRUE(report.gate_passed()) << FormatReport(report);
  // The parent, and two points of the grid with two starts.
  const auto& grid = report.evaluation().grid();
  ASSERT_EQ(grid.size(), 5);
  for (const int i : {1, 3}) {
    EXPECT_EQ(grid[i].smoothing(), 0.5);
    EXPECT_FALSE(grid[i + 1].has_smoothing());
    EXPECT_EQ(grid[i].start(), grid[i + 1].start());
    EXPECT_NE(grid[i].train_objective(), grid[i + 1].train_objective());
  }
  EXPECT_THAT(FormatReport(report), HasSubstr("\n  smoothing "));
}

TEST_F(TrainTest, OptionsThatDoNotGoTogetherStopBeforeAnythingIsRead) {
  Prepare({}, 10);
  options_.set_tuples(dir_.Sub("none"));
  options_.mutable_poem()->set_objective(
      config::v1::PoemOptions::SELF_NORMALISED);
  EXPECT_THAT(Train(options_),
              IsInvalidArgument("optimiser is STOCHASTIC, must be BATCH"));
  EXPECT_EQ(
      RunTrainer({"train", "--tuples=" + dir_.Sub("tuples"),
                  "--model_store=" + dir_.Sub("models"), "--objective=CRM",
                  "--lambda=1", "--lambda_factor=0.1"}),
      kExitError);
  EXPECT_EQ(RunTrainer({"train", "--tuples=" + dir_.Sub("tuples"),
                        "--model_store=" + dir_.Sub("models"),
                        "--rank_weights=PREFIXES", "--smoothing=0.7"}),
            kExitError);
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
  // Another look would cost.
  std::filesystem::remove(LookLedger(dir_.Sub("models"), "default").path());
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
  EXPECT_THAT(Train(options_), IsFailedPrecondition("of version 1, "));
  options_.set_model("other");
  EXPECT_THAT(Train(options_), IsFailedPrecondition("3 left out: other model"));
  options_.set_model("default");
  options_.set_test_fraction(0.7);
  options_.set_validation_fraction(0.3);
  EXPECT_THAT(Train(options_), IsInvalidArgument("must be below 1"));
}

TEST_F(TrainTest, EqualRewardsAreRefused) {
  Prepare({}, 1);
  std::vector<log::v1::BanditTuple> tuples = MakeTuples({}, 100);
  for (auto& tuple : tuples) tuple.set_reward(0);
  WriteSegment(dir_.Sub("constant"), 0, tuples);
  options_.set_tuples(dir_.Sub("constant"));
  EXPECT_THAT(Train(options_),
              IsFailedPrecondition("training tuples have the reward 0"));
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
      kExitNotYet);
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
  // The parent, and two starts with each optimiser.
  EXPECT_EQ(report.evaluation().grid_size(), 5);

  // What training takes for better is worse in the validation part.
  std::vector<log::v1::BanditTuple> worse = MakeTuples({.version = 2}, 3000);
  for (auto& tuple : worse) {
    const double split = UnitInterval(
        StableHash(HashDomain::kSplit, {tuple.decision().decision_id()}));
    if (split >= 0.25 && split < 0.5) tuple.set_reward(1 - tuple.reward());
  }
  WriteSegment(dir_.Sub("worse"), 0, worse);
  EXPECT_EQ(RunTrainer({"train", "--tuples=" + dir_.Sub("worse"),
                        "--model_store=" + dir_.Sub("models")}),
            kExitGateSaysNo);
  // A timer may call before there are enough.
  SyntheticLog few{.version = 2};
  WriteSegment(dir_.Sub("few"), 0, MakeTuples(few, 5));
  EXPECT_EQ(RunTrainer({"train", "--tuples=" + dir_.Sub("few"),
                        "--model_store=" + dir_.Sub("models")}),
            kExitNotYet);
  EXPECT_EQ(RunTrainer({"train", "--tuples=" + dir_.Sub("worse")}), kExitUsage);
  EXPECT_EQ(RunTrainer({"train", "--help"}), kExitOk);
  EXPECT_EQ(RunTrainer({"--help"}), kExitOk);
  EXPECT_EQ(RunTrainer({"retrain"}), kExitUsage);
}

// Learning from logs of rankings with rank factors, and of sorted rankings.

using ExplorationTrainTest = TrainFixture;

TEST_F(ExplorationTrainTest, KeepsTheRankFactors) {
  SyntheticLog log{.action_kind = ActionKind::kRank,
                   .rank_factors = {1.5, 0.5}};
  Prepare(log, 4000);
  options_.set_force(true);
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  ASSERT_OK_AND_ASSIGN(const StoredModel stored, store_.Load("default", 2));
  const model::v1::Policy& policy = stored.model.policy();
  EXPECT_THAT(policy.plackett_luce().rank_factors(), ElementsAre(1.5, 0.5));
  EXPECT_EQ(policy.inverse_temperature(), 1);
  // The hidden weights are (1, 1, 1, 0, 0); the logging policy had -0.5 for the
  // second. The parent and both starts are of the family.
  for (const int j : {0, 1, 2}) EXPECT_GT(stored.model.weights(j), 0.2) << j;
  EXPECT_EQ(report.evaluation().grid_size(), 3);
  EXPECT_GT(report.evaluation().snips_reward().value(),
            report.evaluation().logging_reward().value());
  options_.mutable_poem()->set_objective(
      config::v1::PoemOptions::DOUBLY_ROBUST);
  options_.mutable_poem()->clear_lambda();
  EXPECT_THAT(Train(options_),
              IsInvalidArgument("must be another for plackett_luce with "
                                "rank_factors"));
}

// What explores around a fixed scorer is no family of parameters, but its log
// teaches others.
TEST_F(ExplorationTrainTest, LearnsPlackettLuceFromSortedRankings) {
  SyntheticLog log{.action_kind = ActionKind::kRank};
  log.sorted.emplace().set_swap_probability(0.5);
  Prepare(log, 4000);
  options_.set_force(true);
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  EXPECT_EQ(report.train_clip(), 10);  // The default for rankings.
  ASSERT_OK_AND_ASSIGN(const StoredModel stored, store_.Load("default", 2));
  EXPECT_TRUE(stored.model.policy().has_plackett_luce());
  EXPECT_EQ(stored.model.policy().plackett_luce().rank_factors_size(), 0);
}

// A rank with the factor f has a gradient as long as that of f ranks.
TEST_F(ExplorationTrainTest, CoveringBoundCountsRankFactors) {
  BanditTuple tuple;
  tuple.num_features = 1;
  tuple.values = {3, 0, -4};
  tuple.action = {0, 1, 2};
  LinearFamily family{ActionKind::kRank, 1, false, 0};
  const Eigen::VectorXd w = Eigen::VectorXd::Constant(1, 2);
  EXPECT_EQ(LinearBall(family, w, {&tuple, 1})->ranks, 3);
  family.rank_factors = {4, 0.5};
  EXPECT_EQ(LinearBall(family, w, {&tuple, 1})->ranks, 5);  // 4 + 1/2 + 1/2.
  family.rank_factors = {0.25};
  EXPECT_EQ(LinearBall(family, w, {&tuple, 1})->ranks, 1);  // Above 3/4.
}

// Learning from logs of Boltzmann rankings.

// Learns from a log with full support and from one in which some orders were
// impossible.
TEST(BoltzmannTrainTest, LearnsThemAsSuch) {
  for (const uint32_t head : {0u, 4u}) {
    SyntheticLog log{.action_kind = ActionKind::kRank};
    log.boltzmann.emplace().set_rank_weights(model::v1::BoltzmannRanking::DCG);
    log.boltzmann->set_cutoff(3);
    log.boltzmann->set_head(head);
    log.boltzmann->set_plackett_luce_mixture(head > 0 ? 0.3 : 0);
    const TempDir dir;
    const ModelStore store(dir.Sub("models"));
    WriteSegment(dir.Sub("tuples"), 0, MakeTuples(log, 4000));
    ASSERT_OK(store.Publish(LoggingModel(log), nullptr, {}));
    config::v1::TrainOptions options;
    options.set_tuples(dir.Sub("tuples"));
    options.set_model_store(dir.Sub("models"));
    options.set_force(true);
    options.mutable_poem()->set_optimiser(config::v1::PoemOptions::STOCHASTIC);
    options.mutable_poem()->add_lambda(0.5);
    options.mutable_poem()->add_l2(1e-4);
    options.mutable_poem()->set_clip(30);  // Tails have large weights.
    ASSERT_OK_AND_ASSIGN(const auto report, Train(options));
    ASSERT_OK_AND_ASSIGN(const StoredModel stored, store.Load("default", 2));
    const model::v1::Policy& policy = stored.model.policy();
    EXPECT_EQ(policy.boltzmann_ranking().SerializeAsString(),
              log.boltzmann->SerializeAsString());
    EXPECT_EQ(policy.inverse_temperature(), 1);
    // The hidden weights are (1, 1, 1, 0, 0); the logging policy had -0.5 for
    // the second. If lists have a tail, the gradient ignores which candidates
    // enter the head and makes less progress. The parent and both starts are of
    // the family.
    for (const int j : {0, 2}) EXPECT_GT(stored.model.weights(j), 0.3) << j;
    EXPECT_GT(stored.model.weights(1), head == 0 ? 0.3 : -0.2);
    EXPECT_EQ(report.evaluation().grid_size(), 3);
    EXPECT_GT(report.evaluation().snips_reward().value(),
              report.evaluation().logging_reward().value());
    // If lists are longer than the head, there is no covering bound.
    bool covered = false;
    for (const auto& bound : report.evaluation().bounds()) {
      covered |= bound.part() == "train";
    }
    EXPECT_EQ(covered, head == 0);
    options.mutable_poem()->set_objective(
        config::v1::PoemOptions::DOUBLY_ROBUST);
    options.mutable_poem()->clear_lambda();
    EXPECT_THAT(Train(options),
                IsInvalidArgument("must be another for boltzmann_ranking"));
  }
}

// For n = 3 ranks of DCG, Σ_r (a_r - a_{n-1}) is (1 - 1/2) + (1/log2(3) - 1/2)
// = 0.63, so that the gradient is as long as that of one rank of Plackett-Luce,
// for any k.
TEST(BoltzmannTrainTest, CoveringBoundCountsRankWeights) {
  BanditTuple tuple;
  tuple.num_features = 1;
  tuple.values = {3, 0, -4};
  tuple.action = {0, 1, 2};
  LinearFamily family{ActionKind::kRank, 1, false, 0};
  const Eigen::VectorXd w = Eigen::VectorXd::Constant(1, 2);
  EXPECT_EQ(LinearBall(family, w, {&tuple, 1})->ranks, 3);
  family.boltzmann.emplace().set_rank_weights(model::v1::BoltzmannRanking::DCG);
  EXPECT_EQ(LinearBall(family, w, {&tuple, 1})->ranks, 1);
  EXPECT_EQ(LinearBall(family, w, {&tuple, 1})->feature_norm, 4);
  family.boltzmann->set_rank_weights(model::v1::BoltzmannRanking::LINEAR);
  EXPECT_EQ(LinearBall(family, w, {&tuple, 1})->ranks, 3);  // 2 + 1.
  family.boltzmann->set_plackett_luce_mixture(0.1);
  family.boltzmann->set_plackett_luce_scale(1.5);
  EXPECT_EQ(LinearBall(family, w, {&tuple, 1})->ranks, 5);  // Above 1.5 · 3.
  family.boltzmann->set_head(2);
  EXPECT_FALSE(LinearBall(family, w, {&tuple, 1}).has_value());
}

}  // namespace
}  // namespace sortition
