#include "core/learners/pulled_list_net.h"

#include <cmath>
#include <vector>

#include "core/learners/list_net.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/learners/trusted_testing.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using config::v1::ListNetOptions;

constexpr uint32_t kMostPasses = 1000;
const std::vector<double> kScales = {1e6, 1, 1, 1e-4};

// 50 queries of 8 candidates, labels by the sum of the features over their
// scale and noise, and one query whose labels say nothing.
GameQueries Unscaled() {
  RandomSequence random(SeedKey(1));
  GameQueries queries;
  for (int q = 0; q <= 50; ++q) {
    std::vector<float> features;
    std::vector<uint32_t> relevances;
    for (int i = 0; i < 8; ++i) {
      double score = random.Normal();
      for (const double scale : kScales) {
        const double x = random.Normal();
        score += x;
        features.push_back(static_cast<float>(scale * x));
      }
      const uint32_t relevance = score > 2 ? 2 : score > 0 ? 1 : 0;
      relevances.push_back(q == 50 ? 1 : relevance);
    }
    queries.Add(features, relevances);
  }
  return queries;
}

// Mean over the queries whose labels differ of -Σ P log P, P = softmax(labels).
double MeanEntropy(const GameQueries& queries) {
  double sum = 0, count = 0;
  for (const GameQuery& query : queries.views()) {
    double total = 0, mean = 0;
    for (const uint32_t label : query.relevances) total += std::exp(label);
    for (const uint32_t label : query.relevances) {
      mean += label * std::exp(label) / total;
    }
    if (internal::AllEqual(query.relevances)) continue;
    sum += std::log(total) - mean;
    ++count;
  }
  return sum / count;
}

// Its J at weights of `size` over the features' scales.
double ObjectiveAt(const GameQueries& queries, const TrustedOrders& trusted,
                   double lambda, double size) {
  Eigen::VectorXd w(4);
  std::vector<double> slope(4);
  for (int j = 0; j < 4; ++j) w[j] = size / kScales[j];
  const ListNetObjective labels(queries.views(), lambda,
                                ListNetOptions::RELEVANCE);
  return labels.Evaluate(w, nullptr) + trusted.AddMean(1, {w.data(), 4}, slope);
}

// Features of scales from 1e-4 to 1e6 hold the ascent up. What is proved stays
// sound and is at least what the labels alone say, and it ends.
TEST(PulledListNetTest, UnscaledFeaturesEndSoonWithASoundBound) {
  const GameQueries queries = Unscaled();
  const TrustedOrders trusted =
      TrustedOf(queries, OrdersBy(queries, {0, 1, 0, 0}), TrustedKinds()[0]);
  ASSERT_OK_AND_ASSIGN(
      const auto problem,
      MakePulledListNet(queries.views(), ListNetOptions::RELEVANCE,
                        {.orders = &trusted, .weight = 1}));
  for (const double lambda : {1.0 / 50, 1.0 / 50 / 64}) {
    const auto solver = MakePulledListNetSolver(problem.get(), kMostPasses);
    ASSERT_OK_AND_ASSIGN(const HingeResult result,
                         solver->Minimise(lambda, nullptr));
    EXPECT_GE(result.dual_bound, MeanEntropy(queries) - 1e-12);
    for (const double size : {0.0, 0.1, 0.2, 0.5}) {
      EXPECT_LE(result.dual_bound, ObjectiveAt(queries, trusted, lambda, size));
    }
    EXPECT_LE(result.objective, ObjectiveAt(queries, trusted, lambda, 0));
    EXPECT_GT(result.gap(), kPulledListNetGap);
    EXPECT_EQ(result.termination, "stalled");
    EXPECT_LT(result.passes, kMostPasses / 5);
  }
}

}  // namespace
}  // namespace sortition
