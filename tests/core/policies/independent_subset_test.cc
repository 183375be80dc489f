// Subsets in which each candidate is included independently, of any and of a
// fixed size, against the enumeration of all subsets.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/policies/distribution_factory.h"
#include "core/policies/distributions/independent_subset_distribution.h"
#include "core/policies/linear_policy.h"
#include "tests/core/policies/subset_case.h"
#include "tests/testing/chi_square.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::HasSubstr;

std::vector<SubsetCase> AllSubsetCases() {
  const std::vector<SubsetCase> all = {
      {"Spread", {0.3, -1.2, 0.8, 0.0, 1.6, -0.4}},
      {"Threshold", {0.3, -1.2, 0.8, 0.0, 1.6}, 0.7},
      {"Ties", {1.0, 0.0, 1.0, 0.0}, 0.5, 3},
      {"AllZero", {0, 0, 0}},
      {"One", {-3.0}},
      {"Extreme", {1e4, -1e4, 9999, 0, 0.5}},
      {"AllLow", {-1e4, -1e4 + 1, -1e4 + 0.5}},
      {"HighThreshold", {1e4, 1e4 - 1, 1e4 + 0.5}, 1e4},
      {"Temperature", {3e-4, -1e-4, 2e-4}, 1e-4, 1e4},
  };
  std::vector<SubsetCase> cases;
  for (SubsetCase c : all) {
    for (const double epsilon : {0.0, 0.2, 1.0}) {
      for (const uint32_t size : {0u, 1u, 2u, 3u, 7u}) {
        c.uniform_mixture = epsilon;
        // A size that is asked for overrides that of the policy.
        c.k = size == 2 ? 3 : size;
        c.asked = size == 2 ? 2 : 0;
        cases.push_back(c);
        cases.back().name =
            absl::StrCat(c.name, size == 0 ? "Any" : "Size", size, "Mixed",
                         static_cast<int>(10 * epsilon));
      }
    }
  }
  return cases;
}

class SubsetTest : public testing::TestWithParam<SubsetCase> {};

// Relative to the larger of 1 and |log p|, as for the other distributions.
TEST_P(SubsetTest, LogPropensityIsExact) {
  const SubsetCase& c = GetParam();
  const auto distribution = c.Distribution();
  double sum = 0;
  for (const Action& subset : AllSubsets(c)) {
    const auto exact =
        static_cast<double>(std::log(ExactProbability(c, subset)));
    const double log_p = distribution->LogPropensity(c.Candidates(), subset);
    EXPECT_LE(log_p, 0);
    EXPECT_NEAR(log_p, exact, 1e-14 * std::max(1.0, std::abs(exact)));
    sum += std::exp(log_p);
    std::vector<double> conditionals;
    distribution->ConditionalLogPropensities(c.Candidates(), subset,
                                             &conditionals);
    EXPECT_EQ(conditionals, std::vector<double>{log_p});
  }
  EXPECT_NEAR(sum, 1, 1e-13);
}

// Seeds are fixed; a case fails by chance for 1 set of seeds in 10,000.
TEST_P(SubsetTest, DrawsEverySubsetAsOftenAsItShould) {
  const SubsetCase& c = GetParam();
  const auto distribution = c.Distribution();
  std::vector<double> probabilities;
  std::vector<double> log_propensities;
  for (const Action& subset : AllSubsets(c)) {
    probabilities.push_back(static_cast<double>(ExactProbability(c, subset)));
    log_propensities.push_back(
        distribution->LogPropensity(c.Candidates(), subset));
  }
  std::map<Action, size_t> index;
  for (const Action& subset : AllSubsets(c)) {
    index.emplace(subset, index.size());
  }
  std::vector<uint64_t> counts(probabilities.size());
  DistributionScratch scratch;
  ScoredCandidates candidates = c.Candidates();
  candidates.scratch = &scratch;
  Draw draw;
  for (uint64_t seed = 0; seed < 100000; ++seed) {
    distribution->Sample(candidates, CounterRandom(SeedKey(seed)), &draw);
    const auto found = index.find(draw.action);
    ASSERT_NE(found, index.end());
    ++counts[found->second];
    // The same bits, whatever the buffers held before.
    ASSERT_EQ(draw.log_propensity, log_propensities[found->second]);
  }
  EXPECT_GT(ChiSquarePValue(counts, probabilities), 1e-4);
}

TEST_P(SubsetTest, ProbabilitiesAreMarginals) {
  const SubsetCase& c = GetParam();
  std::vector<double> probabilities(c.scores.size());
  EXPECT_EQ(c.Distribution()->FirstProbabilities(c.Candidates(), probabilities),
            0);
  std::vector<double> marginals(c.scores.size());
  for (const Action& subset : AllSubsets(c)) {
    for (const int32_t i : subset) {
      marginals[i] += static_cast<double>(ExactProbability(c, subset));
    }
  }
  for (size_t i = 0; i < marginals.size(); ++i) {
    EXPECT_NEAR(probabilities[i], marginals[i], 1e-13) << i;
  }
}

// Among the most probable subsets the smallest is chosen, and among those of
// one size the one with lower positions.
TEST_P(SubsetTest, ModeIsMostProbable) {
  const SubsetCase& c = GetParam();
  const auto distribution = c.Distribution();
  const Action mode = distribution->Mode(c.Candidates());
  const double log_p = distribution->LogPropensity(c.Candidates(), mode);
  for (const Action& subset : AllSubsets(c)) {
    const double other = distribution->LogPropensity(c.Candidates(), subset);
    EXPECT_LE(other, log_p + 1e-12);
    if (subset.size() < mode.size() && std::abs(c.scores[0]) < 1e3) {
      EXPECT_LT(other, log_p);
    }
    if (subset.size() == mode.size() && subset < mode) {
      EXPECT_LT(other, log_p - 1e-12);
    }
  }
}

// With h = 1e-3 / α and Richardson's extrapolation both truncation and rounding
// stay below 1e-8 for derivatives of order α.
TEST_P(SubsetTest, GradientAgreesWithCentralDifferences) {
  const SubsetCase& c = GetParam();
  if (std::abs(c.scores[0]) > 1e3) return;
  const auto distribution = c.Distribution();
  std::vector<double> gradient(c.scores.size() + 1);
  for (const Action& subset : AllSubsets(c)) {
    EXPECT_EQ(distribution->LogPropensityGradient(
                  c.Candidates(), subset,
                  std::span(gradient).first(c.scores.size()), &gradient.back()),
              distribution->LogPropensity(c.Candidates(), subset));
    for (size_t j = 0; j < gradient.size(); ++j) {
      const auto value = [&](double step) {
        SubsetCase moved = c;
        (j < c.scores.size() ? moved.scores[j] : moved.threshold) += step;
        return distribution->LogPropensity(moved.Candidates(), subset);
      };
      const double h = 1e-3 / c.inverse_temperature;
      const double wide = (value(2 * h) - value(-2 * h)) / (4 * h);
      const double narrow = (value(h) - value(-h)) / (2 * h);
      EXPECT_NEAR(gradient[j], (4 * narrow - wide) / 3,
                  1e-6 * c.inverse_temperature)
          << j;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, SubsetTest, testing::ValuesIn(AllSubsetCases()),
                         [](const testing::TestParamInfo<SubsetCase>& test) {
                           return test.param.name;
                         });

TEST(IndependentSubsetTest, IllFormedSubsetsAreImpossible) {
  for (const double epsilon : {0.0, 0.5, 1.0}) {
    for (const Action& action : std::vector<Action>{{3},
                                                    {-1},
                                                    {1, 1},
                                                    {2, 1},
                                                    {0, 1, 2, 3},
                                                    {kAbstain, 0},
                                                    {},
                                                    {0, 1, 2}}) {
      SubsetCase c = {"", {1, 2, 3}, 0, 1, epsilon};
      // The last two are possible only by their size.
      if (action.empty() || action.size() == 3) c.k = 2;
      std::vector<double> gradient(3, 7);
      double threshold = 7;
      EXPECT_EQ(c.Distribution()->LogPropensity(c.Candidates(), action),
                -HUGE_VAL);
      EXPECT_EQ(c.Distribution()->LogPropensityGradient(c.Candidates(), action,
                                                        gradient, &threshold),
                -HUGE_VAL);
      EXPECT_EQ(gradient, std::vector<double>(3, 0));
      EXPECT_EQ(threshold, 0);
    }
  }
}

// log p = -2 e^-50 for the almost certain one: its derivatives e^-50 are not 0.
TEST(IndependentSubsetTest, SmallDerivativesDoNotCancel) {
  const SubsetCase c = {"", {50, -50}};
  std::vector<double> gradient(2);
  double threshold = 0;
  const double log_p = c.Distribution()->LogPropensityGradient(
      c.Candidates(), Action{0}, gradient, &threshold);
  const double expected = std::exp(-50.0);
  EXPECT_NEAR(log_p / (-2 * expected), 1, 1e-14);
  EXPECT_NEAR(gradient[0] / expected, 1, 1e-14);
  EXPECT_NEAR(gradient[1] / -expected, 1, 1e-14);
}

// A million candidates over ±1e4: compared with long double for any ε; drawn
// and recomputed with the same bits.
TEST(IndependentSubsetTest, MillionCandidatesStayExact) {
  constexpr size_t kCandidates = 1000000;
  for (const double range : {1e4, 1e-3}) {
    for (const double epsilon : {0.0, 0.1, 1.0}) {
      SubsetCase c = {"", std::vector<double>(kCandidates), 0, 1, epsilon};
      RandomSequence random(SeedKey(5));
      for (double& score : c.scores) {
        score = range * (2 * random.Uniform() - 1);
      }
      Draw draw;
      c.Distribution()->Sample(c.Candidates(), CounterRandom(SeedKey(9)),
                               &draw);
      EXPECT_EQ(c.Distribution()->LogPropensity(c.Candidates(), draw.action),
                draw.log_propensity);
      long double log_p = 0;
      size_t next = 0;
      for (size_t i = 0; i < kCandidates; ++i) {
        const bool in = next < draw.action.size() &&
                        draw.action[next] == static_cast<int32_t>(i);
        next += in ? 1 : 0;
        const long double logit = c.scores[i] * (in ? -1 : 1);
        log_p -= std::max(logit, 0.0L) + std::log1p(std::exp(-std::abs(logit)));
      }
      const long double log_q = -std::log(2.0L) * kCandidates;
      const long double high = std::max(log_p, log_q);
      const long double exact =
          epsilon == 0
              ? log_p
              : high + std::log((1 - epsilon) * std::exp(log_p - high) +
                                epsilon * std::exp(log_q - high));
      EXPECT_TRUE(std::isfinite(draw.log_propensity));
      EXPECT_NEAR(draw.log_propensity / static_cast<double>(exact), 1, 1e-12)
          << range << " " << epsilon;
    }
  }
}

TEST(IndependentSubsetTest, MakeNamesWhatIsWrong) {
  model::v1::Policy policy;
  policy.set_inverse_temperature(1);
  for (const double threshold : {1.1e6, -1.1e6, std::nan(""), HUGE_VAL}) {
    policy.mutable_independent_subset()->set_threshold(threshold);
    EXPECT_THAT(MakeActionDistribution(policy),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("independent_subset.threshold is")))
        << threshold;
  }
  policy.mutable_independent_subset()->set_threshold(-1e6);
  policy.mutable_independent_subset()->set_k(1000001);
  EXPECT_THAT(MakeActionDistribution(policy),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("independent_subset.k is 1000001")));
  policy.mutable_independent_subset()->set_k(1000000);
  EXPECT_OK(MakeActionDistribution(policy).status());
  EXPECT_EQ(ActionKindOf(policy), ActionKind::kSubset);
}

// 1 of 2^5 subsets, including the empty one; with a requested size of 2, 1 of
// 10.
TEST(IndependentSubsetTest, UniformTakesEverySubset) {
  const LinearPolicy uniform =
      LinearPolicy::Uniform(ActionKind::kSubset, false);
  EXPECT_EQ(uniform.action_kind(), ActionKind::kSubset);
  const std::vector<float> features(10, 0);
  PolicyQuery query;
  query.candidates = Candidates::DenseUnchecked(features, 2);
  PolicyWorkspace workspace;
  for (const Action& subset :
       std::vector<Action>{{}, {0, 4}, {0, 1, 2, 3, 4}}) {
    EXPECT_NEAR(uniform.LogPropensity(query, subset, &workspace),
                -5 * std::log(2), 1e-15);
  }
  query.top_k = 2;
  EXPECT_NEAR(uniform.LogPropensity(query, Action{0, 4}, &workspace),
              -std::log(10), 1e-15);
  EXPECT_EQ(uniform.LogPropensity(query, Action{0}, &workspace), -HUGE_VAL);
}

// Candidates 0, 2 and 3 of four are eligible; scores 1, 3 and 0, threshold 0.5,
// α 2: log p({2}) = log σ(-1) + log σ(5) + log σ(1).
TEST(IndependentSubsetTest, LinearPolicyHasThresholdAndMask) {
  model::v1::Policy proto;
  proto.set_inverse_temperature(2);
  proto.mutable_independent_subset()->set_threshold(0.5);
  const absl::StatusOr<LinearPolicy> policy = LinearPolicy::Create(proto, {1});
  ASSERT_OK(policy.status());
  EXPECT_EQ(policy->threshold(), 0.5);
  const std::vector<float> features = {1, 9, 3, 0};
  const bool eligible[] = {true, false, true, true};
  PolicyQuery query;
  query.candidates = Candidates::DenseUnchecked(features, 1);
  query.eligible = eligible;
  PolicyWorkspace workspace;
  const auto sigma = [](double l) { return 1 / (1 + std::exp(-l)); };
  const double expected =
      std::log(sigma(-1)) + std::log(sigma(5)) + std::log(sigma(1));
  EXPECT_NEAR(policy->LogPropensity(query, Action{2}, &workspace), expected,
              1e-14);
  EXPECT_EQ(policy->LogPropensity(query, Action{1}, &workspace), -HUGE_VAL);
  EXPECT_EQ(policy->Mode(query, &workspace), (Action{0, 2}));
  // ∂/∂s = 2 (1{in} - σ): -2σ(1), 2(1 - σ(5)), -2σ(-1). The gradient with
  // respect to the weight multiplies them by the features; with respect to the
  // threshold it is minus their sum. Scaled by 3.
  const double g0 = -2 * sigma(1);
  const double g2 = 2 * sigma(-5);
  const double g3 = -2 * sigma(-1);
  std::vector<double> gradient(2, 10);
  policy->AddLogPropensityGradient(query, Action{2}, 3, &workspace, gradient);
  EXPECT_NEAR(gradient[0], 10 + 3 * (g0 + 3 * g2), 1e-13);
  EXPECT_NEAR(gradient[1], 10 - 3 * (g0 + g2 + g3), 1e-13);
}

}  // namespace
}  // namespace sortition
