// Models that XGBoost trains and saves, against its own predictions.
#include <xgboost/c_api.h>

#include <cmath>
#include <numeric>

#include "core/scoring/tree_ensemble.h"
#include "io/scorers/tree_models.h"
#include "tests/testing/refusals.h"
#include "tests/trainer/trees/tree_queries.h"
#include "trainer/trees/xgboost_booster.h"

namespace sortition {
namespace {

// Returns our scores of all candidates, query after query.
std::vector<double> OurScores(const std::string& bytes,
                              const std::vector<LabelledItems>& queries) {
  const auto model = ParseTreeModel(bytes);
  EXPECT_OK(model);
  if (!model.ok()) return {};
  const auto ensemble = TreeEnsemble::Create(*model);
  EXPECT_OK(ensemble);
  std::vector<double> all;
  TreeScratch scratch;
  for (const LabelledItems& query : queries) {
    std::vector<uint32_t> documents(query.items.num_candidates());
    std::iota(documents.begin(), documents.end(), 0u);
    std::vector<double> scores(documents.size());
    ensemble->Scores(query.items, documents, &scratch, scores);
    all.insert(all.end(), scores.begin(), scores.end());
  }
  return all;
}

// Trains `rounds` trees.
absl::StatusOr<XgboostBooster> Train(const XgboostParameters& parameters,
                                     const XgboostMatrix& matrix, int rounds) {
  auto booster = XgboostBooster::Create(parameters, {&matrix, 1});
  for (int round = 0; booster.ok() && round < rounds; ++round) {
    const absl::Status status = booster->Update(round, matrix);
    if (!status.ok()) return status;
  }
  return booster;
}

// Both formats give the library's margins of the queries, bit for bit.
void ExpectEqualMargins(const XgboostBooster& booster,
                        const XgboostMatrix& matrix,
                        const std::vector<LabelledItems>& queries,
                        double tolerance = 0) {
  ASSERT_OK_AND_ASSIGN(const std::vector<float> margins,
                       booster.Margins(matrix));
  for (const char* format : {"json", "ubj"}) {
    SCOPED_TRACE(format);
    ASSERT_OK_AND_ASSIGN(const std::string bytes, booster.Save(format));
    const std::vector<double> scores = OurScores(bytes, queries);
    ASSERT_EQ(scores.size(), margins.size());
    for (size_t i = 0; i < scores.size(); ++i) {
      ASSERT_NEAR(scores[i], margins[i], tolerance) << i;
    }
  }
}

struct Case {
  std::string name;
  XgboostParameters parameters;
  uint32_t relevant_from = 0;
  double tolerance = 0;
};

class ImportedModelsTest : public testing::TestWithParam<Case> {};

TEST_P(ImportedModelsTest, HasTheLibrarysMargins) {
  const Case& test = GetParam();
  for (const bool sparse : {false, true}) {
    for (const double missing : {0.0, 0.3}) {
      SCOPED_TRACE(testing::Message() << sparse << " " << missing);
      TreeQueries::Shape shape;
      shape.sparse = sparse;
      shape.missing = missing;
      const TreeQueries queries(shape, 1);
      ASSERT_OK_AND_ASSIGN(
          const XgboostMatrix matrix,
          XgboostMatrix::Create(queries.views(), test.relevant_from));
      ASSERT_OK_AND_ASSIGN(const XgboostBooster booster,
                           Train(test.parameters, matrix, 30));
      ExpectEqualMargins(booster, matrix, queries.views(), test.tolerance);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, ImportedModelsTest,
    testing::Values(
        Case{"ndcg", {{"objective", "rank:ndcg"}}},
        Case{"pairwise", {{"objective", "rank:pairwise"}, {"max_depth", "3"}}},
        Case{"logistic", {{"objective", "binary:logistic"}}, 1},
        // The logarithm of the base score may differ in the last bit.
        Case{"logistic_base",
             {{"objective", "binary:logistic"}, {"base_score", "0.83"}},
             1,
             1e-6},
        Case{"logitraw_base",
             {{"objective", "binary:logitraw"}, {"base_score", "0.2"}},
             1},
        Case{"poisson",
             {{"objective", "count:poisson"}, {"base_score", "0.7"}},
             0,
             1e-6},
        Case{"squared", {{"objective", "reg:squarederror"}}},
        Case{"squared_log", {{"objective", "reg:squaredlogerror"}}},
        Case{"hinge", {{"objective", "binary:hinge"}}, 1},
        // Grown leaf by leaf: deep and lopsided.
        Case{"leaf_wise",
             {{"objective", "rank:ndcg"},
              {"tree_method", "hist"},
              {"grow_policy", "lossguide"},
              {"max_depth", "0"},
              {"max_leaves", "120"},
              {"min_child_weight", "0"}}},
        // Pruning leaves nodes behind that no split leads to.
        Case{"pruned",
             {{"objective", "reg:squarederror"},
              {"gamma", "3"},
              {"tree_method", "exact"}}},
        Case{"forest",
             {{"objective", "binary:logistic"},
              {"num_parallel_tree", "4"},
              {"subsample", "0.5"}},
             1},
        Case{"dart",
             {{"objective", "rank:pairwise"},
              {"booster", "dart"},
              {"rate_drop", "0.3"}},
             0,
             1e-5}),
    [](const auto& kind) { return kind.param.name; });

TEST(XgboostModelsTest, HasTheLibrarysCategories) {
  // Feature 0 is one of 40 categories; those that are odd are relevant.
  RandomSequence random(SeedKey(4));
  std::vector<float> values;
  std::vector<uint32_t> relevances;
  for (int i = 0; i < 2000; ++i) {
    const auto category = static_cast<float>(random.Below(40));
    values.push_back(random.Uniform() < 0.1
                         ? std::numeric_limits<float>::quiet_NaN()
                         : category);
    values.push_back(static_cast<float>(random.Normal()));
    const bool is_odd = static_cast<int>(category) % 2 == 1;
    relevances.push_back(is_odd == (random.Uniform() < 0.9) ? 1 : 0);
  }
  const std::vector<LabelledItems> queries = {
      {Candidates::DenseUnchecked(values, 2), relevances}};
  for (const char* most_one_hot : {"1", "100"}) {
    ASSERT_OK_AND_ASSIGN(const XgboostMatrix matrix,
                         XgboostMatrix::Create(queries));
    const char* types[] = {"c", "q"};
    ASSERT_EQ(
        XGDMatrixSetStrFeatureInfo(matrix.handle(), "feature_type", types, 2),
        0);
    ASSERT_OK_AND_ASSIGN(const XgboostBooster booster,
                         Train({{"objective", "binary:logistic"},
                                {"tree_method", "hist"},
                                {"max_cat_to_onehot", most_one_hot}},
                               matrix, 20));
    ASSERT_OK_AND_ASSIGN(const std::string bytes, booster.Save("ubj"));
    ASSERT_OK_AND_ASSIGN(const auto model, ParseTreeModel(bytes));
    ASSERT_GT(model.trees(0).categorical_splits_size(), 0);
    ExpectEqualMargins(booster, matrix, queries);
    // Categories that were never seen, and numbers that are none.
    const std::vector<float> others = {99,    0, -1,   0, 3.5f,        0,
                                       -0.5f, 0, 1e9f, 0, 16777216.0f, 0};
    const std::vector<uint32_t> no_labels(6);
    const std::vector<LabelledItems> unseen = {
        {Candidates::DenseUnchecked(others, 2), no_labels}};
    ASSERT_OK_AND_ASSIGN(const XgboostMatrix unseen_matrix,
                         XgboostMatrix::Create(unseen));
    ExpectEqualMargins(booster, unseen_matrix, unseen);
  }
}

TEST(XgboostModelsTest, FeaturesOnThresholdsGoTheSameWay) {
  const TreeQueries queries({}, 5);
  ASSERT_OK_AND_ASSIGN(const XgboostMatrix matrix,
                       XgboostMatrix::Create(queries.views()));
  ASSERT_OK_AND_ASSIGN(const XgboostBooster booster,
                       Train({{"objective", "rank:ndcg"}}, matrix, 10));
  ASSERT_OK_AND_ASSIGN(const std::string bytes, booster.Save("json"));
  ASSERT_OK_AND_ASSIGN(const auto model, ParseTreeModel(bytes));
  // Rows of one threshold each, and of its neighbours.
  std::vector<float> values;
  for (const auto& tree : model.trees()) {
    for (const double threshold : tree.thresholds()) {
      const auto t = static_cast<float>(threshold);
      for (const float x :
           {t, std::nextafter(t, -9.0f), std::nextafter(t, 9.0f)}) {
        values.insert(values.end(), kTreeFeatures, x);
      }
    }
  }
  const std::vector<uint32_t> no_labels(values.size() / kTreeFeatures);
  const std::vector<LabelledItems> rows = {
      {Candidates::DenseUnchecked(values, kTreeFeatures), no_labels}};
  ASSERT_OK_AND_ASSIGN(const XgboostMatrix row_matrix,
                       XgboostMatrix::Create(rows));
  ExpectEqualMargins(booster, row_matrix, rows);
  // The way of predicting that benchmarks time gives the same margins.
  std::vector<float> margins(no_labels.size());
  ASSERT_OK(booster.MarginsInPlace(values, kTreeFeatures, margins));
  ASSERT_OK_AND_ASSIGN(const std::vector<float> same,
                       booster.Margins(row_matrix));
  EXPECT_EQ(margins, same);
}

TEST(XgboostModelsTest, OtherModelsAreRefused) {
  const TreeQueries queries({}, 6);
  ASSERT_OK_AND_ASSIGN(const XgboostMatrix matrix,
                       XgboostMatrix::Create(queries.views()));
  ASSERT_OK_AND_ASSIGN(
      const XgboostBooster booster,
      Train({{"objective", "multi:softmax"}, {"num_class", "3"}}, matrix, 2));
  ASSERT_OK_AND_ASSIGN(const std::string bytes, booster.Save("json"));
  EXPECT_THAT(ParseTreeModel(bytes),
              IsInvalidArgument("learner.learner_model_param.num_class = "
                                "\"3\", must be an integer in [0, 1]"));
  ASSERT_OK_AND_ASSIGN(const std::string old_format,
                       booster.Save("deprecated"));
  EXPECT_THAT(ParseTreeModel(old_format),
              IsInvalidArgument("older binary format"));
}

}  // namespace
}  // namespace sortition
