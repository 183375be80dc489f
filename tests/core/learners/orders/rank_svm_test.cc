#include "core/learners/orders/rank_svm.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/random_queries.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using absl::StatusCode::kInvalidArgument;
using config::v1::RankSvmOptions;
using ::testing::HasSubstr;

// J pair by pair.
double BruteForce(const std::vector<LabelledItems>& queries, double lambda,
                  const RankSvmOptions& options,
                  const std::vector<double>& weights) {
  double all = 0, num_pairs = 0, by_query = 0, num_queries = 0;
  for (const LabelledItems& query : queries) {
    double sum = 0, pairs = 0;
    for (uint32_t i = 0; i < query.relevances.size(); ++i) {
      for (uint32_t j = 0; j < query.relevances.size(); ++j) {
        if (query.relevances[i] <= query.relevances[j]) continue;
        const double margin =
            query.items.Score(i, weights) - query.items.Score(j, weights);
        sum += std::max(0.0, 1 - margin);
        ++pairs;
      }
    }
    all += sum;
    num_pairs += pairs;
    if (pairs == 0) continue;
    by_query += sum / pairs;
    ++num_queries;
  }
  double norm2 = 0;
  for (const double w : weights) norm2 += w * w;
  return lambda / 2 * norm2 + (options.weighting() == RankSvmOptions::PAIRS
                                   ? all / num_pairs
                                   : by_query / num_queries);
}

std::vector<RankSvmOptions> Weightings() {
  std::vector<RankSvmOptions> options(2);
  options[1].set_weighting(RankSvmOptions::QUERIES);
  return options;
}

// A pair of difference x = (2, 0): λ/2 w² + max(0, 1 - 2 w) is least at
// w = min(2 / λ, 1/2).
TEST(RankSvmTest, SolvesAPairByHand) {
  TestQueries queries;
  queries.Add({3, 7, 1, 7}, {4, 2});
  RankSvmOptions options;
  options.set_gap_tolerance(1e-9);
  ASSERT_OK_AND_ASSIGN(RankSvmResult result,
                       TrainRankSvm(queries.views(), 8, options));
  EXPECT_EQ(result.num_pairs, 1u);
  EXPECT_NEAR(result.weights[0], 0.25, 1e-4);
  EXPECT_EQ(result.weights[1], 0);
  EXPECT_NEAR(result.descent.objective, 4 * 0.0625 + 0.5, 1e-8);
  ASSERT_OK_AND_ASSIGN(result, TrainRankSvm(queries.views(), 1, options));
  EXPECT_NEAR(result.weights[0], 0.5, 1e-4);
}

TEST(RankSvmTest, ClosesTheGapOfTheObjectivePairByPair) {
  RandomSequence random(SeedKey(3));
  for (uint64_t seed = 0; seed < 6; ++seed) {
    const TestQueries queries = RandomQueries(
        {.num_queries = 25, .max_relevance = 3, .rounded = seed % 2 == 0},
        seed);
    for (const double lambda : {1e-4, 1e-2, 1.}) {
      for (const RankSvmOptions& options : Weightings()) {
        ASSERT_OK_AND_ASSIGN(const RankSvmResult result,
                             TrainRankSvm(queries.views(), lambda, options));
        const DescentResult& descent = result.descent;
        EXPECT_LE(descent.gap(), 1e-3 * descent.objective)
            << descent.termination;
        EXPECT_NEAR(
            BruteForce(queries.views(), lambda, options, result.weights),
            descent.objective, 1e-12);
        for (int trial = 0; trial < 20; ++trial) {
          std::vector<double> other = result.weights;
          const double scale = std::exp2(-trial);
          for (double& w : other) w += scale * random.Normal();
          EXPECT_GE(BruteForce(queries.views(), lambda, options, other),
                    descent.dual_bound);
        }
      }
    }
  }
}

// The relevance is a threshold of a linear score: with little regularisation
// every pair is ordered correctly.
TEST(RankSvmTest, FindsAPlantedOrder) {
  const TestQueries queries =
      RandomQueries({.num_queries = 30, .max_relevance = 3, .noise = 0}, 7);
  for (const RankSvmOptions& options : Weightings()) {
    ASSERT_OK_AND_ASSIGN(const RankSvmResult result,
                         TrainRankSvm(queries.views(), 1e-8, options));
    for (const LabelledItems& query : queries.views()) {
      for (uint32_t i = 0; i < query.relevances.size(); ++i) {
        for (uint32_t j = 0; j < query.relevances.size(); ++j) {
          if (query.relevances[i] <= query.relevances[j]) continue;
          EXPECT_GT(query.items.Score(i, result.weights),
                    query.items.Score(j, result.weights));
        }
      }
    }
  }
}

TEST(RankSvmTest, StopsWhereTheWatcherSaysSo) {
  const TestQueries queries = RandomQueries({.num_queries = 25}, 8);
  RankSvmOptions options;
  options.set_gap_tolerance(1e-9);
  int steps = 0;
  ASSERT_OK_AND_ASSIGN(
      const RankSvmResult result,
      TrainRankSvm(queries.views(), 1e-3, options,
                   [&](const DescentResult&) { return ++steps == 3; }));
  EXPECT_EQ(steps, 3);
  EXPECT_TRUE(result.descent.stopped);
  EXPECT_THAT(result.descent.termination, HasSubstr("stopped"));
}

TEST(RankSvmTest, RefusesWhatItCannotLearnFrom) {
  TestQueries equal;
  equal.Add({1, 2}, {1, 1});
  EXPECT_THAT(TrainRankSvm(equal.views(), 1, {}),
              StatusIs(kInvalidArgument, HasSubstr("none of 1 queries")));
  EXPECT_THAT(TrainRankSvm({}, 1, {}),
              StatusIs(kInvalidArgument, HasSubstr("there are 0 queries")));
  const TestQueries queries = RandomQueries({}, 1);
  RankSvmOptions options;
  EXPECT_THAT(TrainRankSvm(queries.views(), 0, options),
              StatusIs(kInvalidArgument, HasSubstr("lambda is 0")));
  options.set_gap_tolerance(2);
  EXPECT_THAT(TrainRankSvm(queries.views(), 1, options),
              StatusIs(kInvalidArgument, HasSubstr("gap_tolerance is 2")));
  TestQueries bad;
  bad.Add({1, NAN}, {1, 0});
  EXPECT_THAT(TrainRankSvm(bad.views(), 1, {}),
              StatusIs(kInvalidArgument, HasSubstr("query 0")));
}

}  // namespace
}  // namespace sortition
