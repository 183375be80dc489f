// The laws of all distributions, by enumeration of their actions: frequencies
// of draws, log-propensities, conditionals, marginals and modes; gradients of
// the log-propensity against central differences.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <vector>

#include "core/base/random.h"
#include "gtest/gtest.h"
#include "tests/core/policies/enumeration.h"
#include "tests/testing/chi_square.h"
#include "tests/testing/patience.h"

namespace sortition {
namespace {

// The probabilities of games have no closed form: they are compared with solved
// games elsewhere.
bool IsGame(const DistributionCase& c) {
  return c.game_ranking.has_value() || c.game_subset.has_value();
}

uint64_t NumDraws(const DistributionCase& c) {
  if (c.game_subset) return 5000;
  if (c.game_ranking) return 10000;
  if (c.subset) return 100000;
  return IsLongRun() ? 1000000 : 400000;
}

// Relative to the larger of 1 and |log p|: logits of 1e4 are themselves rounded
// to 1e-12, and a probability of e^-20000 is as exact as that allows.
double Rounding(double log_p) { return 1e-14 * std::max(1.0, std::abs(log_p)); }

class SamplerTest : public testing::TestWithParam<DistributionCase> {
 protected:
  double LogPropensityOf(const Action& action) const {
    return distribution_->LogPropensity(c_.Candidates(), action);
  }

  const DistributionCase& c_ = GetParam();
  const std::unique_ptr<const ActionDistribution> distribution_ =
      c_.Distribution();
  const std::vector<Action> actions_ = AllActions(c_);
};

// Seeds are fixed. A case fails by chance for 1 set of seeds in 10,000, one of
// all cases for 1 in 14.
TEST_P(SamplerTest, DrawsEveryActionAsOftenAsItShould) {
  std::map<Action, size_t> index;
  std::vector<double> probabilities;
  std::vector<double> log_propensities;
  for (const Action& action : actions_) {
    index[action] = probabilities.size();
    log_propensities.push_back(LogPropensityOf(action));
    probabilities.push_back(IsGame(c_) ? std::exp(log_propensities.back())
                                       : static_cast<double>(ExactProbability(
                                             c_, action, actions_.size())));
  }
  std::vector<uint64_t> counts(actions_.size());
  DistributionScratch scratch;
  ScoredCandidates candidates = c_.Candidates();
  candidates.scratch = &scratch;
  Draw draw;
  for (uint64_t seed = 0; seed < NumDraws(c_); ++seed) {
    distribution_->Sample(candidates, CounterRandom(SeedKey(seed)), &draw);
    const auto found = index.find(draw.action);
    ASSERT_NE(found, index.end());
    ++counts[found->second];
    // The same bits, whatever the buffers held before.
    ASSERT_EQ(draw.log_propensity, log_propensities[found->second]);
    ASSERT_EQ(draw.conditional_log_propensities.size(),
              c_.kind == ActionKind::kRank ? draw.action.size() : 0);
    ASSERT_FALSE(draw.game_rounds.has_value());
  }
  EXPECT_GT(ChiSquarePValue(counts, probabilities), 1e-4);
}

TEST_P(SamplerTest, ProbabilitiesAddUpToOne) {
  double sum = 0;
  for (const Action& action : actions_) {
    const double log_p = LogPropensityOf(action);
    EXPECT_LE(log_p, 0);
    if (c_.uniform_mixture > 0) {
      EXPECT_GT(log_p, -HUGE_VAL);
    }
    sum += std::exp(log_p);
  }
  EXPECT_NEAR(sum, 1, c_.subset || c_.game_ranking ? 1e-13 : 1e-12);
}

TEST_P(SamplerTest, LogPropensityIsExact) {
  if (IsGame(c_)) return;
  for (const Action& action : actions_) {
    const auto exact = static_cast<double>(
        std::log(ExactProbability(c_, action, actions_.size())));
    const double log_p = LogPropensityOf(action);
    if (exact == -HUGE_VAL) {
      // Boltzmann and sorted rankings give such actions probability 0; others
      // give e^-20000, which long double cannot represent.
      EXPECT_TRUE((!c_.boltzmann && !c_.sorted) || log_p == exact);
      continue;
    }
    EXPECT_NEAR(log_p, exact, Rounding(exact));
  }
}

TEST_P(SamplerTest, ConditionalsAddUpToTheLogPropensity) {
  std::vector<double> conditionals;
  for (const Action& action : actions_) {
    const double log_p = LogPropensityOf(action);
    if (log_p == -HUGE_VAL) continue;
    distribution_->ConditionalLogPropensities(c_.Candidates(), action,
                                              &conditionals);
    if (c_.kind != ActionKind::kRank) {
      ASSERT_EQ(conditionals, std::vector<double>{log_p});
      continue;
    }
    ASSERT_EQ(conditionals.size(), action.size());
    double sum = 0;
    for (const double conditional : conditionals) {
      EXPECT_LE(conditional, 0);
      sum += conditional;
    }
    EXPECT_NEAR(sum, log_p,
                c_.game_ranking ? 1e-13 * (1 - log_p) : Rounding(log_p));
  }
}

// The conditional at a rank is the ratio of two prefix probabilities, so the
// prefix of an order has the conditionals of the order.
TEST_P(SamplerTest, PrefixesShareTheirConditionals) {
  if (c_.kind != ActionKind::kRank) return;
  std::vector<double> conditionals;
  std::vector<double> of_prefix;
  for (const Action& action : actions_) {
    const bool is_possible = LogPropensityOf(action) > -HUGE_VAL;
    if (!is_possible && !c_.game_ranking) continue;
    distribution_->ConditionalLogPropensities(c_.Candidates(), action,
                                              &conditionals);
    double sum = 0;
    for (uint32_t k = 1; k <= action.size(); ++k) {
      sum += conditionals[k - 1];
      ScoredCandidates shorter = c_.Candidates();
      shorter.top_k = k;
      const auto prefix = std::span(action).first(k);
      const double log_p = distribution_->LogPropensity(shorter, prefix);
      if (log_p == -HUGE_VAL) {
        ASSERT_EQ(sum, log_p);
        continue;
      }
      ASSERT_NEAR(sum, log_p, 1e-13 * (1 - log_p));
      if (c_.game_ranking || k + 1 != action.size()) continue;
      distribution_->ConditionalLogPropensities(shorter, prefix, &of_prefix);
      for (size_t r = 0; r < k; ++r) {
        EXPECT_NEAR(conditionals[r], of_prefix[r], Rounding(of_prefix[r]));
      }
    }
  }
}

TEST_P(SamplerTest, FirstProbabilitiesAreMarginals) {
  std::vector<double> marginals(c_.scores.size());
  double abstain = 0;
  for (const Action& action : actions_) {
    const double p = std::exp(LogPropensityOf(action));
    if (c_.kind == ActionKind::kSubset) {
      for (const int32_t i : action) marginals[i] += p;
    } else {
      (action[0] == kAbstain ? abstain : marginals[action[0]]) += p;
    }
  }
  const double tolerance = c_.subset || c_.game_ranking ? 1e-13 : 1e-12;
  std::vector<double> probabilities(c_.scores.size());
  EXPECT_NEAR(distribution_->FirstProbabilities(c_.Candidates(), probabilities),
              abstain, c_.abstain_score ? 1e-12 : 0);
  for (size_t i = 0; i < marginals.size(); ++i) {
    EXPECT_NEAR(probabilities[i], marginals[i], tolerance) << i;
  }
}

// Ties go to the smaller subset, and to the lower positions.
TEST_P(SamplerTest, ModeIsMostProbable) {
  if (FactorsRise(c_)) return;
  const Action mode = distribution_->Mode(c_.Candidates());
  const double log_p = LogPropensityOf(mode);
  const double rounding = c_.subset || c_.game_subset ? 1e-12
                          : c_.game_ranking           ? 1e-13
                                                      : Rounding(log_p);
  bool before_mode = true;
  for (const Action& action : actions_) {
    if (action == mode) before_mode = false;
    const double other = LogPropensityOf(action);
    EXPECT_LE(other, log_p + rounding);
    if (IsGame(c_)) continue;
    if (action.size() < mode.size() && std::abs(c_.scores[0]) < 1e3) {
      EXPECT_LT(other, log_p);
    }
    const bool is_lower =
        c_.kind == ActionKind::kSubset ? action < mode : before_mode;
    if (action.size() == mode.size() && is_lower) {
      EXPECT_LT(other, log_p - rounding);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, SamplerTest, testing::ValuesIn(AllCases()),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(Sorted, SamplerTest, testing::ValuesIn(SortedCases()),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(Subsets, SamplerTest, testing::ValuesIn(SubsetCases()),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(GameRankings, SamplerTest,
                         testing::ValuesIn(GameRankingCases()), CaseName);
INSTANTIATE_TEST_SUITE_P(GameSubsets, SamplerTest,
                         testing::ValuesIn(GameSubsetCases()), CaseName);

class GradientTest : public testing::TestWithParam<DistributionCase> {};

// Central differences err by h² f'''/6 + rounding/h; with h = 1e-4 / α both
// stay below 1e-8 for derivatives of order α (Richardson's extrapolation
// removes the h² term), 100 times less than the tolerance.
double CentralDifference(const DistributionCase& c, const Action& action,
                         size_t place) {
  const auto distribution = c.Distribution();
  const auto value = [&](double step) {
    DistributionCase moved = c;
    if (place < c.scores.size()) {
      moved.scores[place] += step;
    } else if (c.subset) {
      moved.subset->set_threshold(c.subset->threshold() + step);
    } else {
      *moved.abstain_score += step;
    }
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
    if (c.abstain_score || c.subset) {
      EXPECT_NEAR(abstain, CentralDifference(c, action, gradient.size()),
                  1e-6 * std::max(norm, std::abs(abstain)));
    } else {
      EXPECT_EQ(abstain, 0);
    }
  }
}

// Adding a constant to all scores, and to the threshold, changes no
// probability.
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
  for (const DistributionCase& c : SubsetCases()) {
    if (std::abs(c.scores[0]) < 1e3) cases.push_back(c);
  }
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
