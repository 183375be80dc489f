#include "core/learners/labelled/expected_measure.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using model::v1::GameRanking;
using model::v1::GameSubset;
using model::v1::Policy;
using ::testing::HasSubstr;
using Kind = LabelMeasure::Kind;

// Items with one feature, whose weight is 1: the feature is the score.
struct Query {
  std::vector<float> scores;
  std::vector<uint32_t> relevances;
  LabelledItems view() const {
    return {Candidates::DenseUnchecked(scores, 1), relevances};
  }
};

Query RandomQuery(int num_items, uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  Query query;
  for (int i = 0; i < num_items; ++i) {
    query.scores.push_back(static_cast<float>(0.6 * random.Normal()));
    query.relevances.push_back(static_cast<uint32_t>(random.Below(3)));
  }
  return query;
}

Policy BasePolicy(double epsilon) {
  Policy policy;
  policy.set_inverse_temperature(1.5);
  policy.set_uniform_mixture(epsilon);
  return policy;
}

LabelMeasure Precision(uint32_t k) {
  return {.kind = Kind::kPrecision, .k = k, .gains = {0, 1, 1}};
}
LabelMeasure Dcg(uint32_t k) {
  return {.kind = Kind::kDcg, .k = k, .gains = {0, 1. / 3, 1}};
}
LabelMeasure F(double beta) {
  return {.kind = Kind::kFBeta, .beta = beta, .gains = {0, 0, 1}};
}

// Σ p(action) · measure(action) over `actions`.
double ByEnumeration(const Policy& policy, const LabelMeasure& measure,
                     const Query& query,
                     const std::vector<std::vector<int32_t>>& actions) {
  const LinearPolicy linear = LinearPolicy::Create(policy, {1}).value();
  PolicyWorkspace workspace;
  PolicyQuery asked;
  asked.candidates = query.view().items;
  double expected = 0;
  double total = 0;
  for (const auto& action : actions) {
    const double p = std::exp(linear.LogPropensity(asked, action, &workspace));
    total += p;
    expected += p * EvaluateAction(measure, query.relevances, action);
  }
  EXPECT_NEAR(total, 1, 1e-9);
  return expected;
}

std::vector<std::vector<int32_t>> AllOrders(int n) {
  std::vector<int32_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::vector<int32_t>> orders;
  do {
    orders.push_back(order);
  } while (std::next_permutation(order.begin(), order.end()));
  return orders;
}

std::vector<std::vector<int32_t>> AllSubsets(int n) {
  std::vector<std::vector<int32_t>> subsets(size_t{1} << n);
  for (size_t mask = 0; mask < subsets.size(); ++mask) {
    for (int i = 0; i < n; ++i) {
      if ((mask >> i & 1) == 1) subsets[mask].push_back(i);
    }
  }
  return subsets;
}

double Value(const Policy& policy, const LabelMeasure& measure,
             const Query& query, uint64_t seed = 0) {
  return ExpectedMeasure::Create(policy, {1}, measure)
      .value()
      .Of(query.view(), seed)
      .value();
}

Policy Game(GameRanking::Discount discount, uint32_t cutoff, double epsilon) {
  Policy policy = BasePolicy(epsilon);
  policy.mutable_game_ranking()->set_discount(discount);
  policy.mutable_game_ranking()->set_cutoff(cutoff);
  return policy;
}

TEST(ExpectedMeasureTest, OfGameRankingsIsTheSumOverAllOrders) {
  for (int n = 1; n <= 5; ++n) {
    for (uint64_t seed = 0; seed < 5; ++seed) {
      const Query query = RandomQuery(n, 10 * seed + n);
      for (const double epsilon : {0., 0.3, 1.}) {
        for (const uint32_t k : {0u, 1u, 3u, 7u}) {
          const Policy dcg = Game(GameRanking::DCG, k, epsilon);
          EXPECT_NEAR(Value(dcg, Dcg(k), query),
                      ByEnumeration(dcg, Dcg(k), query, AllOrders(n)), 1e-9);
          if (k == 0) continue;
          const Policy precision = Game(GameRanking::PRECISION, k, epsilon);
          EXPECT_NEAR(
              Value(precision, Precision(k), query),
              ByEnumeration(precision, Precision(k), query, AllOrders(n)),
              1e-9);
        }
      }
    }
  }
}

TEST(ExpectedMeasureTest, OfIndependentSubsetsIsTheSumOverAllSubsets) {
  for (int n = 1; n <= 6; ++n) {
    for (uint64_t seed = 0; seed < 5; ++seed) {
      const Query query = RandomQuery(n, 100 + 10 * seed + n);
      for (const double epsilon : {0., 0.3, 1.}) {
        Policy policy = BasePolicy(epsilon);
        policy.mutable_independent_subset()->set_threshold(0.2);
        for (const double beta : {1., 2.}) {
          EXPECT_NEAR(Value(policy, F(beta), query),
                      ByEnumeration(policy, F(beta), query, AllSubsets(n)),
                      1e-12);
        }
        // A fixed size, or all items if there are fewer.
        policy.mutable_independent_subset()->set_k(2);
        for (const LabelMeasure& measure : {F(1), Precision(2)}) {
          EXPECT_NEAR(Value(policy, measure, query),
                      ByEnumeration(policy, measure, query, AllSubsets(n)),
                      1e-12);
        }
      }
    }
  }
}

TEST(ExpectedMeasureTest, OfGameSubsetsIsTheSumOverAllSubsets) {
  for (int n = 1; n <= 6; ++n) {
    for (uint64_t seed = 0; seed < 5; ++seed) {
      const Query query = RandomQuery(n, 200 + 10 * seed + n);
      for (const double epsilon : {0., 0.3, 1.}) {
        Policy policy = BasePolicy(epsilon);
        GameSubset* game = policy.mutable_game_subset();
        game->set_measure(GameSubset::PRECISION);
        game->set_k(2);
        for (const LabelMeasure& measure : {F(1), Precision(2)}) {
          EXPECT_NEAR(Value(policy, measure, query),
                      ByEnumeration(policy, measure, query, AllSubsets(n)),
                      1e-9);
        }
        game->set_measure(GameSubset::F_BETA);
        game->set_threshold(0.2);
        for (const double beta : {1., 2.}) {
          game->set_beta(beta);
          EXPECT_NEAR(Value(policy, F(beta), query),
                      ByEnumeration(policy, F(beta), query, AllSubsets(n)),
                      1e-9);
        }
      }
    }
  }
}

LabelMeasure Gain() { return {.kind = Kind::kGain, .gains = {0, 1. / 3, 1}}; }

Policy Selection(double epsilon, bool abstains) {
  Policy policy = BasePolicy(epsilon);
  policy.mutable_softmax_selection();
  if (abstains) policy.mutable_softmax_selection()->set_abstain_score(0.1);
  return policy;
}

// Abstaining gains nothing.
TEST(ExpectedMeasureTest, OfSelectionsIsTheSumOverAllCandidates) {
  for (int n = 1; n <= 6; ++n) {
    for (uint64_t seed = 0; seed < 5; ++seed) {
      const Query query = RandomQuery(n, 300 + 10 * seed + n);
      for (const double epsilon : {0., 0.3, 1.}) {
        for (const bool abstains : {false, true}) {
          std::vector<std::vector<int32_t>> actions;
          for (int i = 0; i < n; ++i) actions.push_back({i});
          double expected = 0;
          const LinearPolicy linear =
              LinearPolicy::Create(Selection(epsilon, abstains), {1}).value();
          PolicyWorkspace workspace;
          PolicyQuery asked;
          asked.candidates = query.view().items;
          for (const auto& action : actions) {
            expected +=
                std::exp(linear.LogPropensity(asked, action, &workspace)) *
                EvaluateAction(Gain(), query.relevances, action);
          }
          EXPECT_NEAR(Value(Selection(epsilon, abstains), Gain(), query),
                      expected, 1e-12);
        }
      }
    }
  }
}

ExpectedMeasure Created(const Policy& policy, const LabelMeasure& measure) {
  return ExpectedMeasure::Create(policy, {1}, measure).value();
}

// Equals the measure of a policy that is uniform.
TEST(ExpectedMeasureTest, ChanceIsTheSumOverEquallyLikelyActions) {
  const Query query = RandomQuery(4, 8);
  Policy order = BasePolicy(0);
  order.mutable_plackett_luce();
  Policy set = BasePolicy(0);
  set.mutable_independent_subset();
  Policy two = set;
  two.mutable_independent_subset()->set_k(2);
  const auto check = [&](Policy policy, const LabelMeasure& measure,
                         const auto& actions) {
    const double chance = Created(policy, measure).ByChance(query.view());
    policy.set_uniform_mixture(1);
    EXPECT_NEAR(chance, ByEnumeration(policy, measure, query, actions), 1e-12);
    EXPECT_NEAR(chance, Value(policy, measure, query), 1e-12);
    EXPECT_EQ(Created(policy, measure).num_draws(), 0);
  };
  check(order, Dcg(3), AllOrders(4));
  check(order, Precision(2), AllOrders(4));
  check(set, F(2), AllSubsets(4));
  check(two, Precision(2), AllSubsets(4));
  check(Selection(0, false), Gain(),
        std::vector<std::vector<int32_t>>{{0}, {1}, {2}, {3}});
  double sum = 0;
  for (const uint32_t relevance : query.relevances) {
    sum += Gain().gains[relevance];
  }
  EXPECT_NEAR(Created(Selection(0, true), Gain()).ByChance(query.view()),
              sum / 5, 1e-15);
}

// Scores 0.3, -1, 0.7, 0.3 by hand; each order of the two equal scores counts
// half.
TEST(ExpectedMeasureTest, ByScoreIsTheActionWithoutLot) {
  const Query query = {{0.3F, -1, 0.7F, 0.3F}, {1, 2, 0, 2}};
  Policy order = BasePolicy(0.5);
  order.mutable_plackett_luce();
  EXPECT_DOUBLE_EQ(
      Created(order, Dcg(0)).ByScore(query.view()),
      2. / 3 / std::log2(3) + 2. / 3 / std::log2(4) + 1 / std::log2(5));
  EXPECT_DOUBLE_EQ(Created(order, Precision(2)).ByScore(query.view()), 0.5);
  EXPECT_EQ(Created(Selection(0.5, false), Gain()).ByScore(query.view()), 0);
  // One candidate is above 0.3; three are above 0, of which one counts.
  Policy set = BasePolicy(0.5);
  set.mutable_independent_subset()->set_threshold(0.3F);
  EXPECT_EQ(Created(set, F(1)).ByScore(query.view()), 0);
  set.mutable_independent_subset()->set_threshold(0);
  EXPECT_DOUBLE_EQ(Created(set, F(1)).ByScore(query.view()), 2. / (3 + 2));
}

TEST(ExpectedMeasureTest, EntropyIsOfWhatIsFirst) {
  const Query query = {{0, 0.5F}, {1, 0}};
  const auto of = [](double p) { return -p * std::log(p); };
  const double p = 1 / (1 + std::exp(1.5 * 0.5));  // P of the first.
  Policy order = BasePolicy(0);
  order.mutable_plackett_luce();
  EXPECT_NEAR(*Created(order, Dcg(0)).Entropy(query.view()), of(p) + of(1 - p),
              1e-12);
  EXPECT_NEAR(*Created(Selection(1, true), Gain()).Entropy(query.view()),
              std::log(3), 1e-12);
  Policy set = BasePolicy(0);
  set.mutable_independent_subset();
  EXPECT_NEAR(*Created(set, F(1)).Entropy(query.view()),
              std::log(2) + of(p) + of(1 - p), 1e-12);
  EXPECT_FALSE(Created(Game(GameRanking::DCG, 0, 0), Dcg(0))
                   .Entropy(query.view())
                   .has_value());
}

// The mean of 200 means of 256 draws is within 5 standard errors.
TEST(ExpectedMeasureTest, DrawsAreUnbiasedAndRepeatable) {
  const Query query = RandomQuery(4, 7);
  Policy plackett_luce = BasePolicy(0.1);
  plackett_luce.mutable_plackett_luce();
  const Policy other = Game(GameRanking::PRECISION, 2, 0.1);
  for (const Policy& policy : {plackett_luce, other}) {
    ASSERT_OK_AND_ASSIGN(const ExpectedMeasure measure,
                         ExpectedMeasure::Create(policy, {1}, Dcg(3)));
    EXPECT_EQ(measure.num_draws(), 256);
    double sum = 0;
    double squares = 0;
    constexpr int kMeans = 200;
    for (int seed = 0; seed < kMeans; ++seed) {
      const double value = measure.Of(query.view(), seed).value();
      EXPECT_EQ(value, measure.Of(query.view(), seed).value());
      sum += value;
      squares += value * value;
    }
    const double mean = sum / kMeans;
    const double error = std::sqrt((squares / kMeans - mean * mean) / kMeans);
    EXPECT_GT(error, 0);
    EXPECT_NEAR(mean, ByEnumeration(policy, Dcg(3), query, AllOrders(4)),
                5 * error);
  }
}

TEST(ExpectedMeasureTest, RefusesWhatHasNoSuchMeasure) {
  const auto error = [](const Policy& policy, const LabelMeasure& measure) {
    const auto created = ExpectedMeasure::Create(policy, {1}, measure);
    EXPECT_EQ(created.status().code(), absl::StatusCode::kFailedPrecondition);
    return std::string(created.status().message());
  };
  EXPECT_THAT(error(Selection(0, false), Precision(1)),
              HasSubstr("selects a candidate: it has no P@1"));
  EXPECT_THAT(error(Game(GameRanking::DCG, 0, 0), Gain()),
              HasSubstr("ranks candidates: it has no gain"));
  Policy labels = BasePolicy(0);
  labels.mutable_independent_labels();
  EXPECT_THAT(error(labels, F(1)), HasSubstr("the policy's F1 is not known"));
  EXPECT_THAT(error(Game(GameRanking::DCG, 0, 0), F(1)),
              HasSubstr("ranks candidates: it has no F1"));
  Policy subset = BasePolicy(0);
  subset.mutable_independent_subset();
  EXPECT_THAT(error(subset, Dcg(0)),
              HasSubstr("labels candidates: it has no graded DCG"));
  EXPECT_THAT(error(subset, Precision(5)),
              HasSubstr("does not choose 5 candidates: it has no P@5"));
  subset.mutable_independent_subset()->set_k(4);
  EXPECT_THAT(error(subset, Precision(5)), HasSubstr("does not choose 5"));
}

TEST(ExpectedMeasureTest, RefusesScoresThatCannotBeDrawnExactly) {
  Policy policy = BasePolicy(0);
  policy.mutable_plackett_luce();
  ASSERT_OK_AND_ASSIGN(const ExpectedMeasure measure,
                       ExpectedMeasure::Create(policy, {1e12}, Dcg(0)));
  EXPECT_THAT(measure.Of(RandomQuery(3, 1).view(), 0),
              IsInvalidArgument("beyond what"));
}

// F = 1 for the empty set if nothing is relevant; otherwise (1 + β²) h / (s +
// β² t) by hand.
TEST(LabelMeasureTest, EvaluatesActionsByDefinition) {
  const std::vector<uint32_t> relevances = {2, 0, 1, 2};
  const std::vector<int32_t> order = {1, 3, 2, 0};
  EXPECT_DOUBLE_EQ(EvaluateAction(Precision(3), relevances, order), 2. / 3);
  EXPECT_DOUBLE_EQ(EvaluateAction(Dcg(2), relevances, order), 1 / std::log2(3));
  EXPECT_DOUBLE_EQ(EvaluateAction(Dcg(0), relevances, order),
                   1 / std::log2(3) + 1. / 3 / 2 + 1 / std::log2(5));
  const std::vector<int32_t> set = {0, 1, 2};
  EXPECT_DOUBLE_EQ(EvaluateAction(F(1), relevances, set), 2. * 1 / (3 + 2));
  EXPECT_DOUBLE_EQ(EvaluateAction(F(2), relevances, set), 5. * 1 / (3 + 8));
  const std::vector<uint32_t> none = {0, 1};
  EXPECT_EQ(EvaluateAction(F(1), none, {}), 1);
  EXPECT_EQ(EvaluateAction(F(1), relevances, {}), 0);
  EXPECT_EQ(Precision(5).Name(), "P@5");
  EXPECT_EQ(Dcg(10).Name(), "graded DCG@10");
  EXPECT_EQ(F(0.5).Name(), "F0.5");
}

}  // namespace
}  // namespace sortition
