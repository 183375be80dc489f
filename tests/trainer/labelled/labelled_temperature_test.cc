#include "trainer/labelled/labelled_temperature.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <vector>

#include "core/base/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using config::v1::LabelledReport;
using testing::HasSubstr;

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
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("beyond what the policy can draw")));
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
