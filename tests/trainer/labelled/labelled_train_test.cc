#include "trainer/labelled/labelled_train.h"

#include <algorithm>

#include "core/learners/labelled/expected_measure.h"
#include "tests/testing/refusal_table.h"
#include "tests/trainer/planted_labels.h"
#include "trainer/commands.h"
#include "trainer/labelled/labelled_data.h"
#include "trainer/labelled/labelled_report.h"
#include "trainer/train.h"

namespace sortition {
namespace {

using config::v1::GameOptions;
using config::v1::LabelledReport;
using config::v1::TrainOptions;
using config::v1::TrainReport;

using LabelledTrainTest = PlantedTest;

// Returns the expected measure of a policy that knows the truth on the test
// part.
double OfTheTruth(const TrainOptions& options, const model::v1::Policy& policy,
                  double scale) {
  const LabelledData data = ReadLabelledData(options).value();
  const auto views = ViewsOf(data.test, data);
  std::vector<double> weights(std::begin(kTruth), std::end(kTruth));
  for (double& weight : weights) weight *= scale;
  LabelMeasure measure{.kind = LabelMeasure::Kind::kDcg, .k = 5};
  measure.gains = {0, 1, 1};
  const ExpectedMeasure expected =
      ExpectedMeasure::Create(policy, weights, measure).value();
  double sum = 0;
  for (const LabelledItems& query : views) sum += expected.Of(query, 0).value();
  return sum / static_cast<double>(views.size());
}

TEST_F(LabelledTrainTest, RecoversPlantedRelevanceAndPublishesIt) {
  options_.set_uniform_mixture(0);
  ASSERT_OK_AND_ASSIGN(const TrainReport report, Train(options_));
  EXPECT_TRUE(report.gate_passed());
  EXPECT_EQ(report.version(), 1);
  ASSERT_OK_AND_ASSIGN(const StoredModel stored, store().Load("default", 1));
  const model::v1::Model& model = stored.model;
  ASSERT_EQ(model.num_features(), kPlantedFeatures);
  EXPECT_EQ(model.policy().game_ranking().discount(),
            model::v1::GameRanking::DCG);
  EXPECT_EQ(model.policy().game_ranking().cutoff(), 5);
  // The weights have nearly the direction of the truth.
  double product = 0;
  double square = 0;
  for (uint32_t j = 0; j < kPlantedFeatures; ++j) {
    product += model.weights(j) * kTruth[j];
    square += model.weights(j) * model.weights(j);
  }
  EXPECT_GT(product / std::sqrt(square * 6), 0.98);
  // The truth, played almost deterministically, has the best DCG that there is.
  const double best = OfTheTruth(options_, model.policy(), 1000);
  const LabelledReport& labelled = report.labelled();
  EXPECT_EQ(labelled.measure(), "DCG@5");
  EXPECT_EQ(labelled.part(), "test");
  EXPECT_LE(labelled.new_measure().value(), best + 1e-9);
  EXPECT_GT(labelled.new_measure().value(), 0.97 * best);
  // Served as published, the first candidate of the most probable order is
  // relevant.
  ASSERT_OK(LinearPolicy::Create(
      model.policy(), {model.weights().begin(), model.weights().end()}));
  EXPECT_EQ(labelled.quality(1).name(), "NDCG@1");
  EXPECT_GT(labelled.quality(1).value(), 0.9);
  EXPECT_NEAR(labelled.quality(0).value(), best, 0.02 * best);
}

// All parts are cut, so a learner sees two levels.
TEST_F(LabelledTrainTest, CutsRelevance) {
  ASSERT_OK_AND_ASSIGN(const LabelledData whole, ReadLabelledData(options_));
  ASSERT_EQ(whole.shape.max_relevance, 2);
  options_.set_relevance_cut(2);
  ASSERT_OK_AND_ASSIGN(const LabelledData cut, ReadLabelledData(options_));
  EXPECT_EQ(cut.shape.max_relevance, 1);
  for (const auto part : {&LabelledData::training, &LabelledData::validation,
                          &LabelledData::test}) {
    ASSERT_EQ((cut.*part).size(), (whole.*part).size());
    for (size_t q = 0; q < (cut.*part).size(); ++q) {
      std::vector<uint32_t> expected;
      for (const uint32_t y : (whole.*part)[q].relevances) {
        expected.push_back(y == 2 ? 1 : 0);
      }
      EXPECT_EQ((cut.*part)[q].relevances, expected);
    }
  }
}

TEST_F(LabelledTrainTest, ReportsEveryLambdaWithItsGap) {
  ASSERT_OK_AND_ASSIGN(const TrainReport report, Train(options_));
  const LabelledReport& labelled = report.labelled();
  ASSERT_EQ(labelled.points_size(), 3);
  int chosen = 0;
  double best = 0;
  double of_chosen = 0;
  for (const LabelledReport::Point& point : labelled.points()) {
    EXPECT_NEAR(point.gap(), point.objective() - point.dual_bound(), 1e-12);
    EXPECT_LE(point.gap(), labelled.gap_tolerance());
    EXPECT_GT(point.passes(), 0);
    best = std::max(best, point.validation());
    if (!point.chosen()) continue;
    ++chosen;
    of_chosen = point.validation();
  }
  EXPECT_EQ(chosen, 1);
  EXPECT_EQ(of_chosen, best);
  EXPECT_EQ(labelled.training_queries() + labelled.validation_queries() +
                labelled.test_queries(),
            200);
  ASSERT_OK_AND_ASSIGN(const auto evaluation,
                       store().LoadEvaluation("default", 1));
  EXPECT_TRUE(evaluation.promoted());
  EXPECT_EQ(evaluation.measure(), "DCG@5");
  EXPECT_EQ(evaluation.grid_size(), 3);
  EXPECT_EQ(evaluation.measured_reward().value(),
            labelled.new_measure().value());
  ASSERT_OK_AND_ASSIGN(const StoredModel stored, store().Load("default", 1));
  EXPECT_EQ(stored.model.provenance().learner(), "mpg");
  // The recorded options have the max_relevance that was found in the data.
  EXPECT_THAT(stored.model.provenance().options(),
              HasSubstr("max_relevance: 2"));
}

TEST_F(LabelledTrainTest, AWideGapIsSaidPlainly) {
  options_.mutable_game()->set_max_cuts(0);
  options_.mutable_game()->mutable_lbfgs()->set_max_iterations(1);
  ASSERT_OK_AND_ASSIGN(const TrainReport report, Train(options_));
  testing::internal::CaptureStdout();
  options_.set_force(true);
  EXPECT_EQ(RunTrainer({"train", "--learner=mpg", "--data=" + options_.data(0),
                        "--model_store=" + options_.model_store(), "--force",
                        "--game.lambda=0.001", "--game.max_cuts=0",
                        "--game.lbfgs.max_iterations=1"}),
            kExitOk);
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_THAT(text, HasTexts("The chosen objective is proved within",
                             "Warning: that is above gap_tolerance, 0.0001"));
}

// The report has an absolute tolerance: the option of ranksvm is a share of J,
// and a listnet with a trusted order has no option for it.
TEST_F(LabelledTrainTest, OpenGapsOfEveryLearnerAreWarnedOf) {
  options_.clear_game();
  options_.set_learner("ranksvm");
  options_.mutable_rank_svm()->add_lambda(0.01);
  options_.set_dry_run(true);
  const auto warning = HasSubstr("Warning: that is above gap_tolerance, ");
  ASSERT_OK_AND_ASSIGN(TrainReport report, Train(options_));
  EXPECT_DOUBLE_EQ(report.labelled().gap_tolerance(),
                   1e-3 * report.labelled().points(0).objective());
  EXPECT_THAT(FormatLabelledReport(report), Not(warning));
  options_.clear_rank_svm();
  options_.set_learner("listnet");
  options_.mutable_list_net()->add_lambda(1e-3);
  options_.mutable_trusted_order()->set_feature(1);
  options_.mutable_trusted_order()->add_weight(1);
  ASSERT_OK_AND_ASSIGN(report, Train(options_));
  EXPECT_EQ(report.labelled().gap_tolerance(), 1e-4);
  EXPECT_THAT(FormatLabelledReport(report), Not(warning));
  options_.mutable_list_net()->mutable_lbfgs()->set_max_iterations(1);
  ASSERT_OK_AND_ASSIGN(report, Train(options_));
  EXPECT_EQ(report.labelled().points(0).passes(), 1);
  EXPECT_THAT(FormatLabelledReport(report), warning);
}

// s > threshold agrees with the labels, so the constant feature had its effect.
TEST_F(LabelledTrainTest, FBetaPublishesTheThresholdOfRelevance) {
  options_.mutable_game()->Clear();
  options_.mutable_game()->set_measure(GameOptions::F_BETA);
  options_.mutable_game()->add_lambda(0.001);
  ASSERT_OK_AND_ASSIGN(const TrainReport report, Train(options_));
  EXPECT_EQ(report.labelled().action(), "label");
  ASSERT_OK_AND_ASSIGN(const StoredModel stored, store().Load("default", 1));
  const auto& game = stored.model.policy().game_subset();
  EXPECT_EQ(game.measure(), model::v1::GameSubset::F_BETA);
  EXPECT_EQ(game.threshold(), report.labelled().threshold());
  EXPECT_EQ(stored.model.weights_size(), kPlantedFeatures);
  ASSERT_OK(LinearPolicy::Create(
      stored.model.policy(),
      {stored.model.weights().begin(), stored.model.weights().end()}));
  int right = 0;
  int all = 0;
  for (const LabelledQuery& query : Planted(50, 0, 9).queries) {
    for (size_t i = 0; i < query.relevances.size(); ++i) {
      double score = 0;
      for (uint32_t j = 0; j < kPlantedFeatures; ++j) {
        score +=
            stored.model.weights(j) * query.features[i * kPlantedFeatures + j];
      }
      right += (score > game.threshold()) == (query.relevances[i] > 0) ? 1 : 0;
      ++all;
    }
  }
  EXPECT_GT(right, 0.93 * all);
  // Warm-up queries do not have the constant.
  ASSERT_EQ(stored.warmup.size(), 100);
  EXPECT_EQ(stored.warmup[0].action_kind(), log::v1::SUBSET);
  EXPECT_EQ(stored.warmup[0].num_features(), kPlantedFeatures);
  EXPECT_EQ(
      stored.warmup[0].dense_values_size(),
      static_cast<int>(stored.warmup[0].num_candidates() * kPlantedFeatures));
  const LabelledData data = ReadLabelledData(options_).value();
  EXPECT_EQ(stored.warmup[1].dense_values(kPlantedFeatures),
            data.training[1].features[kPlantedFeatures]);
}

TEST_F(LabelledTrainTest, RelevantFromSaysWhatIsRelevant) {
  options_.mutable_game()->set_relevant_from(2);
  ASSERT_OK_AND_ASSIGN(const TrainReport rare, Train(options_));
  options_.mutable_game()->set_relevant_from(1);
  options_.set_model("other");
  ASSERT_OK_AND_ASSIGN(const TrainReport frequent, Train(options_));
  EXPECT_LT(rare.labelled().new_measure().value(),
            frequent.labelled().new_measure().value());
  options_.mutable_game()->set_relevant_from(3);
  EXPECT_THAT(Train(options_),
              IsInvalidArgument("game.relevant_from is 3, must be within "
                                "[1, 2]"));
}

TEST_F(LabelledTrainTest, FilesAreAsGoodAsFractions) {
  const LabelledData data = ReadLabelledData(options_).value();
  const auto write = [&](const std::string& name, const auto& queries) {
    return Write(name, {data.shape.num_features, queries});
  };
  ASSERT_OK(Train(options_));
  const size_t half = data.training.size() / 2;
  const auto middle = data.training.begin() + static_cast<ptrdiff_t>(half);
  TrainOptions by_files = options_;
  *by_files.mutable_data(0) = absl::StrCat(
      write("one", std::vector(data.training.begin(), middle)), ", ",
      write("two", std::vector(middle, data.training.end())));
  by_files.add_validation(write("validation", data.validation));
  by_files.add_test(write("test", data.test));
  by_files.set_model("files");
  ASSERT_OK(Train(by_files));
  const auto weights = [&](const std::string& name) {
    const auto model = store().Load(name, 1).value().model;
    return std::vector<double>(model.weights().begin(), model.weights().end());
  };
  EXPECT_EQ(weights("files"), weights("default"));
}

TEST_F(LabelledTrainTest, PartsMustNotKnowEachOther) {
  options_.add_test(Write("test", Planted(200, 0, 1)));
  EXPECT_THAT(Train(options_),
              IsInvalidArgument("part and in the test part, must be in one"));
  // Other queries may have the same ids.
  LabelledQueries others = Planted(200, 0, 6);
  for (size_t q = 0; q < others.queries.size(); ++q) {
    others.queries[q].id = absl::StrCat("s1q", q);
  }
  *options_.mutable_test(0) = Write("test", others);
  EXPECT_OK(Train(options_));
}

TEST_F(LabelledTrainTest, BadDataIsNamed) {
  const std::string path = dir_.Sub("data") + "/bad.letor";
  const auto error = [&](const std::string& text) {
    EXPECT_OK(WriteFile(path, text));
    *options_.mutable_data(0) = path;
    const auto report = Train(options_);
    EXPECT_FALSE(report.ok());
    return std::string(report.status().message());
  };
  EXPECT_THAT(error("1 qid:1 1:0.5\n0 qid:1 1:nan\n"), HasSubstr(path));
  EXPECT_THAT(error("1 1:0.5\n"), HasSubstr("qid"));
  EXPECT_THAT(error("1 qid:1 1:0.5\n0 qid:1 1:1\n"),
              HasSubstr("part has 0 of 1 queries, must have at least 1"));
  LabelledQueries dull = Planted(50, 0, 1);
  for (LabelledQuery& query : dull.queries) {
    std::fill(query.relevances.begin(), query.relevances.end(), 0);
  }
  EXPECT_THAT(error(FormatLetor(dull)),
              HasSubstr("is relevant (relevance of at least 1)"));
  EXPECT_FALSE(std::filesystem::exists(options_.model_store() + "/default"));
}

TEST_F(LabelledTrainTest, OptionsMustBeTheLearners) {
  TrainOptions poem;
  poem.set_model_store("s");
  poem.set_tuples("t");
  TrainOptions without_data = options_;
  without_data.clear_data();
  TrainOptions without_tuples = poem;
  without_tuples.clear_tuples();
  const struct {
    const TrainOptions& options;
    std::string change;
    std::string message;
  } kCases[] = {
      {options_, "learner: 'nonesuch'",
       "learner is 'nonesuch', must be one of poem, mpg"},
      {without_data, "", "data is unset, must name a file"},
      {options_, "tuples: 't'",
       "tuples is set, must be unset for learner mpg, which learns from "
       "labelled queries"},
      {options_, "poem { lambda: 1 }",
       "options of poem are set, must be unset for learner mpg, whose options "
       "are in game"},
      {options_, "action: 'labels'", "must be select, rank or label"},
      {options_, "action: 'select'", "action is select, must be rank for DCG"},
      {options_, "action: 'label'", "action is label, must be rank for DCG"},
      {options_, "validation_fraction: 0.6 test_fraction: 0.5",
       "is 1.1, must be below 1"},
      {without_tuples, "", "tuples is unset, must be a directory"},
      {poem, "game { k: 5 }", "options of game are set"},
      {poem, "data: 'd'", "data is set, must be unset for learner poem"},
      {poem, "test_fraction: 0", "test_fraction is 0, must be at least 0.01"},
      {poem, "inverse_temperature: 2",
       "inverse_temperature is set, must be unset for learner poem"},
  };
  for (const auto& [options, change, message] : kCases) {
    EXPECT_THAT(Train(With(options, change)), IsInvalidArgument(message));
  }
}

TEST_F(LabelledTrainTest, CommandLinePublishesComparesAndReports) {
  const std::string json = dir_.Sub("out") + "/report.json";
  std::vector<std::string> arguments = {
      "train",
      "--learner=mpg",
      "--data=" + options_.data(0),
      "--model_store=" + options_.model_store(),
      "--measure=PRECISION",
      "--game.k=5",
      "--game.lambda=0.01",
      "--threads=2",
      "--report=" + json,
      "--dry_run"};
  EXPECT_EQ(RunTrainer(arguments), kExitOk);
  EXPECT_FALSE(std::filesystem::exists(options_.model_store() + "/default"));
  arguments.pop_back();
  testing::internal::CaptureStdout();
  EXPECT_EQ(RunTrainer(arguments), kExitOk);
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_THAT(text, HasTexts("Learner mpg, measure P@5, action rank",
                             "mean NDCG", "default version 1"));
  ASSERT_OK_AND_ASSIGN(const std::string report, ReadFile(json));
  EXPECT_THAT(report, HasSubstr("\"measure\": \"P@5\""));
  EXPECT_EQ(RunTrainer(arguments), kExitGateSaysNo);
  EXPECT_THAT(store().ListVersions("default").value(), ElementsAre(1));
}

}  // namespace
}  // namespace sortition
