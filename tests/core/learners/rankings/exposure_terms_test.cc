#include "core/learners/rankings/exposure_terms.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/learners/rankings/safe_exposure_objective.h"
#include "core/learners/rankings/sampled_exposure_terms.h"
#include "core/optim/lbfgs.h"
#include "core/policies/marginals/plackett_luce_marginals.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/learners/rankings/exposure_cases.h"
#include "tests/core/learners/rankings/term_checks.h"
#include "tests/testing/central_differences.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

TEST(ExposureTermsTest, ValuesAreThoseOfEnumeration) {
  RandomSequence random(SeedKey(1));
  for (const double epsilon : {0.0, 0.2}) {
    const ExposureData data(epsilon, 30, 2);
    ASSERT_OK_AND_ASSIGN(ExposureTerms terms,
                         ExposureTerms::Create(data.Problem(), data.gains));
    ASSERT_OK_AND_ASSIGN(
        ExposureDivergenceTerms divergence,
        ExposureDivergenceTerms::Create(data.Problem(), data.logged));
    const Eigen::VectorXd w = RandomPoint(data.family, &random);
    const std::vector<double> values = AllValues(w, &terms);
    const std::vector<double> divergences = AllValues(w, &divergence);
    for (size_t i = 0; i < values.size(); ++i) {
      const std::vector<double> exposures = EnumeratedExposures(
          data.family, ScoresOf(data.tuples[i], w), {1, 0.6, 0.3});
      double gain = 0, moment = 0;
      for (size_t d = 0; d < exposures.size(); ++d) {
        gain += data.gains[i][d] * exposures[d];
        moment += exposures[d] * exposures[d] / data.logged[i][d];
      }
      EXPECT_NEAR(values[i], -gain, 1e-12);
      EXPECT_NEAR(divergences[i], moment, 1e-11);
    }
  }
}

TEST(ExposureTermsTest, GradientsAreThoseOfCentralDifferences) {
  RandomSequence random(SeedKey(3));
  for (const double epsilon : {0.0, 0.2}) {
    const ExposureData data(epsilon, 150, 4);
    ASSERT_OK_AND_ASSIGN(ExposureTerms terms,
                         ExposureTerms::Create(data.Problem(), data.gains));
    ASSERT_OK_AND_ASSIGN(
        ExposureDivergenceTerms divergence,
        ExposureDivergenceTerms::Create(data.Problem(), data.logged));
    const Eigen::VectorXd w = RandomPoint(data.family, &random);
    CheckTerms(&terms, w);
    CheckTerms(&divergence, w);
  }
}

// Σ e²/e₀ >= (Σ e)² / Σ e₀ = Z, with equality for e = e₀.
TEST(ExposureDivergenceTermsTest, IsLeastAtThePolicyThatLogged) {
  ExposureData data(0.1, 20, 5);
  RandomSequence random(SeedKey(6));
  const Eigen::VectorXd logging = RandomPoint(data.family, &random);
  for (size_t i = 0; i < data.tuples.size(); ++i) {
    data.logged[i] = EnumeratedExposures(
        data.family, ScoresOf(data.tuples[i], logging), {1, 0.6, 0.3});
  }
  ASSERT_OK_AND_ASSIGN(
      ExposureDivergenceTerms terms,
      ExposureDivergenceTerms::Create(data.Problem(), data.logged));
  const std::vector<double> at_logging = AllValues(logging, &terms);
  const std::vector<double> elsewhere =
      AllValues(RandomPoint(data.family, &random), &terms);
  const double total[] = {0, 1, 1.6, 1.9};
  for (size_t i = 0; i < at_logging.size(); ++i) {
    const double z =
        total[std::min<size_t>(3, data.tuples[i].num_candidates())];
    EXPECT_NEAR(at_logging[i], z, 1e-11);
    EXPECT_GT(elsewhere[i], z);
  }
}

TEST(ExposureTermsTest, NamesWhatIsOutOfRange) {
  ExposureData data(0, 5, 7);
  data.gains[3][0] = NAN;
  EXPECT_THAT(ExposureTerms::Create(data.Problem(), data.gains),
              IsInvalidArgument("gains of tuple 3 has nan"));
  data.gains[3].clear();
  EXPECT_THAT(ExposureTerms::Create(data.Problem(), data.gains),
              IsInvalidArgument("gains of tuple 3 has 0 entries"));
  data.logged[1][0] = 0;
  EXPECT_THAT(ExposureDivergenceTerms::Create(data.Problem(), data.logged),
              IsInvalidArgument("must be finite and positive"));
  ExposureProblem problem = data.Problem();
  problem.discounts = {1, -1};
  EXPECT_THAT(Exposures::Create(problem),
              IsInvalidArgument("discounts has -1"));
  problem.discounts.clear();
  EXPECT_THAT(Exposures::Create(problem),
              IsInvalidArgument("discounts: there are 0"));
}

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
              IsInvalidArgument("num_orders is 0, must be at least 1"));
}

// Decisions whose logged exposures are those of a policy at `logging`.
struct Logged {
  Logged(double epsilon, size_t n, uint64_t seed) : data(epsilon, n, seed) {
    RandomSequence random(SeedKey(seed + 2));
    logging = RandomPoint(data.family, &random);
    elsewhere = RandomPoint(data.family, &random);
    for (size_t i = 0; i < n; ++i) {
      data.logged[i] = EnumeratedExposures(
          data.family, ScoresOf(data.tuples[i], logging), {1, 0.6, 0.3});
    }
  }
  ExposureData data;
  Eigen::VectorXd logging;
  Eigen::VectorXd elsewhere;
};

struct SafeProblem {
  explicit SafeProblem(const Logged& logged)
      : terms(*ExposureTerms::Create(logged.data.Problem(), logged.data.gains)),
        divergence(*ExposureDivergenceTerms::Create(logged.data.Problem(),
                                                    logged.data.logged)) {}
  ExposureTerms terms;
  ExposureDivergenceTerms divergence;
};

TEST(SafeExposureObjectiveTest, IsTheFormulaAndItsGradient) {
  const Logged logged(0.1, 25, 1);
  SafeProblem problem(logged);
  ASSERT_OK_AND_ASSIGN(const SafeExposureObjective objective,
                       SafeExposureObjective::Create(
                           &problem.terms, &problem.divergence,
                           {.failure_probability = 0.2, .max_clicks = 3}));
  double total = 0, risk = 0, moment = 0;
  const std::vector<double> values =
      AllValues(logged.elsewhere, &problem.terms);
  const std::vector<double> moments =
      AllValues(logged.elsewhere, &problem.divergence);
  for (size_t i = 0; i < values.size(); ++i) {
    total += logged.data.weights[i];
    risk += logged.data.weights[i] * values[i];
    moment += logged.data.weights[i] * moments[i];
  }
  Eigen::VectorXd gradient(3);
  // (1 - η) / η = 4.
  EXPECT_NEAR(objective.Evaluate(logged.elsewhere, &gradient),
              risk / total + std::sqrt(4.0 * 3 / total * moment / total),
              1e-12);
  EXPECT_LT((gradient - CentralDifferences(objective, logged.elsewhere)).norm(),
            1e-7 * (1 + gradient.norm()));
}

// f <= t̄ + ν v̄ + const everywhere, with equality and equal gradients at w₀.
TEST(SafeExposureObjectiveTest, PullWeightMajorises) {
  const Logged logged(0.1, 25, 2);
  SafeProblem problem(logged);
  ASSERT_OK_AND_ASSIGN(
      const SafeExposureObjective objective,
      SafeExposureObjective::Create(&problem.terms, &problem.divergence, {}));
  ASSERT_OK_AND_ASSIGN(const TermObjective risk,
                       TermObjective::Create(&problem.terms, 0, 0));
  ASSERT_OK_AND_ASSIGN(const TermObjective moment,
                       TermObjective::Create(&problem.divergence, 0, 0));
  const double pull = objective.PullWeight(logged.elsewhere);
  const auto majoriser = [&](const Eigen::VectorXd& w) {
    return risk.Evaluate(w, nullptr) + pull * moment.Evaluate(w, nullptr);
  };
  const double constant = objective.Evaluate(logged.elsewhere, nullptr) -
                          majoriser(logged.elsewhere);
  Eigen::VectorXd a(3), b(3), c(3);
  objective.Evaluate(logged.elsewhere, &a);
  risk.Evaluate(logged.elsewhere, &b);
  moment.Evaluate(logged.elsewhere, &c);
  EXPECT_LT((a - b - pull * c).norm(), 1e-12);
  for (const double step : {-1.0, -0.1, 0.1, 1.0, 3.0}) {
    const Eigen::VectorXd w = logged.elsewhere + step * logged.logging;
    EXPECT_LE(objective.Evaluate(w, nullptr), majoriser(w) + constant + 1e-12);
  }
}

// Almost certain to be safe: the result exposes as the log did. Little safety:
// it gains what it can.
TEST(SafeExposureObjectiveTest, SafetyKeepsTheExposuresThatWereLogged) {
  const Logged logged(0.1, 60, 3);
  SafeProblem problem(logged);
  const auto trained = [&](double failure_probability) {
    const SafeExposureObjective objective = *SafeExposureObjective::Create(
        &problem.terms, &problem.divergence,
        {.failure_probability = failure_probability});
    return MinimizeByLbfgs(objective, logged.elsewhere, {}, nullptr)->point;
  };
  ASSERT_OK_AND_ASSIGN(const TermObjective risk,
                       TermObjective::Create(&problem.terms, 0, 0));
  ASSERT_OK_AND_ASSIGN(const TermObjective moment,
                       TermObjective::Create(&problem.divergence, 0, 0));
  const Eigen::VectorXd safe = trained(1e-8);
  const Eigen::VectorXd bold = trained(0.999);
  EXPECT_NEAR(moment.Evaluate(safe, nullptr),
              moment.Evaluate(logged.logging, nullptr), 1e-3);
  EXPECT_GT(moment.Evaluate(bold, nullptr),
            moment.Evaluate(logged.logging, nullptr) + 0.1);
  EXPECT_LT(risk.Evaluate(bold, nullptr), risk.Evaluate(safe, nullptr) - 0.1);
}

// The variance of the estimate from clicks is at most C v: enumerates orders
// and, for C = 1, users who look at one rank, and click if they like it.
TEST(SafeExposureObjectiveTest, MomentBoundsTheVarianceOfAnEstimate) {
  RandomSequence random(SeedKey(4));
  const LinearFamily family = RankFamily(3, 0.1);
  const BanditTuple decision = RandomDecision(3, 4, &random);
  const Eigen::VectorXd logging = RandomPoint(family, &random);
  const Eigen::VectorXd w = RandomPoint(family, &random);
  const std::vector<double> looks = {0.5, 0.3, 0.2};
  const std::vector<double> e0 =
      EnumeratedExposures(family, ScoresOf(decision, logging), looks);
  const std::vector<double> e =
      EnumeratedExposures(family, ScoresOf(decision, w), looks);
  const double like[] = {0.2, 0.9, 0.5, 1};
  double mean = 0, square = 0, v = 0, value = 0;
  for (const Action& order : AllOrders(4, 3)) {
    const double p =
        ServedProbability(family, ScoresOf(decision, logging), order);
    for (size_t k = 0; k < 3; ++k) {
      const int32_t d = order[k];
      mean += p * looks[k] * like[d] * e[d] / e0[d];
      square += p * looks[k] * like[d] * std::pow(e[d] / e0[d], 2);
    }
  }
  for (size_t d = 0; d < 4; ++d) v += e[d] * e[d] / e0[d];
  for (size_t d = 0; d < 4; ++d) value += e[d] * like[d];
  EXPECT_NEAR(mean, value, 1e-12);
  EXPECT_LT(square - mean * mean, v);
}

// With clicks without interest, clicks are more likely than looks: the variance
// exceeds C v, and C' v bounds it. The candidates are rarely at ranks where
// users look.
TEST(SafeExposureObjectiveTest, ClicksWithoutAnInterestAreWithinTheBound) {
  RandomSequence random(SeedKey(4));
  const LinearFamily family = RankFamily(3, 0.1);
  const BanditTuple decision = RandomDecision(3, 4, &random);
  const Eigen::VectorXd logging = RandomPoint(family, &random);
  const Eigen::VectorXd w = RandomPoint(family, &random);
  const std::vector<double> looks = {0.3, 0.1, 0.02};
  const std::vector<double> offsets = {0.1, 0.3, 0.45};
  const std::vector<double> e0 =
      EnumeratedExposures(family, ScoresOf(decision, logging), looks);
  const std::vector<double> e =
      EnumeratedExposures(family, ScoresOf(decision, w), looks);
  double mean = 0, square = 0, v = 0, value = 0;
  for (const Action& order : AllOrders(4, 3)) {
    const double p =
        ServedProbability(family, ScoresOf(decision, logging), order);
    // Users like everything, and click at each rank independently.
    for (int clicked = 0; clicked < 8; ++clicked) {
      double probability = p, estimate = 0;
      for (size_t k = 0; k < 3; ++k) {
        const bool is_click = (clicked >> k) % 2 == 1;
        const double rate = looks[k] + offsets[k];
        probability *= is_click ? rate : 1 - rate;
        const auto d = static_cast<size_t>(order[k]);
        estimate += e[d] / e0[d] * ((is_click ? 1 : 0) - offsets[k]);
      }
      mean += probability * estimate;
      square += probability * estimate * estimate;
    }
  }
  for (size_t d = 0; d < 4; ++d) v += e[d] * e[d] / e0[d];
  for (size_t d = 0; d < 4; ++d) value += e[d];
  EXPECT_NEAR(mean, value, 1e-12);
  EXPECT_GT(square - mean * mean, v);
  EXPECT_LT(square, ClickMoment(looks, offsets, 3) * v);
  EXPECT_EQ(ClickMoment(looks, {}, 3), 3);
}

TEST(SafeExposureObjectiveTest, NamesWhatIsOutOfRange) {
  const Logged logged(0.1, 5, 5), other(0.1, 6, 5);
  SafeProblem problem(logged), others(other);
  EXPECT_THAT(SafeExposureObjective::Create(&problem.terms, &problem.divergence,
                                            {.failure_probability = 1}),
              IsInvalidArgument("failure_probability is 1"));
  EXPECT_THAT(SafeExposureObjective::Create(&problem.terms, &problem.divergence,
                                            {.max_clicks = 0}),
              IsInvalidArgument("max_clicks is 0"));
  EXPECT_THAT(
      SafeExposureObjective::Create(&problem.terms, &others.divergence, {}),
      IsInvalidArgument("divergence is of 6 tuples"));
}

}  // namespace
}  // namespace sortition
