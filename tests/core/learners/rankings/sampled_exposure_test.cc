#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/learners/rankings/exposure_terms.h"
#include "core/learners/rankings/sampled_exposure_terms.h"
#include "core/policies/marginals/plackett_luce_marginals.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/learners/rankings/exposure_cases.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using testing::HasSubstr;

// Mean and variance by entry.
struct Spread {
  explicit Spread(size_t n) : sums(n, 0), squares(n, 0) {}
  void Add(const std::vector<double>& values) {
    for (size_t i = 0; i < values.size(); ++i) {
      sums[i] += values[i];
      squares[i] += values[i] * values[i];
    }
    ++count;
  }
  double mean(size_t i) const { return sums[i] / count; }
  double variance(size_t i) const {
    return std::max(0.0, squares[i] / count - mean(i) * mean(i));
  }
  double total_variance() const {
    double sum = 0;
    for (size_t i = 0; i < sums.size(); ++i) sum += variance(i);
    return sum;
  }
  std::vector<double> sums;
  std::vector<double> squares;
  double count = 0;
};

struct GainCase {
  std::vector<double> logits;
  std::vector<double> gains;
  std::vector<double> discounts;

  // Returns the exact value; `gradient` gets the exact one.
  double Exact(std::vector<double>* gradient) const {
    const size_t n = logits.size();
    std::vector<double> a;
    for (size_t k = 0; k < std::min(n, discounts.size()); ++k) {
      for (const double gain : gains) a.push_back(discounts[k] * gain);
    }
    gradient->resize(n);
    PlackettLuceMarginals marginals;
    return marginals.Differentiate(logits, a, *gradient);
  }
};

GainCase RandomCase(size_t n, size_t top_k, double scale, uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  GainCase c;
  for (size_t d = 0; d < n; ++d) {
    c.logits.push_back(scale * random.Normal());
    c.gains.push_back(random.Normal());
  }
  for (size_t k = 0; k < top_k; ++k) {
    c.discounts.push_back(1 / std::log2(2.0 + static_cast<double>(k)));
  }
  return c;
}

// 20,000 estimates from one order each; every mean is within 5 of its standard
// errors, which fails with probability below 1e-4 for all entries together.
TEST(PlRankTest, IsUnbiased) {
  constexpr int kOrders = 20000;
  for (const GainCase& c : {RandomCase(6, 3, 1, 1), RandomCase(5, 5, 2, 2),
                            RandomCase(4, 9, 1, 3), RandomCase(40, 10, 1.5, 4),
                            RandomCase(1, 1, 1, 5), RandomCase(7, 1, 1, 6)}) {
    const size_t n = c.logits.size();
    std::vector<double> exact, estimate(n);
    const double value = c.Exact(&exact);
    PlRank pl_rank;
    Spread gradients(n), values(1);
    for (int t = 0; t < kOrders; ++t) {
      values.Add({pl_rank.Estimate(c.logits, c.gains, c.discounts,
                                   SeedKey(t, "pl_rank"), 1, estimate)});
      gradients.Add(estimate);
    }
    EXPECT_NEAR(values.mean(0), value,
                5 * std::sqrt(values.variance(0) / kOrders) + 1e-12);
    for (size_t d = 0; d < n; ++d) {
      EXPECT_NEAR(gradients.mean(d), exact[d],
                  5 * std::sqrt(gradients.variance(d) / kOrders) + 1e-12)
          << n << " " << d;
    }
  }
}

// REINFORCE multiplies ∂ log p of an order by all that the order gains.
double Reinforce(const GainCase& c, const Hash128& key,
                 std::vector<double>* gradient) {
  const size_t n = c.logits.size();
  const auto ranks = static_cast<uint32_t>(std::min(n, c.discounts.size()));
  std::vector<double> numbers(n);
  CounterRandom(key, 0).UniformBlocks(0, numbers);
  Action order;
  DrawPlackettLuce(c.logits, 1, ranks, numbers, &order);
  double gain = 0;
  for (size_t k = 0; k < ranks; ++k) {
    gain += c.discounts[k] * c.gains[order[k]];
  }
  const RankingDistribution distribution(1, 0);
  ScoredCandidates candidates;
  candidates.scores = c.logits;
  candidates.top_k = ranks;
  gradient->resize(n);
  double abstain = 0;
  distribution.LogPropensityGradient(candidates, order, *gradient, &abstain);
  for (double& derivative : *gradient) derivative *= gain;
  return gain;
}

// Returns how many times the total variance of REINFORCE is that of PL-Rank.
double VarianceRatio(const GainCase& c) {
  constexpr int kOrders = 5000;
  const size_t n = c.logits.size();
  std::vector<double> estimate(n), exact;
  c.Exact(&exact);
  PlRank pl_rank;
  Spread ours(n), theirs(n);
  for (int t = 0; t < kOrders; ++t) {
    const Hash128 key = SeedKey(t, "compare");
    pl_rank.Estimate(c.logits, c.gains, c.discounts, key, 1, estimate);
    ours.Add(estimate);
    Reinforce(c, key, &estimate);
    theirs.Add(estimate);
  }
  // Both have the same expectation.
  for (size_t d = 0; d < n; ++d) {
    EXPECT_NEAR(theirs.mean(d), exact[d],
                6 * std::sqrt(theirs.variance(d) / kOrders) + 1e-12);
  }
  return theirs.total_variance() / ours.total_variance();
}

// Not a theorem, but what the estimator is for. Gains of mean 0 show what
// PL-Rank is worth, gains in [0, 1] also what centring is.
TEST(PlRankTest, VariesLessThanReinforce) {
  for (GainCase c : {RandomCase(6, 3, 1, 1), RandomCase(20, 5, 1, 7),
                     RandomCase(40, 10, 1.5, 4), RandomCase(200, 10, 1, 8)}) {
    const std::string n = std::to_string(c.logits.size());
    const double mean_0 = VarianceRatio(c);
    RandomSequence random(SeedKey(9));
    for (double& gain : c.gains) gain = random.Uniform();
    const double positive = VarianceRatio(c);
    RecordProperty("mean_0_" + n, std::to_string(mean_0));
    RecordProperty("positive_" + n, std::to_string(positive));
    EXPECT_GT(mean_0, 1.3) << n;
    EXPECT_GT(positive, 10) << n;
  }
}

// The terms: mixture and features included, within 5 standard errors of the
// exact ones.
TEST(SampledExposureTermsTest, AgreeWithTheExactTerms) {
  const ExposureData data(0.2, 12, 8);
  ASSERT_OK_AND_ASSIGN(ExposureTerms exact,
                       ExposureTerms::Create(data.Problem(), data.gains));
  ASSERT_OK_AND_ASSIGN(
      SampledExposureTerms sampled,
      SampledExposureTerms::Create(data.Problem(), data.gains, 8, 1));
  RandomSequence random(SeedKey(9));
  const Eigen::VectorXd w = RandomPoint(data.family, &random);
  const std::vector<double> expected = AllValues(w, &exact);
  const std::vector<double> factors(12, 0.5);
  Eigen::VectorXd expected_gradient = Eigen::VectorXd::Zero(3);
  exact.AddGradient(factors, &expected_gradient);
  Spread values(12), gradients(3);
  constexpr int kCalls = 3000;
  for (int t = 0; t < kCalls; ++t) {
    values.Add(AllValues(w, &sampled));
    Eigen::VectorXd gradient = Eigen::VectorXd::Zero(3);
    sampled.AddGradient(factors, &gradient);
    gradients.Add({gradient.data(), gradient.data() + 3});
  }
  for (size_t i = 0; i < 12; ++i) {
    EXPECT_NEAR(values.mean(i), expected[i],
                5 * std::sqrt(values.variance(i) / kCalls) + 1e-12);
  }
  for (size_t j = 0; j < 3; ++j) {
    EXPECT_NEAR(gradients.mean(j), expected_gradient[j],
                5 * std::sqrt(gradients.variance(j) / kCalls));
  }
}

TEST(SampledExposureTermsTest, NeedsAnOrder) {
  const ExposureData data(0.2, 4, 10);
  EXPECT_THAT(SampledExposureTerms::Create(data.Problem(), data.gains, 0, 1),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("num_orders is 0, must be at least 1")));
}

}  // namespace
}  // namespace sortition
