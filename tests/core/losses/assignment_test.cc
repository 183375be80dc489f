#include "core/losses/assignment.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "gtest/gtest.h"

namespace sortition {
namespace {

struct Problem {
  size_t n;
  std::vector<double> costs;

  double Cost(std::span<const uint32_t> columns) const {
    double cost = 0;
    for (size_t i = 0; i < n; ++i) cost += costs[i * n + columns[i]];
    return cost;
  }
};

Problem RandomProblem(std::mt19937_64* random, size_t n) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  Problem problem = {n, std::vector<double>(n * n)};
  const bool ties = (*random)() % 2 == 0;
  for (double& cost : problem.costs) {
    cost = ties ? std::round(2 * uniform(*random)) : uniform(*random);
  }
  return problem;
}

double Solve(Assignment* assignment, const Problem& problem,
             std::span<const double> prices,
             std::span<const uint32_t> columns = {}) {
  return assignment->Solve(
      problem.n,
      [&](size_t row, std::span<double> costs) {
        std::copy_n(problem.costs.begin() + row * problem.n, problem.n,
                    costs.begin());
      },
      prices, columns);
}

// No assignment costs less than Σ u + Σ v.
double DualBound(const Assignment& assignment, const Problem& problem) {
  double bound = 0;
  for (size_t i = 0; i < problem.n; ++i) {
    double least = HUGE_VAL;
    for (size_t j = 0; j < problem.n; ++j) {
      least = std::min(
          least, problem.costs[i * problem.n + j] - assignment.prices()[j]);
    }
    bound += least + assignment.prices()[i];
  }
  return bound;
}

void ExpectAssignment(std::span<const uint32_t> columns) {
  std::vector<uint32_t> sorted(columns.begin(), columns.end());
  std::sort(sorted.begin(), sorted.end());
  for (uint32_t i = 0; i < sorted.size(); ++i) ASSERT_EQ(sorted[i], i);
}

TEST(AssignmentTest, EqualsEnumeration) {
  std::mt19937_64 random(1);
  Assignment assignment;
  for (int repeat = 0; repeat < 10000; ++repeat) {
    const Problem problem = RandomProblem(&random, 1 + random() % 7);
    std::vector<double> prices;
    if (repeat % 3 == 0) {
      prices.resize(problem.n);
      for (double& price : prices) price = static_cast<double>(random() % 5);
    }
    std::vector<uint32_t> start;
    if (repeat % 2 == 0) {
      start.resize(problem.n);
      std::iota(start.begin(), start.end(), 0);
      std::shuffle(start.begin(), start.end(), random);
    }
    const double cost = Solve(&assignment, problem, prices, start);
    ExpectAssignment(assignment.columns());
    ASSERT_NEAR(cost, problem.Cost(assignment.columns()), 1e-12);
    std::vector<uint32_t> columns(problem.n);
    std::iota(columns.begin(), columns.end(), 0);
    double least = HUGE_VAL;
    do {
      least = std::min(least, problem.Cost(columns));
    } while (std::next_permutation(columns.begin(), columns.end()));
    ASSERT_NEAR(cost, least, 1e-12);
    ASSERT_NEAR(DualBound(assignment, problem), least, 1e-12);
  }
}

TEST(AssignmentTest, PricesProveLargeOnes) {
  std::mt19937_64 random(2);
  Assignment assignment;
  for (const size_t n : {50, 200, 300}) {
    const Problem problem = RandomProblem(&random, n);
    const double cost = Solve(&assignment, problem, {});
    ExpectAssignment(assignment.columns());
    EXPECT_NEAR(cost, DualBound(assignment, problem), 1e-9);
  }
  EXPECT_EQ(assignment.Solve(0, nullptr, {}), 0);
}

}  // namespace
}  // namespace sortition
