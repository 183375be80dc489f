// Policies learned from logs of named columns, and with a hidden layer.
#include <fstream>

#include "tests/trainer/offpolicy/train_fixture.h"
#include "trainer/frames/model_frame.h"
#include "trainer/report.h"
#include "trainer/train.h"

namespace sortition {
namespace {

constexpr int32_t kColumnCandidates = 4;

// A uniform selection among candidates, decided and rewarded by `id`.
log::v1::BanditTuple UniformTuple(const std::string& id,
                                  RandomSequence* random) {
  log::v1::BanditTuple tuple;
  log::v1::Decision& decision = *tuple.mutable_decision();
  decision.set_decision_id(id);
  decision.set_model("default");
  decision.set_action_kind(log::v1::SELECT);
  decision.set_num_candidates(kColumnCandidates);
  decision.add_action(static_cast<int32_t>(random->Below(kColumnCandidates)));
  decision.set_log_propensity(-std::log(kColumnCandidates));
  tuple.set_has_feedback(true);
  return tuple;
}

class ColumnTrainTest : public TrainFixture {
 protected:
  void SetUp() override {
    options_.mutable_poem()->clear_l2();
    options_.set_features(
        WriteSpec("transform { number { column: 'price' "
                  "standardise: true } } transform { "
                  "vocabulary { column: 'color' } }"));
  }

  std::string WriteSpec(const std::string& transforms) {
    const std::string path = dir_ / "features.textproto";
    std::ofstream(path) << "schema { column { name: 'price' type: NUMBER } "
                           "column { name: 'color' type: CATEGORY } } "
                        << transforms;
    return path;
  }

  // A cheap red candidate is good, others are less so.
  static double Goodness(double price, bool is_red) {
    return 0.1 + (price < 20 ? 0.4 : 0) + (is_red ? 0.4 : 0);
  }

  static v1::Columns RandomColumns(RandomSequence* random) {
    v1::Columns columns;
    columns.set_num_candidates(kColumnCandidates);
    v1::Column& price = *columns.add_candidate();
    price.set_name("price");
    v1::Column& color = *columns.add_candidate();
    color.set_name("color");
    for (int32_t i = 0; i < kColumnCandidates; ++i) {
      price.mutable_numbers()->add_values(40 * random->Uniform());
      color.mutable_categories()->add_values(random->Uniform() < 0.5 ? "red"
                                                                     : "blue");
    }
    return columns;
  }

  static double GoodnessOf(const v1::Columns& columns, int32_t i) {
    return Goodness(columns.candidate(0).numbers().values(i),
                    columns.candidate(1).categories().values(i) == "red");
  }

  static std::vector<log::v1::BanditTuple> ColumnTuples(int n) {
    std::vector<log::v1::BanditTuple> tuples;
    RandomSequence random(SeedKey(3));
    for (int i = 0; i < n; ++i) {
      tuples.push_back(UniformTuple(absl::StrCat("d", i), &random));
      log::v1::Decision& decision = *tuples.back().mutable_decision();
      *decision.mutable_columns() = RandomColumns(&random);
      const double goodness =
          GoodnessOf(decision.columns(), decision.action(0));
      tuples.back().set_reward(random.Uniform() < goodness ? 1 : 0);
    }
    return tuples;
  }

  // The expected reward of a model over fresh queries.
  static double TrueReward(const model::v1::Model& model) {
    const LinearPolicy policy = *LinearPolicy::Create(model);
    RandomSequence random(SeedKey(4));
    PolicyWorkspace workspace;
    double sum = 0;
    constexpr int kQueries = 2000;
    for (int q = 0; q < kQueries; ++q) {
      const v1::Columns columns = RandomColumns(&random);
      PolicyQuery query;
      query.columns = &columns;
      std::vector<double> probabilities;
      policy.FirstProbabilities(query, &workspace, &probabilities);
      EXPECT_OK(workspace.refusal);
      for (int32_t i = 0; i < kColumnCandidates; ++i) {
        sum += probabilities[i] * GoodnessOf(columns, i) / kQueries;
      }
    }
    return sum;
  }
};

TEST_F(ColumnTrainTest, LearnsFeaturesAndWeightsAndKeepsTheFeatures) {
  WriteSegment(dir_.Sub("tuples"), 0, ColumnTuples(4000));
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  EXPECT_TRUE(report.gate_passed()) << FormatReport(report);
  ASSERT_OK_AND_ASSIGN(const StoredModel first, store_.Load("default", 1));
  ASSERT_TRUE(first.model.has_features());
  EXPECT_EQ(first.model.num_features(), 3u);  // price, blue, red
  EXPECT_NEAR(first.model.features().learned().transform(0).mean(0), 20, 0.5);
  // Uniform choice gets 0.1 + 0.2 + 0.2; the best of four about 0.8.
  EXPECT_GT(TrueReward(first.model), 0.65);
  ASSERT_EQ(first.warmup.size(), 100u);
  EXPECT_TRUE(first.warmup[0].has_columns());

  // The next one from the same log: with the features of the version before.
  options_.clear_features();
  options_.set_force(true);
  options_.set_baseline("log");
  ASSERT_OK(Train(options_));
  ASSERT_OK_AND_ASSIGN(const StoredModel second, store_.Load("default", 2));
  EXPECT_TRUE(IsSameFrame(first.model, second.model));
}

// Each is weighed with features of its own.
TEST_F(ColumnTrainTest, OtherFeaturesAreComparedWithTheVersionTheyReplace) {
  WriteSegment(dir_.Sub("tuples"), 0, ColumnTuples(8000));
  ASSERT_OK_AND_ASSIGN(auto report, Train(options_));
  ASSERT_TRUE(report.gate_passed()) << FormatReport(report);
  ASSERT_OK_AND_ASSIGN(const StoredModel both, store_.Load("default", 1));

  // Color alone is better than chance, and worse than color and price.
  options_.set_features(
      WriteSpec("transform { vocabulary { column: 'color' } }"));
  options_.set_baseline("log");
  ASSERT_OK_AND_ASSIGN(report, Train(options_));
  EXPECT_GT(report.evaluation().improvement().lower(), 0);
  ASSERT_TRUE(report.has_improvement_over_newest());
  EXPECT_LT(report.improvement_over_newest().upper(), 0);
  EXPECT_FALSE(report.gate_passed());

  options_.set_force(true);
  ASSERT_OK_AND_ASSIGN(report, Train(options_));
  ASSERT_OK_AND_ASSIGN(const StoredModel color, store_.Load("default", 2));
  const double truth = TrueReward(color.model) - TrueReward(both.model);
  EXPECT_LT(report.improvement_over_newest().lower(), truth);
  EXPECT_GT(report.improvement_over_newest().upper(), truth);
}

TEST_F(ColumnTrainTest, RefusesSpecsThatDoNotFit) {
  WriteSegment(dir_.Sub("tuples"), 0, ColumnTuples(50));
  options_.set_features(WriteSpec("transform { number { column: 'prize' } }"));
  EXPECT_THAT(Train(options_), IsInvalidArgument("prize"));
  options_.set_features(dir_ / "no_such_file");
  EXPECT_THAT(Train(options_), IsNotFound("no_such_file"));
}

// The cause is neither the features nor the columns.
TEST_F(ColumnTrainTest, FeaturesOfNothingNameWhatIsMissing) {
  EXPECT_THAT(Train(options_),
              IsFailedPrecondition(" yet: the sidecar writes the tuple of"));
  WriteSegment(dir_.Sub("tuples"), 0, ColumnTuples(50));
  options_.set_model("other");
  EXPECT_THAT(Train(options_),
              IsFailedPrecondition("model is 'other', but none of the 50 "));
}

TEST_F(ColumnTrainTest, FeaturesNeedColumns) {
  WriteSegment(dir_.Sub("tuples"), 0, MakeTuples({}, 50));
  EXPECT_THAT(Train(options_), IsFailedPrecondition("has columns"));
}

// Good is what has both or none: no linear score says so.
TEST_F(ColumnTrainTest, HiddenUnitsLearnWhatNoLinearScoreDoes) {
  const auto goodness = [](const std::vector<float>& x, int32_t i) {
    return x[2 * i] * x[2 * i + 1] > 0 ? 0.9 : 0.1;
  };
  const auto random_features = [](RandomSequence* random) {
    std::vector<float> x(2 * kColumnCandidates);
    for (float& value : x) value = random->Uniform() < 0.5 ? 1 : -1;
    return x;
  };
  std::vector<log::v1::BanditTuple> tuples;
  RandomSequence random(SeedKey(5));
  for (int i = 0; i < 4000; ++i) {
    tuples.push_back(UniformTuple(absl::StrCat("d", i), &random));
    log::v1::Decision& decision = *tuples.back().mutable_decision();
    const std::vector<float> x = random_features(&random);
    decision.set_num_features(2);
    decision.mutable_dense_values()->Add(x.begin(), x.end());
    tuples.back().set_reward(
        random.Uniform() < goodness(x, decision.action(0)) ? 1 : 0);
  }
  WriteSegment(dir_.Sub("tuples"), 0, tuples);
  options_.clear_features();
  const auto true_reward = [&](const model::v1::Model& model) {
    const LinearPolicy policy = *LinearPolicy::Create(model);
    RandomSequence fresh(SeedKey(6));
    double sum = 0;
    constexpr int kQueries = 2000;
    for (int q = 0; q < kQueries; ++q) {
      const std::vector<float> x = random_features(&fresh);
      PolicyQuery query;
      query.candidates = Candidates::DenseUnchecked(x, 2);
      const auto probabilities = policy.FirstProbabilities(query, nullptr);
      for (int32_t i = 0; i < kColumnCandidates; ++i) {
        sum += probabilities[i] * goodness(x, i) / kQueries;
      }
    }
    return sum;
  };
  options_.set_force(true);
  ASSERT_OK(Train(options_));
  ASSERT_OK_AND_ASSIGN(const StoredModel linear, store_.Load("default", 1));
  // The best one prefers one corner, which is there in 68 % of the queries.
  EXPECT_LT(true_reward(linear.model), 0.7);
  options_.set_baseline("log");
  options_.set_hidden_units(8);
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  EXPECT_TRUE(report.gate_passed()) << FormatReport(report);
  ASSERT_OK_AND_ASSIGN(const StoredModel network, store_.Load("default", 2));
  EXPECT_EQ(network.model.hidden_layer().num_units(), 8u);
  EXPECT_EQ(network.model.num_features(), 2u);
  EXPECT_EQ(network.model.weights_size(), 10);
  // The best of four is right in 15 of 16 queries: 0.85.
  EXPECT_GT(true_reward(network.model), 0.77);
}

}  // namespace
}  // namespace sortition
