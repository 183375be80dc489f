#include "core/learners/rankings/prefix_terms.h"

#include <cmath>
#include <vector>

#include "core/learners/counterfactual/linear_tuple_policy.h"
#include "core/learners/counterfactual/poem.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/learners/rankings/ranked_tuples.h"
#include "tests/core/learners/rankings/term_checks.h"

namespace sortition {
namespace {

using testing::HasSubstr;

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
  EXPECT_THAT(
      PrefixTerms::Create(data.Log(), PrefixWeights::kPrefixes, {}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("functions: there are 0, must be at least 1")));
}

}  // namespace
}  // namespace sortition
