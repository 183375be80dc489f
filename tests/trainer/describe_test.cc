#include "trainer/describe.h"

#include "core/features/feature_learning.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "io/models/model_store.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using google::protobuf::TextFormat;
using testing::HasSubstr;
using testing::Not;

model::v1::Model MatrixModel() {
  model::v1::Model model;
  EXPECT_TRUE(TextFormat::ParseFromString(
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
         hidden_layer { num_units: 2 weights: [1, 2, 3, 4] biases: [0, 0] })",
      &model));
  return model;
}

TEST(DescribeTest, NamesWhatWeightsMultiply) {
  ASSERT_OK_AND_ASSIGN(const std::string text,
                       DescribeModel(MatrixModel(), 20));
  EXPECT_THAT(text, HasSubstr("m version 3: softmax_selection, inverse "
                              "temperature 4, 0.1 uniform, abstains at score "
                              "-1.5\nlearned by trees from 40 examples\n"));
  EXPECT_THAT(text, HasSubstr("2 features, as callers send them\n"));
  EXPECT_THAT(text, HasSubstr("trees: 2 with 3 leaves, objective rank:ndcg\n"));
  EXPECT_THAT(text, HasSubstr("hidden units: 2\n"));
  EXPECT_THAT(text, HasSubstr("5 of 5 weights, heaviest first\n"));
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
  model::v1::FeatureSpec spec;
  ASSERT_TRUE(TextFormat::ParseFromString(
      "schema { column { name: 'price' type: NUMBER } }"
      "transform { number { column: 'price' log1p: true } }",
      &spec));
  v1::Columns columns;
  ASSERT_TRUE(
      TextFormat::ParseFromString("num_candidates: 2 candidate { name: 'price' "
                                  "numbers { values: [1, 3] } }",
                                  &columns));
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
  EXPECT_THAT(text, HasSubstr("learned from 1 queries with 2 candidates"));
  EXPECT_THAT(text, HasSubstr("column price: NUMBER of the candidates"));
  EXPECT_THAT(text, HasSubstr("2 values, mean 2, deviation 1, 1 to 3"));
  EXPECT_THAT(text, HasSubstr("-7  log1p(price)"));
  EXPECT_THAT(text, Not(HasSubstr("trees:")));
}

TEST(DescribeTest, ListsAsManyWeightsAsAskedFor) {
  ASSERT_OK_AND_ASSIGN(const std::string text, DescribeModel(MatrixModel(), 2));
  EXPECT_THAT(text, HasSubstr("2 of 5 weights"));
  EXPECT_THAT(text, HasSubstr("f1"));
  EXPECT_THAT(text, Not(HasSubstr("unit 0")));
}

TEST(DescribeTest, FindsTheNewestVersion) {
  const TempDir dir;
  config::v1::DescribeOptions options;
  options.set_model_store(dir.Sub("models"));
  options.set_model("m");
  EXPECT_THAT(DescribeVersion(options),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("model is 'm', there is no version of it")));
  const ModelStore store(options.model_store());
  for (int version = 1; version <= 2; ++version) {
    ASSERT_OK(store.Publish(MatrixModel(), nullptr, {}));
  }
  ASSERT_OK_AND_ASSIGN(std::string text, DescribeVersion(options));
  EXPECT_THAT(text, HasSubstr("m version 2: "));
  options.set_version(1);
  ASSERT_OK_AND_ASSIGN(text, DescribeVersion(options));
  EXPECT_THAT(text, HasSubstr("m version 1: "));
}

}  // namespace
}  // namespace sortition
