#include "trainer/ope/log_summary.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/ope/exploration.h"

namespace sortition {
namespace {

using testing::IsEmpty;

LogSummary SummaryOf(const std::vector<double>& propensities) {
  LogSummary summary;
  log::v1::Decision decision;
  const int32_t action = 0;
  for (size_t i = 0; i < propensities.size(); ++i) {
    decision.set_decision_id(absl::StrCat(i));
    LoggedDecision logged;
    logged.decision = &decision;
    logged.action = {&action, 1};
    logged.log_propensity = std::log(propensities[i]);
    logged.unit = UnitKey("", decision.decision_id());
    summary.Add(logged);
  }
  return summary;
}

TEST(LogSummaryTest, QuantilesSeparateUnequalPropensities) {
  // In steps of 1/50 of a decade: 0.01 and 0.1 are -2 and -1, each at the upper
  // end of its step.
  const LogSummary summary = SummaryOf({0.01, 0.1, 0.01, 0.1});
  const std::vector<double> edges = summary.PropensityQuantiles(2);
  ASSERT_EQ(edges.size(), 1u);
  EXPECT_GE(edges[0], -2);
  EXPECT_LT(edges[0], -1);
}

TEST(LogSummaryTest, EqualPropensitiesAreOneRange) {
  EXPECT_THAT(SummaryOf({0.5, 0.5, 0.5}).PropensityQuantiles(5), IsEmpty());
}

TEST(LogSummaryTest, TheBestDocumentHasTheMostWeightedReward) {
  LogSummary summary;
  log::v1::Decision decision;
  // Document 1 earns 1 with propensity 0.9, document 2 earns 0.5 with 0.1.
  for (const auto& [document, propensity, reward] :
       {std::tuple{1, 0.9, 1.0}, std::tuple{2, 0.1, 0.5}}) {
    LoggedDecision logged;
    logged.decision = &decision;
    const int32_t action = document;
    logged.action = {&action, 1};
    logged.log_propensity = std::log(propensity);
    logged.reward = reward;
    logged.unit = 1;
    summary.Add(logged);
  }
  EXPECT_EQ(summary.BestDocument(UnitHalf(1)), 2);
  EXPECT_EQ(summary.BestDocument(1 - UnitHalf(1)), 0);
}

TEST(UnitCountTest, CountsDifferentUnits) {
  UnitCount count;
  for (int repeat = 0; repeat < 2; ++repeat) {
    for (int i = 0; i < 50000; ++i) {
      count.Add(UnitKey(absl::StrCat("u", i), ""));
    }
  }
  // The standard error of linear counting is 0.3 % here.
  EXPECT_NEAR(static_cast<double>(count.Estimate()), 50000, 600);
}

TEST(ExplorationTest, DeviationsAreThoseOfTheMixture) {
  // Two actions with rewards 0 and 1, logged by 1/2; the policy is 0.9, 0.1.
  Exploration exploration(0.5);
  exploration.Add(0, std::log(0.5), std::log(0.9), std::log(0.5));
  exploration.Add(1, std::log(0.5), std::log(0.1), std::log(0.5));
  for (size_t i = 0; i < Exploration::kMixtures.size(); ++i) {
    const double e = Exploration::kMixtures[i];
    // E_u[u/π_ε (r - 1/2)²] = (1/π_ε(0) + 1/π_ε(1)) / 16
    const double first = (1 - e) * 0.9 + e * 0.5;
    EXPECT_NEAR(exploration.DeviationAt(i),
                std::sqrt((1 / first + 1 / (1 - first)) / 16), 1e-12);
  }
  EXPECT_TRUE(std::isinf(Exploration(0).DeviationAt(0)));
}

}  // namespace
}  // namespace sortition
