#include "core/optim/one_slack.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "Eigen/Core"
#include "Eigen/Dense"
#include "bench/reference/matrix_game.h"
#include "core/base/random.h"
#include "core/optim/cutting_planes.h"
#include "core/optim/matrix_simplex.h"
#include "core/optim/query_planes.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

// The vector (x) of length 1.
Eigen::VectorXd Vector1(double x) { return Eigen::VectorXd::Constant(1, x); }

config::v1::OneSlackOptions GapOptions(double gap) {
  config::v1::OneSlackOptions options;
  options.set_gap_tolerance(gap);
  return options;
}

// R(w) = max_t (offset_t + slope_t·w), rows of planes that are all known.
struct Planes {
  Eigen::VectorXd offsets;
  Eigen::MatrixXd slopes;  // A plane per row.

  double Value(const Eigen::VectorXd& w) const {
    return (offsets + slopes * w).maxCoeff();
  }
  RiskOracle Oracle() const {
    return [this](const Eigen::VectorXd& w, double, RiskPlane* plane) {
      Eigen::Index best = 0;
      plane->value = (offsets + slopes * w).maxCoeff(&best);
      plane->offset = offsets[best];
      plane->slope = slopes.row(best);
      return absl::OkStatus();
    };
  }
};

Planes RandomPlanes(RandomSequence& random, Eigen::Index count,
                    Eigen::Index dimension) {
  Planes planes{Eigen::VectorXd(count), Eigen::MatrixXd(count, dimension)};
  for (double& offset : planes.offsets) offset = random.Normal();
  for (double& slope : planes.slopes.reshaped()) slope = random.Normal();
  return planes;
}

// λ/2 w² + max(0, 1 - w), the hinge of one example x = 1: w = min(1, 1/λ).
TEST(OneSlackTest, FindsTheMinimumOfAHinge) {
  const Planes hinge{Eigen::Vector2d(0, 1), Eigen::Vector2d(0, -1)};
  for (const double lambda : {0.01, 0.5, 1.0, 4.0, 100.0}) {
    OneSlackSolver solver(hinge.Oracle(), 1, GapOptions(1e-9));
    const auto result = solver.Minimise(lambda, {});
    ASSERT_TRUE(result.ok()) << result.status();
    const double w = std::min(1.0, 1 / lambda);
    EXPECT_NEAR(result->weights[0], w, 1e-4);
    EXPECT_NEAR(result->objective, lambda / 2 * w * w + 1 - w, 1e-9);
    EXPECT_EQ(result->termination, OneSlackTermination::kGap);
  }
}

// Compares with the minimum of λ/2 ‖w‖² + max of all planes, the quadratic
// program solved whole by the dual of CuttingPlanes.
TEST(OneSlackTest, AgreesWithTheWholeQuadraticProgram) {
  RandomSequence random(SeedKey(1));
  for (int trial = 0; trial < 200; ++trial) {
    const Planes planes = RandomPlanes(random, 40, 6);
    const double lambda = std::exp(2 * random.Normal() - 1);
    CuttingPlanes whole(6, 40);
    for (Eigen::Index t = 0; t < 40; ++t) {
      whole.Add(planes.offsets[t], planes.slopes.row(t));
    }
    const auto exact = whole.Maximise(lambda, 1e-12, 1000000);
    OneSlackSolver solver(planes.Oracle(), 6, GapOptions(1e-6));
    const auto result = solver.Minimise(lambda, {});
    ASSERT_TRUE(result.ok()) << result.status();
    ASSERT_EQ(result->termination, OneSlackTermination::kGap) << trial;
    EXPECT_LE(result->gap(), 1e-6);
    EXPECT_LE(result->dual_bound, exact.value + 1e-9);
    EXPECT_GE(result->objective, exact.value - 1e-9);
    // J is strongly convex: λ/2 ‖w - w*‖² <= J(w) - J(w*).
    EXPECT_LE((result->weights - exact.point).norm(),
              std::sqrt(2 * 2e-6 / lambda));
    EXPECT_NEAR(lambda / 2 * result->weights.squaredNorm() +
                    planes.Value(result->weights),
                result->objective, 1e-9);
  }
}

// However the solver ends, the bound is below the minimum and the objective
// above.
TEST(OneSlackTest, BoundsHoldWhereverItStops) {
  RandomSequence random(SeedKey(2));
  const Planes planes = RandomPlanes(random, 60, 8);
  OneSlackSolver exact(planes.Oracle(), 8, GapOptions(1e-9));
  const double minimum = exact.Minimise(0.1, {})->objective;
  for (uint32_t iterations = 1; iterations < 30; ++iterations) {
    auto options = GapOptions(1e-9);
    options.set_max_iterations(iterations);
    OneSlackSolver solver(planes.Oracle(), 8, options);
    const auto result = solver.Minimise(0.1, {});
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_LE(result->dual_bound, minimum + 1e-8);
    EXPECT_GE(result->objective, minimum - 1e-8);
    EXPECT_LE(result->evaluations, iterations);
    EXPECT_EQ(result->termination, result->gap() <= 1e-9
                                       ? OneSlackTermination::kGap
                                       : OneSlackTermination::kMaxIterations);
  }
}

// An oracle whose planes are up to 0.01 too low, and its values as much too
// high.
TEST(OneSlackTest, BoundsHoldForAnOracleThatApproximates) {
  RandomSequence random(SeedKey(3));
  const Planes planes = RandomPlanes(random, 60, 8);
  OneSlackSolver exact(planes.Oracle(), 8, GapOptions(1e-9));
  const double minimum = exact.Minimise(0.1, {})->objective;
  RandomSequence noise(SeedKey(4));
  const RiskOracle rough = [&](const Eigen::VectorXd& w, double tolerance,
                               RiskPlane* plane) {
    const absl::Status status = planes.Oracle()(w, tolerance, plane);
    plane->value += 0.01 * noise.Uniform();
    plane->offset -= 0.01 * noise.Uniform();
    return status;
  };
  OneSlackSolver solver(rough, 8, GapOptions(1e-4));
  const auto result = solver.Minimise(0.1, {});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_LE(result->dual_bound, minimum + 1e-8);
  EXPECT_GE(result->objective, minimum - 1e-8);
  EXPECT_LE(result->gap(), 0.03);
}

TEST(OneSlackTest, PlanesOfOneLambdaServeTheNext) {
  RandomSequence random(SeedKey(5));
  const Planes planes = RandomPlanes(random, 200, 10);
  OneSlackSolver path(planes.Oracle(), 10, GapOptions(1e-6));
  const auto first = path.Minimise(1, {});
  ASSERT_TRUE(first.ok());
  const auto warm = path.Minimise(0.8, first->weights);
  OneSlackSolver fresh(planes.Oracle(), 10, GapOptions(1e-6));
  const auto cold = fresh.Minimise(0.8, {});
  ASSERT_TRUE(warm.ok() && cold.ok());
  EXPECT_NEAR(warm->objective, cold->objective, 2e-6);
  EXPECT_LT(warm->evaluations, cold->evaluations);
}

TEST(OneSlackTest, SameCallsGiveTheSameBits) {
  RandomSequence random(SeedKey(6));
  const Planes planes = RandomPlanes(random, 60, 8);
  const auto run = [&] {
    OneSlackSolver solver(planes.Oracle(), 8, GapOptions(1e-6));
    return *solver.Minimise(0.1, {});
  };
  const OneSlackResult a = run();
  const OneSlackResult b = run();
  EXPECT_EQ(a.weights, b.weights);
  EXPECT_EQ(a.objective, b.objective);
  EXPECT_EQ(a.dual_bound, b.dual_bound);
}

TEST(OneSlackTest, RefusesWhatHasNoMeaning) {
  const Planes hinge{Eigen::Vector2d(0, 1), Eigen::Vector2d(0, -1)};
  OneSlackSolver solver(hinge.Oracle(), 1, GapOptions(1e-6));
  EXPECT_EQ(solver.Minimise(0, {}).status().message(),
            "lambda is 0, must be above 0 and finite");
  EXPECT_EQ(solver.Minimise(1, Eigen::VectorXd::Zero(2)).status().message(),
            "start has 2 parameters, must be 1 finite ones");
  EXPECT_FALSE(solver.Minimise(1, Vector1(NAN)).ok());
  OneSlackSolver broken(
      [](const Eigen::VectorXd&, double, RiskPlane* plane) {
        *plane = {NAN, 0, Vector1(0)};
        return absl::OkStatus();
      },
      1, GapOptions(1e-6));
  EXPECT_EQ(broken.Minimise(1, {}).status().code(),
            absl::StatusCode::kInternal);
}

// R(x) = |x - 1| from both of its planes: λ/2 x² + R is least at 1/λ, or at the
// kink if that is nearer.
TEST(CuttingPlanesTest, AllPlanesOfARoofGiveTheMinimum) {
  CuttingPlanes planes(1, 4);
  planes.Add(-1, Vector1(1));
  planes.Add(1, Vector1(-1));
  const auto at_kink = planes.Maximise(0.5, 1e-14);
  EXPECT_NEAR(at_kink.value, 0.25, 1e-12);
  EXPECT_NEAR(at_kink.point[0], 1, 1e-12);
  const auto before = planes.Maximise(2, 1e-14);
  EXPECT_NEAR(before.value, 0.25 + 0.5, 1e-12);
  EXPECT_NEAR(before.point[0], 0.5, 1e-12);
}

TEST(CuttingPlanesTest, ForgetsTheOldestAndKnowsNothingAtFirst) {
  CuttingPlanes planes(1, 2);
  EXPECT_EQ(planes.Maximise(1, 1e-9).value, -HUGE_VAL);
  planes.Add(100, Vector1(0));
  planes.Add(-1, Vector1(1));
  EXPECT_NEAR(planes.Maximise(1, 1e-9).value, 100, 1e-12);
  planes.Add(1, Vector1(-1));
  EXPECT_NEAR(planes.Maximise(1, 1e-14).value, 0.5, 1e-12);
}

// R(x) = max of random planes: the bound is the model's minimum, so the model
// at its minimum has that value for any planes.
TEST(CuttingPlanesTest, BoundIsTheValueOfTheModelAtItsMinimum) {
  RandomSequence random(SeedKey(1));
  for (int trial = 0; trial < 50; ++trial) {
    constexpr int kPlanes = 30;
    CuttingPlanes planes(5, kPlanes);
    Eigen::MatrixXd slopes(5, kPlanes);
    Eigen::VectorXd offsets(kPlanes);
    for (int t = 0; t < kPlanes; ++t) {
      offsets[t] = random.Normal();
      for (double& entry : slopes.col(t)) entry = random.Normal();
      planes.Add(offsets[t], slopes.col(t));
    }
    const double lambda = std::exp(2 * random.Normal());
    const auto bound = planes.Maximise(lambda, 1e-10);
    const double model =
        lambda / 2 * bound.point.squaredNorm() +
        (offsets + slopes.transpose() * bound.point).maxCoeff();
    EXPECT_LE(bound.value, model + 1e-12);
    EXPECT_NEAR(bound.value, model, 1e-9);
  }
}

// R_1 = |x - 1|, R_2 = |x + 1|: λ/2 x² + (|x - 1| + |x + 1|) / 2 is 1 at 0.
// There is one plane for both from x = 0, and the plane of each other side.
TEST(QueryPlanesTest, MixesEachQueryByItself) {
  QueryPlanes planes(2, 1, 4);
  EXPECT_EQ(planes.Maximise(1, 1e-12, 100).value, -HUGE_VAL);
  planes.Add(0, -1, Vector1(1));
  EXPECT_EQ(planes.Maximise(1, 1e-12, 100).value, -HUGE_VAL);
  planes.Add(1, -1, Vector1(-1));
  // Slopes cancel: -1 at 0.
  EXPECT_NEAR(planes.Maximise(1, 1e-12, 100).value, -1, 1e-12);
  planes.Add(0, 1, Vector1(-1));
  planes.Add(1, 1, Vector1(1));
  const auto bound = planes.Maximise(1, 1e-12, 100);
  EXPECT_NEAR(bound.value, 1, 1e-9);
  EXPECT_NEAR(bound.point[0], 0, 1e-9);
}

// The bound is the minimum of the model, so the model at its minimum has that
// value for any planes.
TEST(QueryPlanesTest, BoundIsTheValueOfTheModelAtItsMinimum) {
  constexpr int kQueries = 7, kPlanes = 6, kDimension = 4;
  RandomSequence random(SeedKey(1));
  for (int trial = 0; trial < 50; ++trial) {
    QueryPlanes planes(kQueries, kDimension, kPlanes);
    std::vector<Eigen::MatrixXd> slopes(kQueries);
    std::vector<Eigen::VectorXd> offsets(kQueries);
    for (int q = 0; q < kQueries; ++q) {
      slopes[q].resize(kDimension, kPlanes);
      offsets[q].resize(kPlanes);
      for (int t = 0; t < kPlanes; ++t) {
        offsets[q][t] = random.Normal();
        for (double& entry : slopes[q].col(t)) entry = random.Normal();
        planes.Add(q, offsets[q][t], slopes[q].col(t));
      }
    }
    const double lambda = std::exp(random.Normal());
    const auto bound = planes.Maximise(lambda, 1e-10, 100000);
    double model = lambda / 2 * bound.point.squaredNorm();
    for (int q = 0; q < kQueries; ++q) {
      model += (offsets[q] + slopes[q].transpose() * bound.point).maxCoeff() /
               kQueries;
    }
    EXPECT_LE(bound.value, model + 1e-12);
    EXPECT_NEAR(bound.value, model, 1e-8);
    // Any number of passes gives a bound, starting where the last call ended.
    const auto other = planes.Maximise(2 * lambda, 1e-10, 1);
    EXPECT_GE(other.value, bound.value - 1e-8);
  }
}

// With R = |x - 1| the planes in use stay when room runs out.
TEST(QueryPlanesTest, ForgetsWhatIsNotUsed) {
  QueryPlanes planes(1, 1, 3);
  planes.Add(0, -1, Vector1(1));
  planes.Add(0, 1, Vector1(-1));
  const double with_both = planes.Maximise(0.5, 1e-12, 100).value;
  EXPECT_NEAR(with_both, 0.25, 1e-9);
  for (int k = 0; k < 10; ++k) planes.Add(0, -5 - k, Vector1(0));
  EXPECT_NEAR(planes.Maximise(0.5, 1e-12, 100).value, 0.25, 1e-9);
  // A new λ does not lose the bound of the old planes.
  EXPECT_NEAR(planes.Maximise(2, 1e-12, 100).value, 0.75, 1e-9);
}

// Entries are integers from -levels to levels, divided by `levels`: few levels
// make ties, dominated rows and equal columns.
Eigen::MatrixXd RandomPayoffs(RandomSequence& random, int rows, int columns,
                              int levels) {
  Eigen::MatrixXd payoffs(rows, columns);
  for (double& payoff : payoffs.reshaped()) {
    payoff =
        (static_cast<double>(random.Below(2 * levels + 1)) - levels) / levels;
  }
  return payoffs;
}

// Expects both strategies to be distributions, each of which holds the other
// player to the value. Every optimal pair does that, and no other pair.
void ExpectOptimal(const MatrixSimplex& simplex, const Eigen::MatrixXd& payoffs,
                   double value, double tolerance) {
  ASSERT_EQ(simplex.num_rows(), payoffs.rows());
  ASSERT_EQ(simplex.num_columns(), payoffs.cols());
  const Eigen::Map<const Eigen::VectorXd> x(simplex.row_strategy().data(),
                                            payoffs.rows());
  const Eigen::Map<const Eigen::VectorXd> z(simplex.column_strategy().data(),
                                            payoffs.cols());
  EXPECT_NEAR(x.sum(), 1, 1e-12);
  EXPECT_NEAR(z.sum(), 1, 1e-12);
  EXPECT_GE(x.minCoeff(), 0);
  EXPECT_GE(z.minCoeff(), 0);
  EXPECT_NEAR((x.transpose() * payoffs).minCoeff(), value, tolerance);
  EXPECT_NEAR((payoffs * z).maxCoeff(), value, tolerance);
  EXPECT_NEAR(simplex.value(), value, tolerance);
}

// The payoffs of the rows and columns that are in the simplex now.
Eigen::MatrixXd PayoffsOf(const MatrixSimplex& simplex) {
  Eigen::MatrixXd payoffs(simplex.num_rows(), simplex.num_columns());
  for (int i = 0; i < payoffs.rows(); ++i) {
    for (int j = 0; j < payoffs.cols(); ++j)
      payoffs(i, j) = simplex.payoff(i, j);
  }
  return payoffs;
}

double ValueOf(const Eigen::MatrixXd& payoffs) {
  const auto solution = SolveMatrixGame(payoffs);
  EXPECT_TRUE(solution.ok()) << solution.status();
  return solution.ok() ? solution->value : NAN;
}

void AddAll(const Eigen::MatrixXd& payoffs, MatrixSimplex* simplex) {
  for (int i = 0; i < payoffs.rows(); ++i) simplex->AddRow({});
  for (int j = 0; j < payoffs.cols(); ++j) {
    const Eigen::VectorXd column = payoffs.col(j);
    simplex->AddColumn({column.data(), static_cast<size_t>(column.size())});
  }
}

TEST(MatrixSimplexTest, AgreesWithLinearProgramming) {
  RandomSequence random(HashBytes("whole"));
  MatrixSimplex simplex;
  for (int game = 0; game < 2000; ++game) {
    const int levels = game % 3 == 0 ? 1 : game % 3 == 1 ? 4 : 1 << 20;
    const Eigen::MatrixXd payoffs =
        RandomPayoffs(random, 1 + static_cast<int>(random.Below(15)),
                      1 + static_cast<int>(random.Below(15)), levels);
    const double perturbation = game % 2 == 0 ? 0 : 1e-10;
    simplex.Clear(-1, perturbation);
    AddAll(payoffs, &simplex);
    ASSERT_TRUE(simplex.Solve()) << game;
    ExpectOptimal(simplex, payoffs, ValueOf(payoffs), 2e-9);
    EXPECT_EQ(simplex.num_repairs(), 0);
  }
}

// As in the double oracle, rows and columns come a few at a time, and idle ones
// leave.
TEST(MatrixSimplexTest, FollowsAGameThatGrowsAndShrinks) {
  RandomSequence random(HashBytes("growing"));
  MatrixSimplex simplex;
  std::vector<double> added;
  const auto random_payoffs = [&](int size, int levels) {
    const Eigen::MatrixXd payoffs = RandomPayoffs(random, size, 1, levels);
    added.assign(payoffs.data(), payoffs.data() + size);
    return std::span<const double>(added);
  };
  for (int game = 0; game < 60; ++game) {
    const int levels = game % 3 == 0 ? 1 : game % 3 == 1 ? 5 : 1 << 20;
    simplex.Clear(-1, 1e-10);
    simplex.AddRow({});
    simplex.AddColumn(random_payoffs(1, levels));
    for (int round = 0; round < 12; ++round) {
      for (uint64_t k = random.Below(5); k > 0; --k) {
        simplex.AddColumn(random_payoffs(simplex.num_rows(), levels));
      }
      ASSERT_TRUE(simplex.Solve());
      for (uint64_t k = random.Below(5); k > 0; --k) {
        simplex.AddRow(random_payoffs(simplex.num_columns(), levels));
      }
      ASSERT_TRUE(simplex.Solve());
      if (round % 4 == 3) {
        for (int i = simplex.num_rows() - 1; i >= 0; --i) {
          if (simplex.RowIsIdle(i) && random.Below(2) == 0)
            simplex.RemoveRow(i);
        }
        for (int j = simplex.num_columns() - 1; j >= 0; --j) {
          if (simplex.ColumnIsIdle(j) && random.Below(2) == 0) {
            simplex.RemoveColumn(j);
          }
        }
        ASSERT_TRUE(simplex.Solve());
      }
      const Eigen::MatrixXd payoffs = PayoffsOf(simplex);
      ExpectOptimal(simplex, payoffs, ValueOf(payoffs), 2e-9);
    }
    EXPECT_EQ(simplex.num_repairs(), 0);  // Appending is exact.
  }
}

// 100 copies of a row and of a column in matching pennies, a game of two
// actions each whose value is 0.
TEST(MatrixSimplexTest, EqualActionsDoNotStopIt) {
  const int n = 200;
  Eigen::MatrixXd payoffs(n, n);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) payoffs(i, j) = i % 2 == j % 2 ? 1 : -1;
  }
  MatrixSimplex simplex;
  simplex.Clear(-1, 1e-9);
  AddAll(payoffs, &simplex);
  ASSERT_TRUE(simplex.Solve());
  ExpectOptimal(simplex, payoffs, 0, 1e-8);
  EXPECT_LT(simplex.num_pivots(), 20);
}

// A value far smaller than all payoffs: only `lowest_payoff` has to be below
// the value.
TEST(MatrixSimplexTest, PayoffsBelowTheLowestMayHideBehindTheValue) {
  Eigen::Matrix2d payoffs;
  payoffs << 3, -50, 0, 1;  // Row 1 guarantees 0; value 3/54.
  MatrixSimplex simplex;
  simplex.Clear(0, 0);
  AddAll(payoffs, &simplex);
  ASSERT_TRUE(simplex.Solve());
  ExpectOptimal(simplex, payoffs, 3. / 54, 1e-12);
}

TEST(MatrixSimplexTest, SameGameGivesTheSameBits) {
  RandomSequence random(HashBytes("bits"));
  const Eigen::MatrixXd payoffs = RandomPayoffs(random, 30, 30, 3);
  MatrixSimplex used;
  used.Clear(-1, 1e-9);
  AddAll(RandomPayoffs(random, 40, 40, 3), &used);
  ASSERT_TRUE(used.Solve());
  MatrixSimplex fresh;
  for (MatrixSimplex* simplex : {&used, &fresh}) {
    simplex->Clear(-1, 1e-9);
    AddAll(payoffs, simplex);
    ASSERT_TRUE(simplex->Solve());
  }
  EXPECT_TRUE(std::ranges::equal(used.row_strategy(), fresh.row_strategy()));
  EXPECT_TRUE(
      std::ranges::equal(used.column_strategy(), fresh.column_strategy()));
}

}  // namespace
}  // namespace sortition
