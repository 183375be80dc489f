#include "core/optim/one_slack.h"

#include <cmath>
#include <vector>

#include "core/base/random.h"
#include "gtest/gtest.h"
#include "tests/core/optim/vector1.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

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

}  // namespace
}  // namespace sortition
