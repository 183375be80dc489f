#include <cmath>
#include <vector>

#include "core/learners/counterfactual/linear_tuple_policy.h"
#include "core/learners/counterfactual/poem.h"
#include "core/learners/rankings/cascade_terms.h"
#include "core/learners/rankings/item_position_terms.h"
#include "core/learners/rankings/prefix_terms.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/learners/rankings/ranked_tuples.h"
#include "tests/core/learners/rankings/term_checks.h"
#include "tests/testing/refusals.h"

namespace sortition {
namespace {

constexpr PrefixWeights kBoth[] = {PrefixWeights::kWholeOrder,
                                   PrefixWeights::kPrefixes};

std::vector<std::vector<TermFunction>> Functions() {
  return {{ClippedTerm(HUGE_VAL)},
          {ClippedTerm(5)},
          {ClippedTerm(2), ClippedTerm(4), ClippedTerm(8)},
          {LogSmoothedTerm(0.3)}};
}

TEST(PrefixTermsTest, GradientsAreThoseOfCentralDifferences) {
  RandomSequence random(SeedKey(1));
  for (const double epsilon : {0.0, 0.2}) {
    const RankedTuples data(epsilon, 150, 2);
    const Eigen::VectorXd w = RandomPoint(data.family, &random);
    for (const PrefixWeights kind : kBoth) {
      for (const auto& functions : Functions()) {
        ASSERT_OK_AND_ASSIGN(PrefixTerms terms,
                             PrefixTerms::Create(data.Log(), kind, functions));
        CheckTerms(&terms, w);
      }
    }
  }
}

// Σ over orders of p(order) t(order), with weights, is the value of the policy
// at w: for a whole order whatever the losses are, for prefixes where a loss
// depends on its rank and those above.
TEST(PrefixTermsTest, ExpectationsAreTheTrueValue) {
  RandomSequence random(SeedKey(3));
  for (const double epsilon : {0.0, 0.3}) {
    const BanditTuple decision = RandomDecision(3, 4, &random);
    const LinearFamily family = RankFamily(3, epsilon);
    const Eigen::VectorXd logging = RandomPoint(family, &random);
    const Eigen::VectorXd w = RandomPoint(family, &random);
    // A user who reads from the top until the first good answer.
    const double good[] = {0.1, 0.6, 0.3, 0.8};
    const auto cascade = [&](const Action& order, size_t k) {
      double p = -1;
      for (size_t r = 0; r < k; ++r) p *= 0.9 * (1 - good[order[r]]);
      return p * good[order[k]];
    };
    // Whoever is last decides about the first rank.
    const auto backwards = [&](const Action& order, size_t k) {
      return k == 0 ? -good[order.back()] : 0;
    };
    const EveryOrder forward(family, decision, 3, logging, cascade);
    const EveryOrder backward(family, decision, 3, logging, backwards);
    for (const EveryOrder* orders : {&forward, &backward}) {
      for (const PrefixWeights kind : kBoth) {
        ASSERT_OK_AND_ASSIGN(
            PrefixTerms terms,
            PrefixTerms::Create(orders->Log(), kind, {ClippedTerm(HUGE_VAL)}));
        const double error = std::abs(
            orders->Expectation(AllValues(w, &terms)) - orders->TrueValue(w));
        if (orders == &backward && kind == PrefixWeights::kPrefixes) {
          EXPECT_GT(error, 0.01);  // Its assumption does not hold.
        } else {
          EXPECT_LT(error, 1e-12);
        }
      }
    }
  }
}

// One rank is both a whole order and a prefix, and what LinearTuplePolicy and
// WeightedTerms make of it.
TEST(PrefixTermsTest, WholeOrderEqualsThatOfTheTuplePolicy) {
  RankedTuples data(0.2, 60, 4);
  for (size_t i = 0; i < data.tuples.size(); ++i) {
    data.tuples[i].action.resize(data.ranks[i].num_shown());
    double loss = 0, log_logged = 0;
    for (size_t k = 0; k < data.ranks[i].num_shown(); ++k) {
      data.ranks[i].losses[k] /= static_cast<double>(data.ranks[i].num_shown());
      loss += data.ranks[i].losses[k];
      log_logged += data.ranks[i].log_conditionals[k];
    }
    data.tuples[i].loss = loss;
    data.tuples[i].log_propensity = log_logged;
  }
  ASSERT_OK_AND_ASSIGN(
      LinearTuplePolicy policy,
      LinearTuplePolicy::Create(data.family, data.tuples,
                                HiddenActions::kImpossible, data.weights));
  ASSERT_OK_AND_ASSIGN(WeightedTerms expected,
                       WeightedTerms::Create(&policy, ClippedTerm(4), nullptr));
  ASSERT_OK_AND_ASSIGN(
      PrefixTerms terms,
      PrefixTerms::Create(data.Log(), PrefixWeights::kWholeOrder,
                          {ClippedTerm(4)}));
  RandomSequence random(SeedKey(5));
  const Eigen::VectorXd w = RandomPoint(data.family, &random);
  ASSERT_OK_AND_ASSIGN(const TermObjective a,
                       TermObjective::Create(&expected, 1, 0));
  ASSERT_OK_AND_ASSIGN(const TermObjective b,
                       TermObjective::Create(&terms, 1, 0));
  Eigen::VectorXd gradient(w.size()), expected_gradient(w.size());
  EXPECT_NEAR(b.Evaluate(w, &gradient), a.Evaluate(w, &expected_gradient),
              1e-13);
  EXPECT_LT((gradient - expected_gradient).norm(), 1e-12);
}

// POEM's optimiser takes the terms as they are, and finds what they can gain.
TEST(PrefixTermsTest, PoemMinimisesThem) {
  const RankedTuples data(0.1, 300, 6);
  ASSERT_OK_AND_ASSIGN(PrefixTerms terms,
                       PrefixTerms::Create(data.Log(), PrefixWeights::kPrefixes,
                                           {ClippedTerm(10)}));
  PoemRun run;
  run.crm.lambda = 0.5;
  run.crm.l2 = 1e-3;
  ASSERT_OK_AND_ASSIGN(const PoemResult result, TrainPoemOnTerms(&terms, run));
  ASSERT_OK_AND_ASSIGN(const TermObjective objective,
                       TermObjective::Create(&terms, 0.5, 1e-3));
  const Eigen::VectorXd zero = Eigen::VectorXd::Zero(3);
  EXPECT_NEAR(objective.Evaluate(result.parameters, nullptr), result.objective,
              1e-12);
  EXPECT_LT(result.objective, objective.Evaluate(zero, nullptr) - 0.01);
}

TEST(PrefixTermsTest, NeedsAFunction) {
  const RankedTuples data(0, 5, 7);
  EXPECT_THAT(PrefixTerms::Create(data.Log(), PrefixWeights::kPrefixes, {}),
              IsInvalidArgument("functions: there are 0, must be at least 1"));
}

TEST(ItemPositionTermsTest, GradientsAreThoseOfCentralDifferences) {
  RandomSequence random(SeedKey(1));
  for (const double epsilon : {0.0, 0.2}) {
    const RankedTuples data(epsilon, 150, 2);
    const Eigen::VectorXd w = RandomPoint(data.family, &random);
    for (const TermFunction& function :
         {ClippedTerm(HUGE_VAL), ClippedTerm(3), LogSmoothedTerm(0.3)}) {
      ASSERT_OK_AND_ASSIGN(
          ItemPositionTerms terms,
          ItemPositionTerms::Create(data.Log(), function, 1e-13));
      CheckTerms(&terms, w);
    }
  }
}

// Unbiased where a loss depends on its candidate and rank only, with less
// variance than prefixes; biased for cascades.
TEST(ItemPositionTermsTest, ExpectationIsTheTrueValueOfItemsAtRanks) {
  RandomSequence random(SeedKey(3));
  const double good[] = {0.1, 0.6, 0.3, 0.8};
  for (const double epsilon : {0.0, 0.3}) {
    const BanditTuple decision = RandomDecision(3, 4, &random);
    const LinearFamily family = RankFamily(3, epsilon);
    const Eigen::VectorXd logging = RandomPoint(family, &random);
    const Eigen::VectorXd w = RandomPoint(family, &random);
    const EveryOrder orders(
        family, decision, 3, logging, [&](const Action& order, size_t k) {
          return -good[order[k]] / static_cast<double>(k + 1);
        });
    ASSERT_OK_AND_ASSIGN(
        ItemPositionTerms terms,
        ItemPositionTerms::Create(orders.Log(), ClippedTerm(HUGE_VAL)));
    ASSERT_OK_AND_ASSIGN(
        PrefixTerms prefixes,
        PrefixTerms::Create(orders.Log(), PrefixWeights::kPrefixes,
                            {ClippedTerm(HUGE_VAL)}));
    std::vector<double> values = AllValues(w, &terms);
    std::vector<double> others = AllValues(w, &prefixes);
    EXPECT_NEAR(orders.Expectation(values), orders.TrueValue(w), 1e-9);
    for (double& value : values) value *= value;
    for (double& value : others) value *= value;
    EXPECT_LT(orders.Expectation(values), orders.Expectation(others));
    const EveryOrder cascade(
        family, decision, 3, logging, [&](const Action& order, size_t k) {
          return k == 0 ? 0 : -good[order[k]] * (1 - good[order[k - 1]]);
        });
    ASSERT_OK_AND_ASSIGN(
        ItemPositionTerms biased,
        ItemPositionTerms::Create(cascade.Log(), ClippedTerm(HUGE_VAL)));
    EXPECT_GT(std::abs(cascade.Expectation(AllValues(w, &biased)) -
                       cascade.TrueValue(w)),
              1e-3);
  }
}

TEST(ItemPositionTermsTest, NeedsMarginalsWhereThereAreLosses) {
  RankedTuples data(0, 6, 4);
  for (RankedTuple& tuple : data.ranks) tuple.losses.assign(1, 0);
  for (RankedTuple& tuple : data.ranks) tuple.log_conditionals.resize(1);
  for (RankedTuple& tuple : data.ranks) tuple.log_marginals.clear();
  EXPECT_OK(ItemPositionTerms::Create(data.Log(), ClippedTerm(1)));
  data.ranks[5].losses[0] = -0.5;
  EXPECT_THAT(ItemPositionTerms::Create(data.Log(), ClippedTerm(1)),
              IsInvalidArgument("log_marginals of tuple 5 has 0 entries, must "
                                "have 1"));
  EXPECT_THAT(ItemPositionTerms::Create(data.Log(), ClippedTerm(1), 1),
              IsInvalidArgument("tolerance is 1"));
}

// Any function of tuple, rank and candidate.
class MadeUpModel : public RankLossModel {
 public:
  explicit MadeUpModel(double scale) : scale_(scale) {}
  void Losses(size_t i, size_t k, std::span<double> losses) const override {
    for (size_t a = 0; a < losses.size(); ++a) {
      losses[a] = scale_ * std::sin(static_cast<double>(7 * i + 3 * k + a));
    }
  }

 private:
  double scale_;
};

TEST(CascadeTermsTest, GradientsAreThoseOfCentralDifferences) {
  RandomSequence random(SeedKey(1));
  const MadeUpModel model(0.7);
  for (const double epsilon : {0.0, 0.2, 0.9}) {
    const RankedTuples data(epsilon, 150, 2);
    const Eigen::VectorXd w = RandomPoint(data.family, &random);
    for (const std::vector<double>& clips :
         std::vector<std::vector<double>>{{HUGE_VAL}, {3}, {2, 4, 8}}) {
      ASSERT_OK_AND_ASSIGN(CascadeTerms terms,
                           CascadeTerms::Create(data.Log(), clips, &model));
      CheckTerms(&terms, w);
    }
  }
}

TEST(CascadeTermsTest, WithoutAModelTheyAreThoseOfPrefixes) {
  const RankedTuples data(0.2, 60, 3);
  const MadeUpModel none(0);
  ASSERT_OK_AND_ASSIGN(CascadeTerms terms,
                       CascadeTerms::Create(data.Log(), {4}, &none));
  ASSERT_OK_AND_ASSIGN(PrefixTerms prefixes,
                       PrefixTerms::Create(data.Log(), PrefixWeights::kPrefixes,
                                           {ClippedTerm(4)}));
  RandomSequence random(SeedKey(4));
  const Eigen::VectorXd w = RandomPoint(data.family, &random);
  const std::vector<double> values = AllValues(w, &terms);
  const std::vector<double> expected = AllValues(w, &prefixes);
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(values[i], expected[i], 1e-13);
  }
}

// A cascade user, and models of what that user does.
struct Users {
  double good[4] = {0.1, 0.6, 0.3, 0.8};
  double Loss(const Action& above, size_t k, int32_t candidate) const {
    double p = -1;
    for (size_t r = 0; r < k; ++r) p *= 0.9 * (1 - good[above[r]]);
    return p * good[candidate];
  }
};

class UserModel : public RankLossModel {
 public:
  UserModel(const Users& users, const EveryOrder& orders, double error)
      : users_(users), orders_(orders), error_(error) {}
  void Losses(size_t i, size_t k, std::span<double> losses) const override {
    for (size_t a = 0; a < losses.size(); ++a) {
      losses[a] =
          users_.Loss(orders_.tuples[i].action, k, static_cast<int32_t>(a)) +
          error_ * std::cos(static_cast<double>(k + 3 * a));
    }
  }

 private:
  const Users& users_;
  const EveryOrder& orders_;
  double error_;
};

// The expectation over the log is right for every model. With the true model
// nothing is left of the variance but that of what was shown above.
TEST(CascadeTermsTest, ExpectationIsTheTrueValueForAnyModel) {
  RandomSequence random(SeedKey(5));
  const Users users;
  for (const double epsilon : {0.0, 0.3}) {
    const BanditTuple decision = RandomDecision(3, 4, &random);
    const LinearFamily family = RankFamily(3, epsilon);
    const Eigen::VectorXd logging = RandomPoint(family, &random);
    const Eigen::VectorXd w = RandomPoint(family, &random);
    const EveryOrder orders(family, decision, 3, logging,
                            [&](const Action& order, size_t k) {
                              return users.Loss(order, k, order[k]);
                            });
    std::vector<double> second_moments;
    for (const double error : {0.0, 0.2, 2.0}) {
      const UserModel model(users, orders, error);
      ASSERT_OK_AND_ASSIGN(
          CascadeTerms terms,
          CascadeTerms::Create(orders.Log(), {HUGE_VAL}, &model));
      std::vector<double> values = AllValues(w, &terms);
      EXPECT_NEAR(orders.Expectation(values), orders.TrueValue(w), 1e-12);
      for (double& value : values) value *= value;
      second_moments.push_back(orders.Expectation(values));
    }
    EXPECT_LT(second_moments[0], second_moments[2]);
  }
}

TEST(CascadeTermsTest, NamesClipsOutOfRange) {
  const RankedTuples data(0, 5, 6);
  const MadeUpModel model(1);
  EXPECT_THAT(CascadeTerms::Create(data.Log(), {2, 0.5}, &model),
              IsInvalidArgument("clips has 0.5, must be at least 1"));
  EXPECT_THAT(CascadeTerms::Create(data.Log(), {}, &model),
              IsInvalidArgument("clips: there are 0"));
}

}  // namespace
}  // namespace sortition
