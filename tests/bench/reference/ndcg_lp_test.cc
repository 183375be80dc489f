// Loss-augmented inference for NDCG against the linear program of seed 001,
// sec. 17.4.3, which shares no code with the assignment by shortest paths.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "bench/reference/assignment_lp.h"
#include "core/base/random.h"
#include "core/losses/assignment.h"
#include "core/losses/ndcg_hinge.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

struct Query {
  std::vector<double> scores;
  std::vector<double> gains;
  size_t cutoff = 0;
};

Query RandomQuery(RandomSequence& random) {
  Query query;
  const size_t n = 1 + random.Below(12);
  const uint64_t levels = 1 + random.Below(4);
  const bool ties = random.Below(2) == 0;
  const double scale = std::exp(2 * random.Normal() - 2);
  for (size_t i = 0; i < n; ++i) {
    const double score =
        ties ? std::round(2 * random.Normal()) / 2 : random.Normal();
    query.scores.push_back(scale * score);
    query.gains.push_back(static_cast<double>(random.Below(levels)));
  }
  query.cutoff = random.Below(n + 1);
  return query;
}

// The discount D of rank number j = 1 .. n.
double DiscountOf(const Query& query, size_t number) {
  const size_t rank = query.scores.size() - number;
  if (query.cutoff > 0 && rank >= query.cutoff) return 0;
  return 1 / std::log2(static_cast<double>(rank) + 2);
}

// The labels' rank numbers ȳ; items of one label are ordered by their scores.
std::vector<size_t> NumbersOfLabels(const Query& query) {
  std::vector<size_t> order(query.scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(query.gains[a], query.scores[a]) <
           std::pair(query.gains[b], query.scores[b]);
  });
  std::vector<size_t> numbers(order.size());
  for (size_t k = 0; k < order.size(); ++k) numbers[order[k]] = k + 1;
  return numbers;
}

TEST(NdcgLpTest, InferenceIsTheLinearProgram) {
  RandomSequence random(SeedKey(1));
  NdcgHinge hinge;
  for (int trial = 0; trial < 2000; ++trial) {
    const Query query = RandomQuery(random);
    const size_t n = query.scores.size();
    const std::vector<size_t> own = NumbersOfLabels(query);
    double ideal = 0, own_score = 0;
    for (size_t i = 0; i < n; ++i) {
      ideal += DiscountOf(query, own[i]) * query.gains[i];
      own_score += static_cast<double>(own[i]) * query.scores[i];
    }
    // c_ij = D(j) y_i / G(y, y) - j s_i (sec. 17.4.2).
    Eigen::MatrixXd costs(n, n);
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 1; j <= n; ++j) {
        costs(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j - 1)) =
            (ideal > 0 ? DiscountOf(query, j) * query.gains[i] / ideal : 0) -
            static_cast<double>(j) * query.scores[i];
      }
    }
    ASSERT_OK_AND_ASSIGN(const AssignmentLpSolution lp,
                         SolveAssignmentLp(costs));
    // Birkhoff: a vertex is a permutation.
    EXPECT_LE((lp.matrix.array() * (1 - lp.matrix.array())).abs().maxCoeff(),
              1e-9);
    std::vector<double> slopes(n);
    const double value =
        hinge.Evaluate(query.scores, query.gains, query.cutoff, slopes).value;
    EXPECT_NEAR(value, (ideal > 0 ? 1 : 0) - lp.cost - own_score, 1e-9);
    double cost = 0;
    for (size_t rank = 0; rank < n; ++rank) {
      cost +=
          costs(hinge.order()[rank], static_cast<Eigen::Index>(n - rank - 1));
    }
    EXPECT_NEAR(cost, lp.cost, 1e-9);
  }
}

// The assignment alone, for any costs.
TEST(NdcgLpTest, AssignmentIsTheLinearProgram) {
  RandomSequence random(SeedKey(2));
  Assignment assignment;
  for (int trial = 0; trial < 300; ++trial) {
    const auto n = static_cast<Eigen::Index>(1 + random.Below(20));
    const bool ties = trial % 2 == 0;
    const Eigen::MatrixXd costs = Eigen::MatrixXd::NullaryExpr(n, n, [&] {
      const double cost = 3 * random.Normal();
      return ties ? std::round(cost) : cost;
    });
    ASSERT_OK_AND_ASSIGN(const AssignmentLpSolution lp,
                         SolveAssignmentLp(costs));
    const double least =
        assignment.Solve(static_cast<size_t>(n),
                         [&](size_t row, std::span<double> out) {
                           for (Eigen::Index j = 0; j < n; ++j) {
                             out[static_cast<size_t>(j)] =
                                 costs(static_cast<Eigen::Index>(row), j);
                           }
                         },
                         {});
    EXPECT_NEAR(least, lp.cost, 1e-9);
  }
}

TEST(NdcgLpTest, RefusesWhatIsNoAssignment) {
  EXPECT_FALSE(SolveAssignmentLp(Eigen::MatrixXd(0, 0)).ok());
  EXPECT_FALSE(SolveAssignmentLp(Eigen::MatrixXd::Zero(2, 3)).ok());
  EXPECT_FALSE(
      SolveAssignmentLp(Eigen::MatrixXd::Constant(2, 2, 1.0 / 0.0)).ok());
}

}  // namespace
}  // namespace sortition
