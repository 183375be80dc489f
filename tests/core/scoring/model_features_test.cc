#include "core/scoring/model_features.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/scoring/random_trees.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using absl::StatusCode;
using testing::HasSubstr;

constexpr uint32_t kInputs = 3;
constexpr uint32_t kUnits = 2;

model::v1::Model PlainModel() {
  model::v1::Model model;
  model.set_num_features(kInputs);
  return model;
}

// With trees, and units h_u = tanh(v_u · x + c_u).
model::v1::Model FullModel() {
  model::v1::Model model = PlainModel();
  RandomSequence random(SeedKey(1));
  *model.mutable_trees() = RandomTrees({.num_features = kInputs}, &random);
  model::v1::HiddenLayer& layer = *model.mutable_hidden_layer();
  layer.set_num_units(kUnits);
  for (const double weight : {0.5, -1.0, 2.0, 0.0, 0.25, -0.5}) {
    layer.add_weights(weight);
  }
  layer.add_biases(0.1);
  layer.add_biases(-3);
  return model;
}

std::vector<uint32_t> AllOf(const Candidates& candidates) {
  std::vector<uint32_t> documents(candidates.num_candidates());
  std::iota(documents.begin(), documents.end(), 0u);
  return documents;
}

// Dense rows of any candidates.
std::vector<std::vector<float>> RowsOf(const Candidates& candidates) {
  std::vector<std::vector<float>> rows;
  for (uint32_t row = 0; row < candidates.num_candidates(); ++row) {
    std::vector<double> values(candidates.num_features());
    candidates.AddRow(row, 1, values);
    rows.emplace_back(values.begin(), values.end());
  }
  return rows;
}

TEST(StableTanhTest, IsTanh) {
  for (double x = -25; x <= 25; x += 0.001) {
    EXPECT_NEAR(StableTanh(x), std::tanh(x), 1e-15 * std::abs(std::tanh(x)))
        << x;
  }
  EXPECT_EQ(StableTanh(0), 0);
  EXPECT_EQ(StableTanh(1e100), 1);
  EXPECT_EQ(StableTanh(-1e100), -1);
  EXPECT_EQ(StableTanh(1e-300), 1e-300);
}

TEST(ModelFeaturesTest, AreInputsThenTreesThenUnits) {
  const model::v1::Model model = FullModel();
  ASSERT_OK_AND_ASSIGN(const auto features, ModelFeatures::Create(model));
  EXPECT_EQ(features.num_inputs(), kInputs);
  EXPECT_EQ(features.num_features(), kInputs + 1 + kUnits);
  EXPECT_FALSE(features.as_sent());
  const std::vector<float> x = {1, -0.5, 0.25, 0, 3, -1, 0.75, 0, 0};
  const Candidates candidates = Candidates::DenseUnchecked(x, kInputs);
  ModelFeatureScratch scratch;
  ASSERT_OK_AND_ASSIGN(
      const Candidates made,
      features.Compute({candidates}, AllOf(candidates), &scratch));
  ASSERT_OK_AND_ASSIGN(const auto trees, TreeEnsemble::Create(model.trees()));
  std::vector<double> margins(3);
  TreeScratch tree_scratch;
  trees.Scores(candidates, AllOf(candidates), &tree_scratch, margins);
  const auto rows = RowsOf(made);
  ASSERT_EQ(rows.size(), 3u);
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t j = 0; j < kInputs; ++j) {
      EXPECT_EQ(rows[i][j], x[i * kInputs + j]);
    }
    EXPECT_EQ(rows[i][kInputs], static_cast<float>(margins[i]));
    for (size_t u = 0; u < kUnits; ++u) {
      double sum = model.hidden_layer().biases(static_cast<int>(u));
      for (size_t j = 0; j < kInputs; ++j) {
        sum += model.hidden_layer().weights(static_cast<int>(u * kInputs + j)) *
               static_cast<double>(x[i * kInputs + j]);
      }
      EXPECT_FLOAT_EQ(rows[i][kInputs + 1 + u],
                      static_cast<float>(std::tanh(sum)));
    }
  }
}

// Where trees take what a row lacks for 0, sparse rows are the same as dense.
TEST(ModelFeaturesTest, SparseRowsHaveTheFeaturesOfDenseOnes) {
  model::v1::Model model = FullModel();
  model.mutable_trees()->set_absent_feature(model::v1::TreeEnsemble::ZERO);
  ASSERT_OK_AND_ASSIGN(const auto features, ModelFeatures::Create(model));
  const std::vector<float> dense = {1, 0, 0.25, 0, 0, 0, 0, 2, -1};
  const std::vector<uint32_t> offsets = {0, 2, 2, 4};
  const std::vector<uint32_t> columns = {0, 2, 1, 2};
  const std::vector<float> values = {1, 0.25, 2, -1};
  const Candidates rows = Candidates::DenseUnchecked(dense, kInputs);
  const Candidates sparse =
      Candidates::SparseUnchecked(offsets, columns, values, kInputs);
  ModelFeatureScratch scratch;
  ModelFeatureScratch other;
  ASSERT_OK_AND_ASSIGN(const Candidates a,
                       features.Compute({rows}, AllOf(rows), &scratch));
  ASSERT_OK_AND_ASSIGN(const Candidates b,
                       features.Compute({sparse}, AllOf(rows), &other));
  EXPECT_TRUE(b.sparse());
  EXPECT_EQ(RowsOf(a), RowsOf(b));
  EXPECT_OK(Candidates::Sparse(b.row_offsets(), b.columns(), b.values(),
                               b.num_features())
                .status());
}

TEST(ModelFeaturesTest, ComputesOnlyWhatIsAskedFor) {
  ASSERT_OK_AND_ASSIGN(const auto features, ModelFeatures::Create(FullModel()));
  const std::vector<float> x = {1, -0.5, 0.25, 0, 3, -1, 0.75, 0, 0};
  const Candidates candidates = Candidates::DenseUnchecked(x, kInputs);
  ModelFeatureScratch scratch;
  ASSERT_OK_AND_ASSIGN(
      const Candidates all,
      features.Compute({candidates}, AllOf(candidates), &scratch));
  const auto wanted = RowsOf(all);
  const std::vector<uint32_t> documents = {0, 2};
  ASSERT_OK_AND_ASSIGN(const Candidates some,
                       features.Compute({candidates}, documents, &scratch));
  const auto rows = RowsOf(some);
  EXPECT_EQ(rows[0], wanted[0]);
  EXPECT_EQ(rows[2], wanted[2]);
  EXPECT_EQ(rows[1], (std::vector<float>{0, 3, -1, 0, 0, 0}));
}

TEST(ModelFeaturesTest, LeavesFeaturesAsTheyAreSent) {
  ASSERT_OK_AND_ASSIGN(const auto features,
                       ModelFeatures::Create(PlainModel()));
  EXPECT_TRUE(features.as_sent());
  const std::vector<float> x = {1, 2, 3};
  ModelFeatureScratch scratch;
  ASSERT_OK_AND_ASSIGN(
      const Candidates same,
      features.Compute({Candidates::DenseUnchecked(x, kInputs)}, {}, &scratch));
  EXPECT_EQ(same.values().data(), x.data());
}

TEST(ModelFeaturesTest, RefusesAnotherKindOfQuery) {
  ASSERT_OK_AND_ASSIGN(const auto plain, ModelFeatures::Create(PlainModel()));
  ModelFeatureScratch scratch;
  const std::vector<float> x = {1, 2};
  EXPECT_THAT(
      plain.Compute({Candidates::DenseUnchecked(x, 2)}, {}, &scratch),
      StatusIs(StatusCode::kInvalidArgument, "num_features is 2, must be 3"));
  sortition::v1::Columns columns;
  columns.set_num_candidates(1);
  QueryInput query;
  query.columns = &columns;
  EXPECT_EQ(query.num_candidates(), 1u);
  EXPECT_THAT(plain.Compute(query, {}, &scratch),
              IsInvalidArgument("the model has no schema"));
}

TEST(ModelFeaturesTest, RefusesWhatDoesNotFit) {
  const auto refusal = [](const model::v1::Model& model) {
    return std::string(ModelFeatures::Create(model).status().message());
  };
  model::v1::Model model = FullModel();
  model.set_num_features(4);
  EXPECT_EQ(refusal(model),
            "num_features is 4, must be 3, as many as its trees have");
  model = FullModel();
  model.mutable_trees()->mutable_trees(0)->add_leaf_values(1);
  EXPECT_THAT(refusal(model), HasSubstr("trees: trees[0]"));
  model = FullModel();
  model.mutable_hidden_layer()->mutable_weights()->RemoveLast();
  EXPECT_EQ(refusal(model), "hidden_layer.weights has 5 values, must have 6");
  model = FullModel();
  model.mutable_hidden_layer()->add_biases(1);
  EXPECT_EQ(refusal(model), "hidden_layer.biases has 3 values, must have 2");
  model = FullModel();
  model.mutable_hidden_layer()->set_num_units(0);
  EXPECT_THAT(refusal(model), HasSubstr("hidden_layer.num_units is 0, must"));
  model = FullModel();
  model.mutable_hidden_layer()->set_biases(
      1, std::numeric_limits<double>::quiet_NaN());
  EXPECT_THAT(refusal(model), HasSubstr("hidden_layer.biases[1] is nan, must"));
  model = PlainModel();
  model.mutable_features()->set_schema_hash("x");
  EXPECT_THAT(refusal(model), HasSubstr("features: "));
}

}  // namespace
}  // namespace sortition
