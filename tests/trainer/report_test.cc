#include "trainer/report.h"

#include "core/features/feature_learning.h"
#include "core/learners/counterfactual/counterfactual_grid.h"
#include "io/models/model_store.h"
#include "tests/testing/parse_text.h"
#include "tests/testing/refusals.h"
#include "tests/testing/temp_dir.h"
#include "trainer/describe.h"

namespace sortition {
namespace {

TEST(ReportTest, ShowsTheGrid) {
  const auto report = ParseText<config::v1::TrainReport>(R"(
    train_clip: 12.5
    evaluation { grid {
      objective: "CRM" optimiser: "BATCH" lambda_factor: 0.01 lambda: 0.375
      l2: 1e-6 start: "parent" iterations: 17 termination: "decrease"
      train_objective: -0.625 validation_reward: 0.75 validation_lower: 0.125
      validation_estimate { value: 0.75 lower: 0.5 upper: 1 }
      validation_improvement { value: 0.25 lower: -0.0625 upper: 0.5 }
      effective_sample_size: 42.5 chosen: true } })");
  const std::string text = FormatReport(report);
  EXPECT_THAT(text, HasTexts("Objective CRM, optimiser BATCH, clipped at M = "
                             "12.5",
                             "iterations"));
  EXPECT_THAT(text, testing::ContainsRegex(
                        "\\* +0\\.01 +0\\.375 +1e-06 +parent +17 +"
                        "decrease +-0\\.62500 +0\\.7500 +.0\\.5000, 1\\.0000. "
                        "+0\\.2500 +.-0\\.0625, 0\\.5000. +0\\.12500 +42"));
  EXPECT_THAT(text, Not(HasSubstr("Nothing that was trained")));
  EXPECT_THAT(text, Not(HasSubstr("smoothing")));
}

TEST(ReportTest, ShowsSmoothingWhereAPointHasIt) {
  config::v1::TrainReport report;
  auto* grid = report.mutable_evaluation()->mutable_grid();
  auto* parent = grid->Add();
  parent->set_start("parent");
  parent->set_termination(kNotTrained);
  for (const double smoothing : {0.7, 1.0}) {
    auto* point = grid->Add();
    point->set_lambda(0.375);
    point->set_start("zero");
    if (smoothing != 1) point->set_smoothing(smoothing);
  }
  grid->Mutable(1)->set_chosen(true);
  const std::string text = FormatReport(report);
  EXPECT_THAT(text, HasTexts("\n  smoothing       c   lambda ",
                             "\n                           0       0  parent",
                             "\n*       0.7            0.375 ",
                             "\n          1            0.375 "));
}

TEST(ReportTest, SaysThatTheParentIsKept) {
  config::v1::TrainReport report;
  auto* point = report.mutable_evaluation()->add_grid();
  point->set_start("parent");
  point->set_termination(kNotTrained);
  EXPECT_THAT(FormatReport(report), Not(HasSubstr("Nothing that was trained")));
  point->set_chosen(true);
  EXPECT_THAT(FormatReport(report),
              HasSubstr("Nothing that was trained validates better than the "
                        "parent, whose parameters are kept."));
}

model::v1::Model MatrixModel() {
  return ParseText<model::v1::Model>(
      R"(name: 'm' version: 3 num_features: 2
         policy { softmax_selection { abstain_score: -1.5 }
                  inverse_temperature: 4 uniform_mixture: 0.1 }
         weights: [0.25, -2, 0.5, 1, -3]
         provenance { learner: 'trees' num_tuples: 40 }
         trees { num_features: 2 number_format: FLOAT objective: 'rank:ndcg'
                 trees { split_features: 0 thresholds: 0.5 left_children: -1
                         right_children: -2 missing_left: true
                         leaf_values: [1, 2] }
                 trees { leaf_values: 1 } }
         hidden_layer { num_units: 2 weights: [1, 2, 3, 4] biases: [0, 0] })");
}

TEST(DescribeTest, NamesWhatWeightsMultiply) {
  ASSERT_OK_AND_ASSIGN(const std::string text,
                       DescribeModel(MatrixModel(), 20));
  EXPECT_THAT(
      text, HasTexts("m version 3: softmax_selection, inverse "
                     "temperature 4, 0.1 uniform, abstains at score "
                     "-1.5\nlearned by trees from 40 examples\n",
                     "2 features, as callers send them\n",
                     "trees: 2 with 3 leaves, objective rank:ndcg\n"
                     "  a feature that a sparse row does not have is a missing "
                     "value\n",
                     "hidden units: 2\n", "5 of 5 weights, heaviest first\n"));
  // Heaviest first: of |-3|, |-2|, 1, 0.5, 0.25.
  size_t last = 0;
  for (const char* line :
       {"-3  unit 1", "-2  f1", "1  unit 0", "0.5  trees", "0.25  f0"}) {
    const size_t place = text.find(line);
    ASSERT_NE(place, std::string::npos) << line << " in\n" << text;
    EXPECT_GT(place, last);
    last = place;
  }
}

TEST(DescribeTest, ShowsTheSchemaAndTheNamesOfFeatures) {
  const auto spec = ParseText<model::v1::FeatureSpec>(
      "schema { column { name: 'price' type: NUMBER } }"
      "transform { number { column: 'price' log1p: true } }");
  const auto columns = ParseText<v1::Columns>(
      "num_candidates: 2 candidate { name: 'price' "
      "numbers { values: [1, 3] } }");
  model::v1::Model model = MatrixModel();
  model.clear_trees();
  model.clear_hidden_layer();
  ASSERT_OK_AND_ASSIGN(
      *model.mutable_features(),
      LearnFeatures(spec, [&](QueryVisitor visit) { return visit(columns); }));
  model.set_num_features(1);
  model.clear_weights();
  model.add_weights(-7);
  ASSERT_OK_AND_ASSIGN(const std::string text, DescribeModel(model, 20));
  EXPECT_THAT(text, HasTexts("learned from 1 queries with 2 candidates",
                             "column price: NUMBER of the candidates",
                             "2 values, mean 2, deviation 1, 1 to 3",
                             "-7  log1p(price)"));
  EXPECT_THAT(text, Not(HasSubstr("trees:")));
}

TEST(DescribeTest, ListsAsManyWeightsAsAskedFor) {
  ASSERT_OK_AND_ASSIGN(const std::string text, DescribeModel(MatrixModel(), 2));
  EXPECT_THAT(text, HasTexts("2 of 5 weights", "f1"));
  EXPECT_THAT(text, Not(HasSubstr("unit 0")));
}

TEST(DescribeTest, FindsTheNewestVersion) {
  const TempDir dir;
  config::v1::DescribeOptions options;
  options.set_model_store(dir.Sub("models"));
  options.set_model("m");
  EXPECT_THAT(DescribeVersion(options),
              IsNotFound("model 'm' has no version in "));
  const ModelStore store(options.model_store());
  for (int version = 1; version <= 2; ++version) {
    ASSERT_OK(store.Publish(MatrixModel(), nullptr, {}));
  }
  ASSERT_OK_AND_ASSIGN(std::string text, DescribeVersion(options));
  EXPECT_THAT(text, HasSubstr("m version 2: "));
  options.set_version(1);
  ASSERT_OK_AND_ASSIGN(text, DescribeVersion(options));
  EXPECT_THAT(text, HasSubstr("m version 1: "));
  EXPECT_THAT(text, Not(HasSubstr("not a version")));
}

TEST(DescribeTest, NamesFoldersThatAreNotVersions) {
  const TempDir dir;
  config::v1::DescribeOptions options;
  options.set_model_store(dir.Sub("models"));
  options.set_model("m");
  dir.Sub("models/m/0000001");
  const std::string line = "not a version: m/0000001: version folders are ";
  EXPECT_THAT(DescribeVersion(options), IsNotFound(line));
  ASSERT_OK(
      ModelStore(options.model_store()).Publish(MatrixModel(), nullptr, {}));
  ASSERT_OK_AND_ASSIGN(const std::string text, DescribeVersion(options));
  EXPECT_THAT(text, HasTexts("m version 1: ", line));
}

}  // namespace
}  // namespace sortition
