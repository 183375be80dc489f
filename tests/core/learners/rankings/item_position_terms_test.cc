#include "core/learners/rankings/item_position_terms.h"

#include <cmath>
#include <vector>

#include "core/learners/rankings/prefix_terms.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/learners/rankings/ranked_tuples.h"
#include "tests/core/learners/rankings/term_checks.h"

namespace sortition {
namespace {

using testing::HasSubstr;

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
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("log_marginals of tuple 5 has 0 entries, must "
                                 "have 1")));
  EXPECT_THAT(ItemPositionTerms::Create(data.Log(), ClippedTerm(1), 1),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("tolerance is 1")));
}

}  // namespace
}  // namespace sortition
