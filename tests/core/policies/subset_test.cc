// Subsets of any and of a fixed size beyond the cases of enumeration.h: many
// candidates, small derivatives, and the policy of a model.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/policies/distribution_factory.h"
#include "core/policies/distributions/independent_subset_distribution.h"
#include "core/policies/distributions/sized_subset.h"
#include "core/policies/linear_policy.h"
#include "gtest/gtest.h"
#include "tests/core/policies/distribution_case.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

// log p = -2 e^-50 for the almost certain one: its derivatives e^-50 are not 0.
TEST(IndependentSubsetTest, SmallDerivativesDoNotCancel) {
  const DistributionCase c = SubsetCase({50, -50});
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
      DistributionCase c =
          SubsetCase(std::vector<double>(kCandidates), 0, epsilon);
      RandomSequence random(SeedKey(5));
      for (double& score : c.scores) {
        score = range * (2 * random.Uniform() - 1);
      }
      const Draw draw = SampleOf(c, SeedKey(9));
      EXPECT_EQ(LogPropensity(c, draw.action), draw.log_propensity);
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

// Equal scores: 1 of C(m, k), by lgamma in long double.
TEST(SizedSubsetTest, ManyEqualCandidatesOfFixedSize) {
  for (const double epsilon : {0.0, 0.5, 1.0}) {
    for (const auto& [m, k] : std::vector<std::pair<size_t, uint32_t>>{
             {1000000, 10}, {3000, 1500}, {5000, 4000}, {20, 19}}) {
      const DistributionCase c =
          SubsetCase(std::vector<double>(m, -1e4), k, epsilon);
      if (m == 5000 && epsilon < 1) continue;  // Beyond the limit.
      const Draw draw = SampleOf(c, SeedKey(m));
      EXPECT_EQ(draw.action.size(), k);
      EXPECT_EQ(LogPropensity(c, draw.action), draw.log_propensity);
      const long double exact =
          std::lgamma(k + 1.0L) +
          std::lgamma(static_cast<long double>(m - k) + 1) -
          std::lgamma(static_cast<long double>(m) + 1);
      EXPECT_NEAR(draw.log_propensity / static_cast<double>(exact), 1, 1e-12);
    }
  }
}

// log p(S) = Σ l - log e_k in long double, by e_j of growing prefixes. The
// oracle cancels where log p is near 0: with logits to 1e4 and k = 20, at
// 1e-14.
TEST(SizedSubsetTest, LargeSetsOfFixedSizeStayExact) {
  constexpr uint32_t kSize = 20;
  for (const double range : {1e4, 10.0, 1e-3}) {
    for (const double alpha : {1.0, 0.01}) {
      DistributionCase c = SubsetCase(std::vector<double>(20000), kSize);
      c.inverse_temperature = alpha;
      RandomSequence random(SeedKey(5));
      for (double& score : c.scores) {
        score = range * (2 * random.Uniform() - 1);
      }
      const auto distribution = c.Distribution();
      Draw draw;
      for (uint64_t seed = 0; seed < 3; ++seed) {
        distribution->Sample(c.Candidates(), CounterRandom(SeedKey(seed)),
                             &draw);
        ASSERT_EQ(draw.action.size(), kSize);
        EXPECT_EQ(distribution->LogPropensity(c.Candidates(), draw.action),
                  draw.log_propensity);
        std::vector<long double> log_e(kSize + 1, -HUGE_VALL);
        log_e[0] = 0;
        for (const double score : c.scores) {
          for (size_t j = kSize; j > 0; --j) {
            const long double with = log_e[j - 1] + alpha * score;
            const long double high = std::max(with, log_e[j]);
            if (high == -HUGE_VALL) continue;
            const long double low = std::min(with, log_e[j]);
            log_e[j] = high + std::log1p(std::exp(low - high));
          }
        }
        long double exact = -log_e[kSize];
        for (const int32_t i : draw.action) exact += alpha * c.scores[i];
        EXPECT_NEAR(draw.log_propensity, static_cast<double>(exact),
                    1e-12 * std::max(1.0, -draw.log_propensity))
            << range << " " << alpha;
      }
      std::vector<double> marginals(c.scores.size());
      distribution->FirstProbabilities(c.Candidates(), marginals);
      double sum = 0;
      for (const double p : marginals) sum += p;
      EXPECT_NEAR(sum, kSize, 1e-9);
    }
  }
}

// {0, 1} of three with l = 60, 60, 0: log p = -log(1 + 2 e^-60). Every
// derivative is of that order, and not 0.
TEST(SizedSubsetTest, SmallDerivativesOfFixedSizeDoNotCancel) {
  const DistributionCase c = SubsetCase({60, 60, 0}, 2);
  std::vector<double> gradient(3);
  double threshold = 7;
  const double log_p = c.Distribution()->LogPropensityGradient(
      c.Candidates(), Action{0, 1}, gradient, &threshold);
  const double expected = std::exp(-60.0);
  EXPECT_NEAR(log_p / (-2 * expected), 1, 1e-14);
  EXPECT_NEAR(gradient[0] / expected, 1, 1e-14);
  EXPECT_NEAR(gradient[1] / expected, 1, 1e-14);
  EXPECT_NEAR(gradient[2] / (-2 * expected), 1, 1e-14);
  EXPECT_EQ(threshold, 0);
}

// So many candidates that rows are computed twice. By symmetry every one has
// the marginal k/m.
TEST(SizedSubsetTest, MarginalsOverManyBlocks) {
  const DistributionCase c = SubsetCase(std::vector<double>(50000, 3.5), 150);
  std::vector<double> marginals(c.scores.size());
  c.Distribution()->FirstProbabilities(c.Candidates(), marginals);
  for (const double p : marginals) ASSERT_NEAR(p, 0.003, 1e-12);
}

TEST(SizedSubsetTest, RefusesWhatTakesTooLong) {
  DistributionCase c = SubsetCase(std::vector<double>(100000, 0), 101, 0.1);
  const Draw draw = SampleOf(c, SeedKey(1));
  EXPECT_EQ(draw.log_propensity, -HUGE_VAL);
  EXPECT_EQ(draw.action.size(), 101u);
  EXPECT_EQ(LogPropensity(c, draw.action), -HUGE_VAL);
  c.subset->set_k(100);
  EXPECT_TRUE(std::isfinite(SampleOf(c, SeedKey(1)).log_propensity));
}

}  // namespace
}  // namespace sortition
