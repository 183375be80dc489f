#include "core/learners/orders/pulled_list_net.h"

#include <cmath>
#include <vector>

#include "core/learners/orders/list_net.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/trusted_testing.h"

namespace sortition {
namespace {

using config::v1::ListNetOptions;

constexpr uint32_t kMostPasses = 1000;
using Scales = std::vector<double>;
const Scales kScales = {1e6, 1, 1, 1e-4};

// 50 queries of 8 candidates, labels by the sum of the features over their
// scale plus noise, and one query whose labels are all the same.
TestQueries Scaled(const Scales& scales) {
  RandomSequence random(SeedKey(1));
  TestQueries queries;
  for (int q = 0; q <= 50; ++q) {
    std::vector<float> features;
    std::vector<uint32_t> relevances;
    for (int i = 0; i < 8; ++i) {
      double score = random.Normal();
      for (const double scale : scales) {
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

// The mean of -Σ P log P over the queries whose labels differ, P =
// softmax(labels).
double MeanEntropy(const TestQueries& queries) {
  double sum = 0, count = 0;
  for (const LabelledItems& query : queries.views()) {
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

double ObjectiveAt(const TestQueries& queries, const TrustedOrders& trusted,
                   double lambda, const Eigen::VectorXd& w) {
  std::vector<double> slope(4);
  const ListNetObjective labels(queries.views(), lambda,
                                ListNetOptions::RELEVANCE);
  return labels.Evaluate(w, nullptr) + trusted.AddMean(1, {w.data(), 4}, slope);
}

HingeResult Minimum(const TestQueries& queries, const TrustedOrders& trusted,
                    double lambda) {
  const auto problem =
      *MakePulledListNet(queries.views(), ListNetOptions::RELEVANCE,
                         {.orders = &trusted, .weight = 1});
  config::v1::LbfgsOptions options;
  options.set_max_iterations(kMostPasses);
  return *MakePulledListNetSolver(problem.get(), options)
              ->Minimise(lambda, nullptr);
}

// Features of scales from 1e-4 to 1e6 slow the ascent down. It still ends, its
// proof stays sound, and its bound is at least that of the labels alone. L-BFGS
// comes as near as the ascent does with 1 instead of 1e6, whose J is that at
// v_0 = 1e6 w_0 and λ/2 v_0².
TEST(PulledListNetTest, LearnsFromUnscaledFeatures) {
  const TestQueries queries = Scaled(kScales);
  const TestQueries scaled = Scaled({1, 1, 1, 1e-4});
  const std::vector<Order> orders = OrdersBy(queries, {0, 1, 0, 0});
  const TrustedOrders trusted = TrustedOf(queries, orders, TrustedKinds()[0]);
  const TrustedOrders of_scaled = TrustedOf(scaled, orders, TrustedKinds()[0]);
  for (const double lambda : {1.0 / 50, 1.0 / 50 / 64}) {
    const HingeResult result = Minimum(queries, trusted, lambda);
    EXPECT_EQ(result.termination, "stalled; L-BFGS");
    EXPECT_LT(result.passes, kMostPasses / 2);
    EXPECT_GT(result.gap(), kPulledListNetGap);
    EXPECT_GE(result.dual_bound, MeanEntropy(queries) - 1e-12);
    EXPECT_NEAR(result.objective,
                ObjectiveAt(queries, trusted, lambda, result.weights), 1e-9);
    const HingeResult best = Minimum(scaled, of_scaled, lambda);
    EXPECT_EQ(best.termination, "gap closed");
    EXPECT_LE(result.dual_bound, best.objective);
    EXPECT_LE(result.objective, best.objective + kPulledListNetGap);
    const double v = 1e6 * result.weights[0];
    EXPECT_GE(result.objective, best.dual_bound - lambda / 2 * v * v - 1e-6);
  }
}

}  // namespace
}  // namespace sortition
