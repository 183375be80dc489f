#include "trainer/labelled/labelled_gate.h"

#include <algorithm>
#include <deque>

#include "core/counterfactual/estimators.h"
#include "core/counterfactual/moments.h"
#include "core/data/labelled_queries.h"
#include "core/learners/labelled/expected_measure.h"
#include "tests/trainer/planted_labels.h"
#include "trainer/labelled/fit.h"
#include "trainer/labelled/labelled_data.h"
#include "trainer/labelled/labelled_report.h"
#include "trainer/labelled/labelled_temperature.h"
#include "trainer/labelled/labelled_warmup.h"
#include "trainer/train.h"

namespace sortition {
namespace {

using config::v1::LabelledReport;
using config::v1::TrainOptions;
using config::v1::TrainReport;
using testing::SizeIs;

using LabelledGateTest = PlantedTest;

// Returns the expected DCG@5 of each test query.
std::vector<double> Measured(const TrainOptions& options,
                             const model::v1::Model& model) {
  const LabelledData data = ReadLabelledData(options).value();
  const ExpectedMeasure measure =
      ExpectedMeasure::Create(
          model.policy(), {model.weights().begin(), model.weights().end()},
          {.kind = LabelMeasure::Kind::kDcg, .k = 5, .gains = {0, 1, 1}})
          .value();
  std::vector<double> values;
  for (const LabelledItems& query : ViewsOf(data.test, data)) {
    values.push_back(measure.Of(query, 0).value());
  }
  return values;
}

// The interval is that of the mean difference per query, not of two means.
TEST_F(LabelledGateTest, TheDifferenceIsPairedByQuery) {
  ASSERT_OK(Train(NoiseOptions()));
  ASSERT_OK_AND_ASSIGN(const TrainReport report, Train(options_));
  const std::vector<double> before =
      Measured(options_, store().Load("default", 1).value().model);
  const std::vector<double> after =
      Measured(options_, store().Load("default", 2).value().model);
  Moments differences;
  for (size_t j = 0; j < after.size(); ++j) {
    differences.Add(after[j] - before[j]);
  }
  const double slack =
      StudentQuantile(0.975, after.size() - 1) *
      std::sqrt(differences.variance() / static_cast<double>(after.size()));
  const auto& difference = report.labelled().difference();
  EXPECT_NEAR(difference.value(), differences.mean(), 1e-12);
  EXPECT_NEAR(difference.lower(), differences.mean() - slack, 1e-12);
  EXPECT_NEAR(difference.upper(), differences.mean() + slack, 1e-12);
}

TEST_F(LabelledGateTest, TheGateTakesWhatIsBetterAndNothingElse) {
  // A first version that was trained on noise.
  ASSERT_OK_AND_ASSIGN(const TrainReport first, Train(NoiseOptions()));
  EXPECT_EQ(first.version(), 1);
  EXPECT_THAT(first.evaluation().verdict(),
              HasSubstr("no version of model 'default' to compare "
                        "with, so nothing was proved"));
  // A better version.
  ASSERT_OK_AND_ASSIGN(const TrainReport second, Train(options_));
  EXPECT_EQ(second.version(), 2);
  const auto& difference = second.labelled().difference();
  EXPECT_GT(difference.lower(), 0);
  EXPECT_NEAR(difference.value(),
              second.labelled().new_measure().value() -
                  second.labelled().old_measure().value(),
              1e-12);
  EXPECT_EQ(second.labelled().old_draws(), 0);
  // The same version again is not better.
  ASSERT_OK_AND_ASSIGN(const TrainReport again, Train(options_));
  EXPECT_FALSE(again.gate_passed());
  EXPECT_FALSE(again.has_version());
  EXPECT_EQ(again.labelled().difference().value(), 0);
  EXPECT_THAT(again.evaluation().verdict(), HasSubstr("Not published"));
  // A version that was trained on noise is worse on test queries with true
  // labels.
  TrainOptions noise = NoiseOptions();
  noise.add_test(Write("test", Planted(60, 0, 3)));
  ASSERT_OK_AND_ASSIGN(const TrainReport worse, Train(noise));
  EXPECT_FALSE(worse.has_version());
  EXPECT_LT(worse.labelled().difference().upper(), 0);
  noise.set_force(true);
  ASSERT_OK_AND_ASSIGN(const TrainReport forced, Train(noise));
  EXPECT_EQ(forced.version(), 3);
  EXPECT_FALSE(forced.gate_passed());
  EXPECT_THAT(forced.evaluation().verdict(), HasSubstr("Published by --force"));
}

// A small improvement on a dozen queries may be due to chance.
TEST_F(LabelledGateTest, AnImprovementMustBeCertain) {
  options_.add_test(Write("dozen", Planted(12, 0.3, 7)));
  options_.mutable_game()->clear_lambda();
  options_.mutable_game()->add_lambda(0.01);
  ASSERT_OK(Train(options_));
  options_.mutable_game()->set_lambda(0, 0.03);
  ASSERT_OK_AND_ASSIGN(const TrainReport report, Train(options_));
  EXPECT_GT(report.labelled().difference().value(), 0);
  EXPECT_LT(report.labelled().difference().lower(), 0);
  EXPECT_FALSE(report.gate_passed());
  EXPECT_FALSE(report.has_version());
}

TEST_F(LabelledGateTest, PlackettLuceIsComparedByDraws) {
  config::v1::FitOptions fit;
  fit.set_data(options_.data(0));
  fit.set_model_store(options_.model_store());
  fit.set_action("rank");
  fit.set_inverse_temperature(0.2);
  ASSERT_OK(Fit(fit));
  ASSERT_OK_AND_ASSIGN(const TrainReport report, Train(options_));
  EXPECT_EQ(report.labelled().old_draws(), 256);
  EXPECT_EQ(report.labelled().new_draws(), 0);
  EXPECT_EQ(report.version(), 2);
}

TEST_F(LabelledGateTest, WhatCannotBeComparedIsReplacedByForceOnly) {
  config::v1::FitOptions fit;
  fit.set_data(options_.data(0));
  fit.set_model_store(options_.model_store());
  ASSERT_OK(Fit(fit));  // Selects.
  ASSERT_OK_AND_ASSIGN(const TrainReport report, Train(options_));
  EXPECT_FALSE(report.has_version());
  EXPECT_THAT(
      report.evaluation().verdict(),
      HasSubstr(
          "version 1 cannot be compared: the policy selects a candidate"));
  EXPECT_FALSE(report.labelled().quality(0).has_old_value());
  // A different number of features.
  LabelledQueries wide = Planted(60, 0, 4);
  wide.num_features = 2;
  fit.set_data(Write("narrow", wide));
  TrainOptions narrow = options_;
  *narrow.mutable_data(0) = fit.data();
  narrow.set_model("narrow");
  ASSERT_OK(Train(narrow));
  options_.set_model("narrow");
  ASSERT_OK_AND_ASSIGN(const TrainReport other, Train(options_));
  EXPECT_THAT(other.evaluation().verdict(),
              HasSubstr("it has 2 features, the new one has 4"));
}

TEST_F(LabelledGateTest, FewTestQueriesPublishNothingOverAVersion) {
  ASSERT_OK(Train(options_));
  options_.add_test(Write("few", Planted(9, 0, 5)));
  ASSERT_OK_AND_ASSIGN(const TrainReport report, Train(options_));
  EXPECT_FALSE(report.has_version());
  EXPECT_THAT(report.evaluation().verdict(),
              HasSubstr("there are 9 queries to compare on, must be at least "
                        "10"));
}

TEST_F(LabelledGateTest, WithoutATestPartTheValidationPartIsNamed) {
  ASSERT_OK(Train(NoiseOptions()));
  options_.set_test_fraction(0);
  ASSERT_OK_AND_ASSIGN(const TrainReport report, Train(options_));
  EXPECT_EQ(report.labelled().part(), "validation");
  EXPECT_THAT(report.evaluation().verdict(),
              HasSubstr("is not proved for the chosen one"));
  EXPECT_EQ(report.labelled().test_queries(), 0);
}

TrainReport Report() {
  TrainReport report;
  LabelledReport* labelled = report.mutable_labelled();
  labelled->set_measure("graded DCG@10");
  labelled->set_validation_measure("graded DCG@10, deterministic");
  for (const double lambda : {0.5, 0.25}) {
    LabelledReport::Point* point = labelled->add_points();
    point->set_lambda(lambda);
    point->set_chosen(lambda == 0.25);
  }
  return report;
}

TEST(LabelledReportTest, SettingsAreAColumnWhereThereAreAny) {
  TrainReport report = Report();
  EXPECT_THAT(FormatLabelledReport(report), Not(HasSubstr("setting")));
  auto* points = report.mutable_labelled()->mutable_points();
  points->at(0).set_setting("temperature 10, learning rate 0.01");
  points->at(1).set_setting("temperature 1");
  const std::string text = FormatLabelledReport(report);
  EXPECT_THAT(text, HasTexts("    lambda                             setting",
                             "       0.5  temperature 10, learning rate 0.01",
                             "*       0.25                       temperature 1",
                             "validation: mean graded DCG@10, deterministic"));
}

TEST(LabelledReportTest, TemperaturesComeWithWhatTheyKeep) {
  TrainReport report = Report();
  LabelledReport* labelled = report.mutable_labelled();
  labelled->set_inverse_temperature(8);
  EXPECT_THAT(FormatLabelledReport(report),
              HasSubstr("Inverse temperature, as given: 8"));
  labelled->set_measure_by_chance(0.2);
  labelled->set_measure_by_score(0.7);
  auto* row = labelled->add_temperatures();
  row->set_inverse_temperature(8);
  row->set_measure(0.6);
  row->set_entropy(1.25);
  row->set_chosen(true);
  const std::string text = FormatLabelledReport(report);
  EXPECT_THAT(text, HasTexts("*          8      0.60000     80.0 %    1.2500",
                             "by score      0.70000",
                             "keeps 95 % of what the policy by score gains"));
  EXPECT_THAT(text, Not(HasSubstr("as given")));
}

// Two queries with two features and a constant.
LabelledData TwoQueries() {
  LabelledData data;
  data.shape.num_features = 2;
  data.has_constant = true;
  data.training.resize(2);
  data.training[0].id = "a";
  data.training[0].features = {1, 2, 1, 3, 4, 1};
  data.training[0].relevances = {0, 1};
  data.training[1].id = "b";
  data.training[1].features = {5, 6, 1};
  data.training[1].relevances = {2};
  return data;
}

TEST(WarmupQueriesTest, AreTrainingQueriesWithoutTheConstant) {
  model::v1::Model model;
  model.set_name("m");
  model.set_num_features(2);
  model.mutable_policy()->mutable_independent_subset()->set_k(1);
  const auto warmup = WarmupQueries(TwoQueries(), model, 10);
  ASSERT_THAT(warmup, SizeIs(2));
  EXPECT_EQ(warmup[0].decision_id(), "warmup-a");
  EXPECT_EQ(warmup[0].model(), "m");
  EXPECT_EQ(warmup[0].action_kind(), log::v1::SUBSET);
  EXPECT_EQ(warmup[0].top_k(), 1);
  EXPECT_EQ(warmup[0].num_candidates(), 2);
  EXPECT_EQ(warmup[0].num_features(), 2);
  EXPECT_THAT(warmup[0].dense_values(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(WarmupQueries(TwoQueries(), model, 1), SizeIs(1));
  model.mutable_policy()->mutable_plackett_luce();
  EXPECT_EQ(WarmupQueries(TwoQueries(), model, 1)[0].top_k(), 2);
}

// With two classes, candidate l has the item's features in block l.
TEST(WarmupQueriesTest, ClassesAreCandidatesOfTheirOwnBlock) {
  model::v1::Model model;
  model.set_num_features(4);
  model.mutable_policy()->mutable_softmax_selection();
  const auto warmup = WarmupQueries(TwoQueries(), model, 10);
  ASSERT_THAT(warmup, SizeIs(2));
  EXPECT_EQ(warmup[1].action_kind(), log::v1::SELECT);
  EXPECT_EQ(warmup[1].num_candidates(), 2);
  EXPECT_EQ(warmup[1].num_features(), 4);
  EXPECT_THAT(warmup[1].dense_values(), ElementsAre(5, 6, 0, 0, 0, 0, 5, 6));
}

TEST(WarmupQueriesTest, WhatIsNotServedHasNone) {
  model::v1::Model model;
  model.set_num_features(2);
  model.mutable_policy()->mutable_label_chain()->set_num_labels(3);
  EXPECT_THAT(WarmupQueries(TwoQueries(), model, 10), IsEmpty());
}

// Queries with one feature that is mostly larger for items of relevance 1.
class TemperatureTest : public testing::Test {
 protected:
  void SetUp() override {
    Fill(40);
    model_.set_num_features(1);
    model_.add_weights(1);
    model_.mutable_policy()->set_inverse_temperature(1);
    model_.mutable_policy()->mutable_softmax_selection();
  }

  void Fill(int num_queries) {
    RandomSequence random(SeedKey(3));
    for (int q = 0; q < num_queries; ++q) {
      auto& features = features_.emplace_back();
      auto& relevances = relevances_.emplace_back();
      for (int i = 0; i < 6; ++i) {
        relevances.push_back(i % 3 == 0 ? 1 : 0);
        features.push_back(
            static_cast<float>(0.5 * random.Normal() + relevances.back()));
      }
      queries_.push_back({Candidates::DenseUnchecked(features, 1), relevances});
    }
  }

  TemperatureTask Task(const std::vector<double>& grid = {}) const {
    return {.queries = queries_,
            .measure = {.kind = LabelMeasure::Kind::kGain, .gains = {0, 1}},
            .model = model_,
            .grid = grid,
            .parallel_for = SerialFor};
  }

  // Returns the mean probability of relevant candidates.
  double Gain(double alpha) const {
    double sum = 0;
    for (size_t q = 0; q < queries_.size(); ++q) {
      double total = 0;
      double relevant = 0;
      const double largest = *std::ranges::max_element(features_[q]);
      for (size_t i = 0; i < 6; ++i) {
        const double weight = std::exp(alpha * (features_[q][i] - largest));
        total += weight;
        relevant += weight * relevances_[q][i];
      }
      sum += relevant / total;
    }
    return sum / static_cast<double>(queries_.size());
  }

  std::deque<std::vector<float>> features_;
  std::deque<std::vector<uint32_t>> relevances_;
  std::vector<LabelledItems> queries_;
  model::v1::Model model_;
};

TEST_F(TemperatureTest, TakesTheSmallestThatKeepsMostOfTheGain) {
  LabelledReport report;
  ASSERT_OK_AND_ASSIGN(const double alpha, ChooseTemperature(Task(), &report));
  EXPECT_NEAR(report.measure_by_chance(), 1. / 3, 1e-12);
  ASSERT_EQ(report.temperatures_size(), 11);
  const double wanted = 1. / 3 + 0.95 * (report.measure_by_score() - 1. / 3);
  bool reached = false;
  for (int i = 0; i < 11; ++i) {
    const auto& row = report.temperatures(i);
    EXPECT_EQ(row.inverse_temperature(), std::exp2(i));
    EXPECT_NEAR(row.measure(), Gain(std::exp2(i)), 1e-9);
    EXPECT_EQ(row.chosen(), row.inverse_temperature() == alpha);
    EXPECT_EQ(row.chosen(), !reached && row.measure() >= wanted);
    reached = reached || row.chosen();
    if (i == 0) continue;
    EXPECT_LT(row.entropy(), report.temperatures(i - 1).entropy());
  }
  EXPECT_TRUE(reached);
  EXPECT_GT(alpha, 1);
  EXPECT_LT(alpha, 1024);
  EXPECT_EQ(report.inverse_temperature(), alpha);
}

// The resulting policy does not depend on the unit of the scores: α times the
// weights stays the same.
TEST_F(TemperatureTest, TheDefaultGridGoesAsFarAsItHasTo) {
  LabelledReport report;
  ASSERT_OK_AND_ASSIGN(const double alpha, ChooseTemperature(Task(), &report));
  for (const int power : {-15, 13}) {
    model_.set_weights(0, std::exp2(power));
    report.Clear();
    ASSERT_OK_AND_ASSIGN(const double scaled,
                         ChooseTemperature(Task(), &report));
    EXPECT_EQ(scaled * std::exp2(power), alpha);
    int chosen = 0;
    for (int i = 0; i < report.temperatures_size(); ++i) {
      chosen += report.temperatures(i).chosen() ? 1 : 0;
      if (i == 0) continue;
      EXPECT_EQ(report.temperatures(i).inverse_temperature(),
                2 * report.temperatures(i - 1).inverse_temperature());
    }
    EXPECT_EQ(chosen, 1);
  }
  // If the best α is outside the bounds, the nearest bound is chosen.
  model_.set_weights(0, 0x1p-40);
  report.Clear();
  EXPECT_EQ(ChooseTemperature(Task(), &report).value(), 0x1p19);
  model_.set_weights(0, 0x1p40);
  report.Clear();
  EXPECT_EQ(ChooseTemperature(Task(), &report).value(), 0x1p-19);
}

TEST_F(TemperatureTest, TheUniformMixtureIsTheCallersMatter) {
  LabelledReport without;
  LabelledReport with;
  ASSERT_OK(ChooseTemperature(Task(), &without));
  model_.mutable_policy()->set_uniform_mixture(0.7);
  ASSERT_OK(ChooseTemperature(Task(), &with));
  EXPECT_EQ(with.SerializeAsString(), without.SerializeAsString());
}

TEST_F(TemperatureTest, OneAloneIsTakenAsItIs) {
  LabelledReport report;
  ASSERT_OK_AND_ASSIGN(const double alpha,
                       ChooseTemperature(Task({0.3}), &report));
  EXPECT_EQ(alpha, 0.3);
  EXPECT_EQ(report.inverse_temperature(), 0.3);
  EXPECT_EQ(report.temperatures_size(), 0);
}

TEST_F(TemperatureTest, WhereNoneKeepsEnoughTheBestIsTaken) {
  LabelledReport report;
  ASSERT_OK_AND_ASSIGN(const double alpha,
                       ChooseTemperature(Task({0.2, 0.1}), &report));
  EXPECT_EQ(alpha, 0.2);
  EXPECT_EQ(report.temperatures(0).inverse_temperature(), 0.1);
}

// Choosing by score is worse than chance, so the least α is the best.
TEST_F(TemperatureTest, ScoresThatMisleadAreMostRandom) {
  model_.set_weights(0, -1);
  LabelledReport report;
  EXPECT_EQ(ChooseTemperature(Task(), &report).value(), 1);
  EXPECT_LT(report.measure_by_score(), report.measure_by_chance());
}

TEST_F(TemperatureTest, WhatCannotBeDrawnIsLeftOut) {
  model_.mutable_policy()->mutable_plackett_luce();
  model_.set_weights(0, 1e6);
  TemperatureTask task = Task({1, 1e5});
  task.measure.kind = LabelMeasure::Kind::kDcg;
  LabelledReport report;
  EXPECT_EQ(ChooseTemperature(task, &report).value(), 1);
  EXPECT_EQ(report.temperatures_size(), 1);
  task.grid = {1e5, 1e6};
  report.Clear();
  EXPECT_THAT(ChooseTemperature(task, &report),
              IsInvalidArgument("beyond what the policy can draw"));
}

// Every third of 3,000 queries is used.
TEST_F(TemperatureTest, ManyQueriesAreThinnedEvenly) {
  features_.clear();
  relevances_.clear();
  queries_.clear();
  Fill(3000);
  LabelledReport all;
  ASSERT_OK(ChooseTemperature(Task({1, 2}), &all));
  std::vector<LabelledItems> third;
  for (size_t q = 0; q < 3000; q += 3) third.push_back(queries_[q]);
  queries_ = third;
  LabelledReport some;
  ASSERT_OK(ChooseTemperature(Task({1, 2}), &some));
  EXPECT_EQ(all.SerializeAsString(), some.SerializeAsString());
}

}  // namespace
}  // namespace sortition
