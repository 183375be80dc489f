// Gradients of the log-propensity against central differences.
#include <algorithm>
#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "tests/core/policies/enumeration.h"

namespace sortition {
namespace {

class GradientTest : public testing::TestWithParam<DistributionCase> {};

// Central differences err by h² f'''/6 + rounding/h; with h = 1e-4 / α both
// stay below 1e-8 for derivatives of order α (Richardson's extrapolation
// removes the h² term), 100 times less than the tolerance.
double CentralDifference(const DistributionCase& c, const Action& action,
                         size_t place) {
  const auto distribution = c.Distribution();
  const auto value = [&](double step) {
    DistributionCase moved = c;
    (place == c.scores.size() ? *moved.abstain_score : moved.scores[place]) +=
        step;
    return distribution->LogPropensity(moved.Candidates(), action);
  };
  const double h = 1e-3 / c.inverse_temperature;
  const double wide = (value(2 * h) - value(-2 * h)) / (4 * h);
  const double narrow = (value(h) - value(-h)) / (2 * h);
  return (4 * narrow - wide) / 3;
}

TEST_P(GradientTest, AgreesWithCentralDifferences) {
  const DistributionCase& c = GetParam();
  const auto distribution = c.Distribution();
  std::vector<double> gradient(c.scores.size());
  for (const Action& action : AllActions(c)) {
    double abstain = 0;
    EXPECT_EQ(distribution->LogPropensityGradient(c.Candidates(), action,
                                                  gradient, &abstain),
              distribution->LogPropensity(c.Candidates(), action));
    if (distribution->LogPropensity(c.Candidates(), action) == -HUGE_VAL) {
      EXPECT_EQ(gradient, std::vector<double>(gradient.size(), 0));
      continue;
    }
    double norm = c.inverse_temperature * 1e-3;
    for (const double derivative : gradient) {
      norm = std::max(norm, std::abs(derivative));
    }
    for (size_t j = 0; j < gradient.size(); ++j) {
      EXPECT_NEAR(gradient[j], CentralDifference(c, action, j), 1e-6 * norm)
          << j;
    }
    if (c.abstain_score) {
      EXPECT_NEAR(abstain, CentralDifference(c, action, gradient.size()),
                  1e-6 * std::max(norm, std::abs(abstain)));
    } else {
      EXPECT_EQ(abstain, 0);
    }
  }
}

// Adding a constant to all scores changes no probability.
TEST_P(GradientTest, DerivativesAddUpToZero) {
  const DistributionCase& c = GetParam();
  const auto distribution = c.Distribution();
  std::vector<double> gradient(c.scores.size());
  for (const Action& action : AllActions(c)) {
    double sum = 0;
    distribution->LogPropensityGradient(c.Candidates(), action, gradient, &sum);
    for (const double derivative : gradient) sum += derivative;
    EXPECT_NEAR(sum, 0, 1e-13 * c.inverse_temperature);
  }
}

// Cases whose scores leave the differences some digits, and a hard mixture.
std::vector<DistributionCase> SmoothCases() {
  std::vector<DistributionCase> cases;
  for (const DistributionCase& c : AllCases()) {
    // The head changes abruptly where scores are equal.
    if (c.name == "BoltzmannTailTies") continue;
    if (std::abs(c.scores[0]) < 1e3) cases.push_back(c);
  }
  DistributionCase c;
  c.scores = {0.3, -1.2, 0.8, 0.0, 1.6};
  c.kind = ActionKind::kRank;
  c.top_k = 3;
  c.inverse_temperature = 2.5;
  c.uniform_mixture = 0.9;
  c.name = "RankTop3MostlyUniform";
  cases.push_back(c);
  c.kind = ActionKind::kSelect;
  c.abstain_score = 0.4;
  c.name = "SelectMostlyUniform";
  cases.push_back(c);
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, GradientTest, testing::ValuesIn(SmoothCases()),
                         CaseName);

// log p = -e^-50 for the almost certain one: its derivative 1 - p is e^-50, not
// 0.
TEST(GradientEdgeTest, SmallDerivativesDoNotCancel) {
  DistributionCase c;
  c.scores = {50, 0};
  const double expected = std::exp(-50.0);
  for (const ActionKind kind : {ActionKind::kSelect, ActionKind::kRank}) {
    c.kind = kind;
    std::vector<double> gradient(2);
    double abstain = 0;
    const double log_p = c.Distribution()->LogPropensityGradient(
        c.Candidates(), Action{0}, gradient, &abstain);
    EXPECT_NEAR(log_p / -expected, 1, 1e-14);
    EXPECT_NEAR(gradient[0] / expected, 1, 1e-14);
    EXPECT_NEAR(gradient[1] / -expected, 1, 1e-14);
  }
}

TEST(GradientEdgeTest, ExtremeScoresHaveFiniteGradients) {
  for (const DistributionCase& c : AllCases()) {
    std::vector<double> gradient(c.scores.size());
    for (const Action& action : AllActions(c)) {
      double abstain = 0;
      c.Distribution()->LogPropensityGradient(c.Candidates(), action, gradient,
                                              &abstain);
      EXPECT_TRUE(std::isfinite(abstain));
      for (const double derivative : gradient) {
        // A rank can occur in every normaliser above it; the weights of the
        // Boltzmann cases and their scales span less than all ranks.
        const size_t ranks = c.boltzmann ? c.scores.size() : c.top_k;
        double factor = c.rank_factors.empty() ? 1 : 0;
        for (const double f : c.rank_factors) factor = std::max(factor, f);
        EXPECT_LE(std::abs(derivative),
                  c.inverse_temperature * factor * static_cast<double>(ranks));
      }
    }
  }
}

}  // namespace
}  // namespace sortition
