// Training from labelled queries with named columns.
#include <functional>

#include "sortition/v1/columns.pb.h"
#include "tests/trainer/planted_labels.h"
#include "trainer/labelled/evaluate_orders.h"
#include "trainer/labelled/fit.h"
#include "trainer/labelled/labelled_data.h"
#include "trainer/train.h"
#include "trainer/trees/xgboost_booster.h"

namespace sortition {
namespace {

using config::v1::TrainOptions;
using config::v1::TrainReport;

constexpr char kSchema[] = R"(
schema {
  column { name: 'a' type: NUMBER }
  column { name: 'b' type: NUMBER }
  column { name: 'kind' type: CATEGORY scope: QUERY }
}
)";
constexpr char kNumbers[] =
    "transform { number { column: 'a' standardise: true } }"
    "transform { number { column: 'b' } }";

// Whether a candidate is relevant.
using Rule = std::function<bool(double a, double b, bool is_fact)>;

bool BelowA(double a, double, bool) { return a < -0.3; }
bool SameSign(double a, double b, bool) { return a * b > 0; }

class LabelledColumnsTest : public testing::Test {
 protected:
  // Writes queries with ten candidates; labels are random for a share of them.
  std::string Csv(const std::string& name, int num_queries, uint64_t seed,
                  const Rule& rule, double noise = 0) {
    RandomSequence random(SeedKey(seed));
    std::string text = "query,label,a,b,kind\n";
    for (int q = 0; q < num_queries; ++q) {
      const bool is_fact = q % 2 == 0;
      for (int i = 0; i < 10; ++i) {
        const double a = 2 * random.Uniform() - 1;
        const double b = 2 * random.Uniform() - 1;
        bool relevant = rule(a, b, is_fact);
        if (random.Uniform() < noise) relevant = random.Uniform() < 0.5;
        absl::StrAppend(&text, seed, "-", q, ",", relevant ? 1 : 0, ",", a, ",",
                        b, ",", is_fact ? "fact" : "chat", "\n");
      }
    }
    const std::string path = dir_.Sub("data") + "/" + name + ".csv";
    EXPECT_OK(WriteFile(path, text));
    return path;
  }

  std::string Spec(const std::string& name, const std::string& transforms) {
    const std::string path = dir_.Sub("specs") + "/" + name + ".textproto";
    EXPECT_OK(WriteFile(path, kSchema + transforms));
    return path;
  }

  TrainOptions Options(const std::string& data) {
    TrainOptions options;
    options.set_learner("listnet");
    options.set_action("select");
    options.add_data(data);
    options.set_model_store(dir_.Sub("models"));
    return options;
  }

  StoredModel Stored(uint64_t version) {
    return ModelStore(dir_.Sub("models")).Load("default", version).value();
  }

  // Returns the mean chance that the model, served, selects a relevant
  // candidate of the test part.
  double Earned(const model::v1::Model& model, const TrainOptions& options) {
    const LabelledData data = ReadLabelledData(options).value();
    const LinearPolicy policy = LinearPolicy::Create(model).value();
    double sum = 0;
    for (const LabelledQuery& query : data.test) {
      PolicyQuery asked;
      asked.columns = query.columns.get();
      const std::vector<double> p = policy.FirstProbabilities(asked, nullptr);
      for (size_t i = 0; i < p.size(); ++i) sum += p[i] * query.relevances[i];
    }
    return sum / static_cast<double>(data.test.size());
  }

  TempDir dir_;
};

TEST_F(LabelledColumnsTest, PublishesFeaturesThatTheTrainingPartTaught) {
  TrainOptions options = Options(Csv("below", 200, 1, BelowA));
  options.set_features(Spec("numbers", kNumbers));
  ASSERT_OK_AND_ASSIGN(const TrainReport report, Train(options));
  ASSERT_EQ(report.version(), 1);
  const StoredModel stored = Stored(1);
  EXPECT_EQ(stored.model.num_features(), 2);
  EXPECT_LT(stored.model.weights(0), 0);
  // The mean of a in the training part, and of no other query.
  ASSERT_OK_AND_ASSIGN(const LabelledData data, ReadLabelledData(options));
  EXPECT_LT(data.training.size(), 150);
  double sum = 0, count = 0;
  for (const LabelledQuery& query : data.training) {
    for (const double a : query.columns->candidate(0).numbers().values()) {
      sum += a;
      ++count;
    }
  }
  EXPECT_NEAR(stored.model.features().learned().transform(0).mean(0),
              sum / count, 1e-12);
  // Chance is 0.35; 5 % of the gain over it, and 2 %, explore.
  EXPECT_GT(report.labelled().new_measure().value(), 0.9);
  EXPECT_NEAR(report.labelled().new_measure().value(),
              Earned(stored.model, options), 1e-9);
}

TEST_F(LabelledColumnsTest, WarmsUpWithColumns) {
  TrainOptions options = Options(Csv("below", 100, 1, BelowA));
  options.set_features(Spec("numbers", kNumbers));
  ASSERT_OK(Train(options));
  const StoredModel stored = Stored(1);
  ASSERT_FALSE(stored.warmup.empty());
  const LinearPolicy policy = LinearPolicy::Create(stored.model).value();
  for (const log::v1::Decision& decision : stored.warmup) {
    EXPECT_EQ(decision.num_features(), 0);
    EXPECT_EQ(decision.num_candidates(), 10);
    EXPECT_EQ(decision.dense_values_size(), 0);
    PolicyQuery query;
    query.columns = &decision.columns();
    PolicyWorkspace workspace;
    Draw draw;
    policy.Decide(query, {}, &workspace, &draw);
    EXPECT_OK(workspace.refusal);
  }
}

// The version before sees other features of the same columns: it earns what it
// would earn if it served.
TEST_F(LabelledColumnsTest, TheGateComparesPoliciesAsTheyServe) {
  TrainOptions noise = Options(Csv("noise", 200, 2, BelowA, 1));
  noise.set_features(
      Spec("bins", "transform { number { column: 'a' quantile_bins: 4 } }"));
  ASSERT_OK(Train(noise));
  TrainOptions options = Options(Csv("below", 200, 1, BelowA));
  options.set_features(Spec("numbers", kNumbers));
  ASSERT_OK_AND_ASSIGN(const TrainReport report, Train(options));
  EXPECT_EQ(report.version(), 2) << report.evaluation().verdict();
  EXPECT_NEAR(report.labelled().old_measure().value(),
              Earned(Stored(1).model, options), 1e-9);
  EXPECT_NEAR(report.labelled().new_measure().value(),
              Earned(Stored(2).model, options), 1e-9);
  EXPECT_TRUE(report.labelled().quality(0).has_old_value());
  // A version of features, not columns, cannot be followed.
  options.set_model("matrix");
  config::v1::FitOptions fit;
  fit.set_data(dir_.Sub("data") + "/planted.letor");
  ASSERT_OK(WriteFile(fit.data(), FormatLetor(Planted(30, 0, 1))));
  fit.set_model_store(options.model_store());
  fit.set_model("matrix");
  ASSERT_OK(Fit(fit));
  EXPECT_THAT(Train(options), IsFailedPrecondition("takes a matrix of"));
}

TEST_F(LabelledColumnsTest, FeaturesStayUntilOptionsSayOtherwise) {
  TrainOptions options = Options(Csv("below", 100, 1, BelowA));
  options.set_features(Spec("numbers", kNumbers));
  ASSERT_OK(Train(options));
  TrainOptions again = Options(Csv("other", 100, 3, BelowA));
  again.set_force(true);
  ASSERT_OK(Train(again));
  EXPECT_EQ(Stored(2).model.features().SerializeAsString(),
            Stored(1).model.features().SerializeAsString());
  again.set_features(options.features());
  ASSERT_OK(Train(again));
  EXPECT_NE(Stored(3).model.features().SerializeAsString(),
            Stored(1).model.features().SerializeAsString());
}

TEST_F(LabelledColumnsTest, WhatDoesNotFitIsNamed) {
  const std::string csv = Csv("below", 100, 1, BelowA);
  // A version with numbered features is to be replaced.
  TrainOptions options = Options(csv);
  config::v1::FitOptions fit;
  fit.set_data(dir_.Sub("data") + "/planted.letor");
  ASSERT_OK(WriteFile(fit.data(), FormatLetor(Planted(30, 0, 1))));
  fit.set_model_store(options.model_store());
  ASSERT_OK(Fit(fit));
  EXPECT_THAT(Train(options),
              IsInvalidArgument(
                  csv + "' has named columns, but no feature spec was given "
                        "(`--features`). Columns: kind (CATEGORY), a (NUMBER), "
                        "b (NUMBER). Run `sortition-trainer suggest-features` "
                        "for a draft"));
  options.set_word_vectors("vectors.txt");
  EXPECT_THAT(Train(options),
              IsInvalidArgument("word_vectors is 'vectors.txt', must "
                                "be empty without features"));
  options.clear_word_vectors();
  options.set_model("first");
  options.set_features(Spec("numbers", kNumbers));
  options.set_learner("multiclass");
  EXPECT_THAT(Train(options), IsInvalidArgument("must have none for learner "
                                                "multiclass"));
  options = Options(dir_.Sub("data") + "/planted.letor");
  options.set_model("first");
  ASSERT_OK(WriteFile(options.data(0), FormatLetor(Planted(30, 0, 1))));
  options.set_features(Spec("numbers", kNumbers));
  EXPECT_THAT(
      Train(options),
      IsInvalidArgument("planted.letor' must end in .tsv, .csv or .jsonl"));
  // 1000 candidates with 2^20 floats each are 4000 MiB.
  options = Options(csv);
  options.set_model("first");
  options.set_features(
      Spec("wide", "transform { hash { column: 'kind' bits: 20 } }"));
  EXPECT_THAT(
      Train(options),
      IsInvalidArgument("1000 candidates with 1048576 features need 4001 MiB "
                        "as rows of floats, must be at most memory_mb = 2048"));
}

// No linear policy can tell that both numbers have the same sign.
TEST_F(LabelledColumnsTest, TreesLearnWhatNoWeightsCan) {
  TrainOptions options = Options(Csv("signs", 300, 1, SameSign));
  options.set_features(Spec("numbers", kNumbers));
  ASSERT_OK_AND_ASSIGN(const TrainReport linear, Train(options));
  EXPECT_LT(linear.labelled().new_measure().value(), 0.65);
  options.clear_features();
  options.set_learner("trees");
  options.mutable_boosted_trees()->set_rounds(60);
  if (!HasXgboost()) {
    EXPECT_THAT(Train(options), StatusIs(absl::StatusCode::kUnimplemented,
                                         HasSubstr("built without XGBoost")));
    return;
  }
  ASSERT_OK_AND_ASSIGN(const TrainReport report, Train(options));
  EXPECT_GT(report.labelled().new_measure().value(), 0.85);
  ASSERT_EQ(report.version(), 2) << report.evaluation().verdict();
  const model::v1::Model model = Stored(2).model;
  ASSERT_EQ(model.weights_size(), 3);  // The linear start and the trees.
  EXPECT_EQ(model.weights(2), 1);
  EXPECT_EQ(model.num_features(), 2);
  TrainOptions with_features = options;
  with_features.set_features(Spec("numbers", kNumbers));
  EXPECT_NEAR(report.labelled().new_measure().value(),
              Earned(model, with_features), 1e-9);
  EXPECT_NEAR(report.labelled().old_measure().value(),
              Earned(Stored(1).model, with_features), 1e-9);
  // `evaluate` orders by the trees, too.
  config::v1::EvaluateOptions evaluate;
  evaluate.add_data(options.data(0));
  evaluate.set_model_store(options.model_store());
  evaluate.add_metrics("auc");
  ASSERT_OK_AND_ASSIGN(const auto metrics, EvaluateOrders(evaluate));
  EXPECT_GT(metrics.metrics(0).value(), 0.9);
  options.set_trees("model.json");
  EXPECT_THAT(Train(options),
              IsInvalidArgument("trees is 'model.json', must be "
                                "empty for learner trees"));
}

// Trees of a file are a feature whose weight is learned.
TEST_F(LabelledColumnsTest, ImportedTreesAreOneMoreFeature) {
  if (!HasXgboost())
    GTEST_SKIP()
        << "skipped: built without XGBoost; cmake -DSORTITION_XGBOOST=ON";
  TrainOptions options = Options(dir_.Sub("data") + "/signs.letor");
  LabelledQueries data = Planted(200, 0, 1);
  for (LabelledQuery& query : data.queries) {
    for (size_t i = 0; i < query.relevances.size(); ++i) {
      const float* const row = &query.features[i * kPlantedFeatures];
      query.relevances[i] = SameSign(row[0], row[1], true) ? 1 : 0;
    }
  }
  ASSERT_OK(WriteFile(options.data(0), FormatLetor(data)));
  std::vector<LabelledItems> views;
  for (const LabelledQuery& query : data.queries) {
    views.push_back(
        {Candidates::DenseUnchecked(query.features, 4), query.relevances});
  }
  const XgboostMatrix matrix = XgboostMatrix::Create(views).value();
  XgboostBooster booster =
      XgboostBooster::Create({{"objective", "binary:logistic"}}, {&matrix, 1})
          .value();
  for (int round = 0; round < 10; ++round) {
    ASSERT_OK(booster.Update(round, matrix));
  }
  options.set_trees(dir_.Sub("data") + "/trees.json");
  ASSERT_OK(WriteFile(options.trees(), booster.Save("json").value()));
  ASSERT_OK_AND_ASSIGN(const TrainReport report, Train(options));
  EXPECT_GT(report.labelled().new_measure().value(), 0.85);
  const StoredModel stored = Stored(1);
  EXPECT_EQ(stored.model.num_features(), 4);
  ASSERT_EQ(stored.model.weights_size(), 5);
  EXPECT_GT(stored.model.weights(4), 0);
  // Callers still send four features.
  ASSERT_FALSE(stored.warmup.empty());
  EXPECT_EQ(stored.warmup[0].num_features(), 4);
  EXPECT_EQ(stored.warmup[0].dense_values_size(),
            4 * static_cast<int>(stored.warmup[0].num_candidates()));
  options.set_trees("none");
  options.set_force(true);
  ASSERT_OK(Train(options));
  EXPECT_EQ(Stored(2).model.weights_size(), 4);
}

// Features of the query are the same for all candidates: they move the scores
// of all of them against the score of abstaining.
TEST_F(LabelledColumnsTest, AbstainingMayDependOnTheQuery) {
  config::v1::FitOptions options;
  options.set_data(Csv("facts", 40, 1, [](double a, double, bool is_fact) {
    return is_fact && a < 0;
  }));
  options.set_features(Spec(
      "kinds",
      absl::StrCat(kNumbers, "transform { vocabulary { column: 'kind' } }")));
  options.set_model_store(dir_.Sub("models"));
  options.set_uniform_mixture(0);
  options.set_inverse_temperature(100);
  options.set_max_queries(20);
  ASSERT_OK_AND_ASSIGN(const FitReport report, Fit(options));
  EXPECT_EQ(report.queries, 20);
  EXPECT_EQ(report.num_features, 4);
  const StoredModel stored = Stored(1);
  // All 40 queries taught the features, not only the 20 that are labelled.
  EXPECT_EQ(stored.model.features().learned().num_queries(), 40);
  ASSERT_EQ(stored.warmup.size(), 20);
  EXPECT_TRUE(stored.warmup[0].has_columns());
  const LinearPolicy policy = LinearPolicy::Create(stored.model).value();
  v1::Columns columns = stored.warmup[0].columns();
  ASSERT_EQ(columns.candidate(0).name(), "a");
  columns.mutable_candidate(0)->mutable_numbers()->set_values(3, -0.9);
  double abstains = 0;
  PolicyQuery query;
  query.columns = &columns;
  auto* const kind = columns.mutable_query(0)->mutable_categories();
  kind->set_values(0, "fact");
  policy.FirstProbabilities(query, &abstains);
  EXPECT_LT(abstains, 0.1);
  // The same candidates.
  kind->set_values(0, "chat");
  policy.FirstProbabilities(query, &abstains);
  EXPECT_GT(abstains, 0.9);
}

TEST_F(LabelledColumnsTest, FitRefusesWhatNewtonsMethodCannot) {
  config::v1::FitOptions options;
  options.set_data(Csv("below", 40, 1, BelowA));
  options.set_model_store(dir_.Sub("models"));
  options.set_features(
      Spec("wide", "transform { hash { column: 'kind' bits: 13 } }"));
  EXPECT_THAT(
      Fit(options),
      IsInvalidArgument("features makes 8192 features of a candidate, must be "
                        "at most 4096"));
}

}  // namespace
}  // namespace sortition
