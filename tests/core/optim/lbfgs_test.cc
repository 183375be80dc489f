#include "core/optim/lbfgs.h"

#include <cmath>
#include <limits>
#include <vector>

#include "Eigen/Cholesky"
#include "core/base/random.h"
#include "core/optim/adagrad.h"
#include "core/optim/certified_descent.h"
#include "core/optim/objective.h"
#include "core/optim/parameter_frame.h"
#include "core/optim/ridge.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/central_differences.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using config::v1::LbfgsOptions;

// f(x, y) = (1 - x)² + 100 (y - x²)², minimum 0 at (1, 1), along a curved
// valley.
class Rosenbrock : public Objective {
 public:
  // `offset` is added to f.
  explicit Rosenbrock(double offset = 0) : offset_(offset) {}
  Eigen::Index dimension() const override { return 2; }
  double Evaluate(const Eigen::VectorXd& point,
                  Eigen::VectorXd* gradient) const override {
    const double x = point[0];
    const double valley = point[1] - x * x;
    if (gradient != nullptr) {
      *gradient =
          Eigen::Vector2d(-2 * (1 - x) - 400 * x * valley, 200 * valley);
    }
    return offset_ + (1 - x) * (1 - x) + 100 * valley * valley;
  }

 private:
  double offset_;
};

// -log x is not finite for x <= 0, and it falls for ever.
class MinusLog : public Objective {
 public:
  Eigen::Index dimension() const override { return 1; }
  double Evaluate(const Eigen::VectorXd& point,
                  Eigen::VectorXd* gradient) const override {
    if (gradient != nullptr) *gradient = -point.cwiseInverse();
    return -std::log(point[0]);
  }
};

TEST(LbfgsTest, FindsTheMinimumOfACurvedValley) {
  const Rosenbrock rosenbrock;
  LbfgsOptions options;
  options.set_gradient_tolerance(1e-10);
  options.set_decrease_tolerance(0);
  uint32_t seen = 0;
  ASSERT_OK_AND_ASSIGN(
      const LbfgsResult result,
      MinimizeByLbfgs(rosenbrock, Eigen::Vector2d(-1.2, 1), options,
                      [&](uint32_t iteration) { seen = iteration; }));
  EXPECT_NEAR(result.point[0], 1, 1e-9);
  EXPECT_NEAR(result.point[1], 1, 1e-9);
  EXPECT_LT(result.value, 1e-18);
  EXPECT_EQ(result.termination, LbfgsTermination::kGradient);
  EXPECT_EQ(seen, result.iterations);
  EXPECT_GE(result.evaluations, result.iterations);
  // Steepest descent needs thousands of iterations here.
  EXPECT_LT(result.iterations, 60u);
}

TEST(LbfgsTest, StartsAtTheMinimum) {
  const Rosenbrock rosenbrock;
  ASSERT_OK_AND_ASSIGN(const LbfgsResult result,
                       MinimizeByLbfgs(rosenbrock, Eigen::Vector2d(1, 1),
                                       LbfgsOptions(), nullptr));
  EXPECT_EQ(result.point, Eigen::VectorXd(Eigen::Vector2d(1, 1)));
  EXPECT_EQ(result.termination, LbfgsTermination::kGradient);
  EXPECT_EQ(result.iterations, 0u);
}

TEST(LbfgsTest, EndsAfterMaxIterationsNoWorseThanItBegan) {
  const Rosenbrock rosenbrock;
  LbfgsOptions options;
  options.set_max_iterations(3);
  const Eigen::VectorXd start = Eigen::Vector2d(-1.2, 1);
  ASSERT_OK_AND_ASSIGN(const LbfgsResult result,
                       MinimizeByLbfgs(rosenbrock, start, options, nullptr));
  EXPECT_EQ(result.iterations, 3u);
  EXPECT_EQ(result.termination, LbfgsTermination::kMaxIterations);
  EXPECT_LT(result.value, rosenbrock.Evaluate(start, nullptr));
  EXPECT_EQ(result.value, rosenbrock.Evaluate(result.point, nullptr));
}

TEST(LbfgsTest, EndsWhereTheDecreaseIsSmall) {
  const Rosenbrock rosenbrock;
  LbfgsOptions options;
  options.set_gradient_tolerance(0);
  options.set_decrease_tolerance(0.5);
  ASSERT_OK_AND_ASSIGN(
      const LbfgsResult result,
      MinimizeByLbfgs(rosenbrock, Eigen::Vector2d(-1.2, 1), options, nullptr));
  EXPECT_EQ(result.termination, LbfgsTermination::kDecrease);
}

TEST(LbfgsTest, EndsWhereTheCallerSaysSoAtTheBestPointYet) {
  const Rosenbrock rosenbrock;
  const Eigen::VectorXd start = Eigen::Vector2d(-1.2, 1);
  const auto run = [&](int asked_before_true) {
    int asked = 0;
    return MinimizeByLbfgs(rosenbrock, start, LbfgsOptions(), nullptr,
                           [&] { return asked++ == asked_before_true; })
        .value();
  };
  const LbfgsResult at_once = run(0);
  EXPECT_EQ(at_once.termination, LbfgsTermination::kStopped);
  EXPECT_EQ(at_once.point, start);
  EXPECT_EQ(at_once.value, rosenbrock.Evaluate(start, nullptr));
  EXPECT_EQ(at_once.iterations, 0u);
  const LbfgsResult later = run(5);
  EXPECT_EQ(later.termination, LbfgsTermination::kStopped);
  EXPECT_EQ(later.iterations, 5u);
  EXPECT_EQ(later.value, rosenbrock.Evaluate(later.point, nullptr));
  EXPECT_LT(later.value, at_once.value);
}

TEST(LbfgsTest, GoesOnWhereTheObjectiveIsNegative) {
  const Rosenbrock rosenbrock(-10);
  ASSERT_OK_AND_ASSIGN(const LbfgsResult result,
                       MinimizeByLbfgs(rosenbrock, Eigen::Vector2d(-1.2, 1),
                                       LbfgsOptions(), nullptr));
  EXPECT_NEAR(result.point[0], 1, 1e-3);
  EXPECT_NEAR(result.value, -10, 1e-7);
}

TEST(LbfgsTest, NamesWhatIsWrong) {
  const MinusLog minus_log;
  EXPECT_THAT(MinimizeByLbfgs(minus_log, Eigen::Vector2d(1, 1), LbfgsOptions(),
                              nullptr),
              IsInvalidArgument("start has 2 entries, must have 1"));
  EXPECT_THAT(MinimizeByLbfgs(minus_log, Eigen::VectorXd::Constant(1, -1),
                              LbfgsOptions(), nullptr),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("not finite")));
}

TEST(AdaGradTest, FirstStepsFollowTheRecurrenceFromOne) {
  AdaGrad adagrad(2, /*step_size=*/0.5);
  Eigen::VectorXd point = Eigen::Vector2d(1, 1);
  Eigen::VectorXd gradient = Eigen::Vector2d(3, 0);
  // g = (3, 0): h = (1 + 9, 1), j = (3/√10, 0).
  EXPECT_DOUBLE_EQ(adagrad.Step(/*l2=*/0, &gradient, &point).direction_norm,
                   3 / std::sqrt(10.0));
  EXPECT_TRUE(gradient.isZero(0));
  EXPECT_DOUBLE_EQ(point[0], 1 - 0.5 * 3 / std::sqrt(10.0));
  EXPECT_EQ(point[1], 1);
  // g = (1, 2): h = (10 + 1, 1 + 4), j = (1/√11, 2/√5).
  const double before = point[0];
  gradient = Eigen::Vector2d(1, 2);
  const AdaGradStep step = adagrad.Step(/*l2=*/0, &gradient, &point);
  EXPECT_DOUBLE_EQ(step.direction_norm, std::sqrt(1 / 11.0 + 4 / 5.0));
  EXPECT_DOUBLE_EQ(step.point_squared_norm, point.squaredNorm());
  EXPECT_DOUBLE_EQ(point[0], before - 0.5 / std::sqrt(11.0));
  EXPECT_DOUBLE_EQ(point[1], 1 - 0.5 * 2 / std::sqrt(5.0));
}

// As above, entry by entry, with a penalty: more entries than vectors of 4
// hold.
TEST(AdaGradTest, ManyEntriesFollowTheRecurrence) {
  constexpr int kSize = 35;
  constexpr double kL2 = 0.01;
  AdaGrad adagrad(kSize, /*step_size=*/0.5);
  RandomSequence random(SeedKey(1));
  Eigen::VectorXd point = Eigen::VectorXd::LinSpaced(kSize, -1, 1);
  Eigen::VectorXd expected = point;
  Eigen::VectorXd accumulator = Eigen::VectorXd::Ones(kSize);
  for (int step = 0; step < 20; ++step) {
    Eigen::VectorXd gradient(kSize);
    for (double& entry : gradient) entry = random.Normal();
    for (int j = 0; j < kSize; ++j) {
      const double g = gradient[j] + 2 * kL2 * expected[j];
      accumulator[j] += g * g;
      expected[j] -= 0.5 * g / std::sqrt(accumulator[j]);
    }
    adagrad.Step(kL2, &gradient, &point);
    EXPECT_LT((point - expected).norm(), 1e-13);
  }
}

TEST(AdaGradTest, PenaltyIsPartOfTheGradient) {
  // g + 2 μ w = (3, 0) + 2 · 0.25 · (2, 4) = (4, 2): the same as a step by (4,
  // 2).
  AdaGrad with_penalty(2, /*step_size=*/0.5);
  AdaGrad without(2, /*step_size=*/0.5);
  Eigen::VectorXd a = Eigen::Vector2d(2, 4);
  Eigen::VectorXd b = a;
  Eigen::VectorXd gradient = Eigen::Vector2d(3, 0);
  with_penalty.Step(/*l2=*/0.25, &gradient, &a);
  gradient = Eigen::Vector2d(4, 2);
  without.Step(/*l2=*/0, &gradient, &b);
  EXPECT_EQ(a, b);
}

TEST(AdaGradTest, SparseStepsMoveAsDenseOnesDo) {
  // 7 groups of 5 entries, which vectors of 4 do not divide; g is 0 except in
  // groups 1, 3 and 6.
  const std::vector<uint32_t> groups = {1, 3, 6};
  for (const ParameterFrame& frame :
       {ParameterFrame(),
        ParameterFrame{{}, Eigen::VectorXd::LinSpaced(35, 0.1, 9)}}) {
    AdaGrad dense(35, /*step_size=*/0.5, frame);
    AdaGrad sparse(35, /*step_size=*/0.5, frame);
    Eigen::VectorXd a = Eigen::VectorXd::LinSpaced(35, -1, 1);
    Eigen::VectorXd b = a;
    for (int step = 0; step < 3; ++step) {
      Eigen::VectorXd gradient = Eigen::VectorXd::Zero(35);
      for (const uint32_t group : groups) {
        gradient.segment<5>(5 * group) =
            Eigen::VectorXd::LinSpaced(5, -1.0 - step, 0.5 + group);
      }
      Eigen::VectorXd same = gradient;
      const AdaGradStep moved = dense.Step(/*l2=*/0, &gradient, &a);
      const AdaGradStep like =
          sparse.StepSparse(/*l2=*/0, {groups, 5}, &same, &b);
      EXPECT_NEAR(like.direction_norm, moved.direction_norm, 1e-13);
      EXPECT_TRUE(same.isZero(0));
      EXPECT_EQ(a, b);
    }
  }
}

// R(θ) = |θ_0 - 1| + (θ_1 - 2)² / 2. At λ = 1/2: θ = (1, 4/3), J = 1/4 + 0 +
// 4/9 + 2/9.
class RoofAndBowl : public BundledObjective {
 public:
  RoofAndBowl() : BundledObjective(2, 64) {}
  double Evaluate(const Eigen::VectorXd& point,
                  Eigen::VectorXd* gradient) const override {
    const Eigen::Vector2d slope(point[0] < 1 ? -1 : 1, point[1] - 2);
    const double risk = std::abs(point[0] - 1) + slope[1] * slope[1] / 2;
    RecordPlane(risk - slope.dot(point), slope);
    RecordPoint(point, risk);
    if (gradient != nullptr) *gradient = lambda() * point + slope;
    return Penalty(point) + risk;
  }
};

// Both phases of a descent from the origin at λ = 1/2.
DescentResult Descend(const DescentOptions& options, RoofAndBowl* objective,
                      const DescentWatcher& watcher = nullptr) {
  objective->SetLambda(0.5);
  CertifiedDescent descent(objective, Eigen::VectorXd::Zero(2), options,
                           watcher);
  EXPECT_OK(descent.Lbfgs("L-BFGS"));
  EXPECT_OK(descent.CuttingPlaneSteps());
  EXPECT_TRUE(descent.over());
  return std::move(descent).Finish();
}

constexpr double kMinimum = 0.25 + 4. / 9 + 2. / 9;

DescentOptions Options(double gap) {
  DescentOptions options;
  options.gap_tolerance = gap;
  return options;
}

TEST(CertifiedDescentTest, CuttingPlanesCloseWhatAKinkLeftOpen) {
  RoofAndBowl objective;
  const DescentResult result = Descend(Options(1e-9), &objective);
  EXPECT_LE(result.gap(), 1e-9) << result.termination;
  EXPECT_GE(result.objective, kMinimum - 1e-12);
  EXPECT_LE(result.dual_bound, kMinimum + 1e-12);
  EXPECT_NEAR(result.theta[0], 1, 1e-4);
  EXPECT_NEAR(result.theta[1], 4. / 3, 1e-4);
  EXPECT_EQ(result.evaluations, objective.evaluations());
  EXPECT_THAT(result.termination, HasSubstr("gap closed"));
}

// After the proof there are no more evaluations; a looser gap takes fewer.
TEST(CertifiedDescentTest, EndsAsSoonAsTheGapIsClosed) {
  uint32_t last = 0;
  for (const double gap : {1., 1e-2, 1e-4, 1e-8}) {
    RoofAndBowl objective;
    double gap_before_the_last_step = 0;
    double gap_at_the_end = HUGE_VAL;
    const DescentResult result =
        Descend(Options(gap), &objective, [&](const DescentResult& so_far) {
          gap_before_the_last_step = gap_at_the_end;
          gap_at_the_end = so_far.gap();
          return false;
        });
    EXPECT_LE(result.gap(), gap);
    EXPECT_GT(gap_before_the_last_step, gap);
    EXPECT_GT(result.evaluations, last);
    last = result.evaluations;
  }
}

TEST(CertifiedDescentTest, RelativeGapsAreSharesOfTheObjective) {
  RoofAndBowl objective;
  DescentOptions options = Options(0.01);
  options.relative = true;
  const DescentResult result = Descend(options, &objective);
  EXPECT_LE(result.gap(), 0.01 * result.objective);
}

TEST(CertifiedDescentTest, AStoppedDescentDoesNothingMore) {
  RoofAndBowl objective;
  objective.SetLambda(0.5);
  int told = 0;
  CertifiedDescent descent(&objective, Eigen::VectorXd::Zero(2), Options(1e-9),
                           [&](const DescentResult&) { return ++told == 2; });
  ASSERT_OK(descent.Lbfgs("L-BFGS"));
  EXPECT_TRUE(descent.over());
  const uint32_t evaluations = objective.evaluations();
  ASSERT_OK(descent.Lbfgs("again"));
  ASSERT_OK(descent.CuttingPlaneSteps());
  EXPECT_EQ(objective.evaluations(), evaluations);
  EXPECT_EQ(told, 2);
  const DescentResult result = std::move(descent).Finish();
  EXPECT_TRUE(result.stopped);
  EXPECT_THAT(result.termination, HasSubstr("stopped"));
}

// A second λ starts with the planes of the first: its bound holds before
// anything is evaluated.
TEST(CertifiedDescentTest, PlanesOutliveLambdaAndBestPointsDoNot) {
  RoofAndBowl objective;
  objective.SetLambda(0.5);
  objective.Evaluate(Eigen::Vector2d(0.9, 1.5), nullptr);
  objective.Evaluate(Eigen::Vector2d(1.1, 1.2), nullptr);
  EXPECT_LT(objective.best_value(), HUGE_VAL);
  objective.SetLambda(0.4);
  EXPECT_EQ(objective.best_value(), HUGE_VAL);
  const double bound = objective.LowerBound(1e-12).value;
  // θ = (1, 2 / 1.4): J = 0.2 + 0.2 θ_1² + (θ_1 - 2)² / 2.
  const double theta = 2 / 1.4;
  const double minimum =
      0.2 + 0.2 * theta * theta + (theta - 2) * (theta - 2) / 2;
  EXPECT_LE(bound, minimum + 1e-12);
  EXPECT_GT(bound, minimum - 0.2);
}

// f(w) = Σ (w_j - m_j)⁴ / 4, m = (1, -2, 3).
class Quartic : public Objective {
 public:
  Eigen::Index dimension() const override { return 3; }
  double Evaluate(const Eigen::VectorXd& point,
                  Eigen::VectorXd* gradient) const override {
    const Eigen::Array3d d = point.array() - Eigen::Array3d(1, -2, 3);
    if (gradient != nullptr) *gradient = d.cube().matrix();
    return d.pow(4).sum() / 4;
  }
};

const ParameterFrame kFrame{Eigen::Vector3d(0.5, 1, -1),
                            Eigen::Vector3d(2, 0.25, 10)};

TEST(ParameterFrameTest, GoesThereAndBack) {
  const Eigen::VectorXd w = Eigen::Vector3d(1.5, 2, 9);
  const Eigen::VectorXd v = Eigen::Vector3d(0.5, 4, 1);
  EXPECT_EQ(kFrame.Into(w), v);
  EXPECT_EQ(kFrame.From(v), w);
  EXPECT_EQ(kFrame.SquaredNorm(w), v.squaredNorm());
  EXPECT_EQ(ParameterFrame().SquaredNorm(w), w.squaredNorm());
}

TEST(ParameterFrameTest, ScalesUndoTheUnitOfAColumn) {
  // Rows (3, 7000), (4, 0), (0, 1000) and (0, 0); nothing in the third column.
  // Root mean squares √12.5 and 5000; 4 values in 4 rows.
  const Eigen::VectorXd scales =
      ScalesOf({Eigen::Vector3d(25, 50e6, 0), Eigen::Vector3d(2, 2, 0), 4});
  EXPECT_DOUBLE_EQ(scales[0], 1 / std::sqrt(12.5));
  EXPECT_DOUBLE_EQ(scales[1], 1 / 5000.0);
  EXPECT_EQ(scales[2], 1);
  // As long as 1 in the mean: (9 + 16) / 12.5 + (49 + 1) / 25 = 4 over 4 rows.
  // With a quarter of the rows there are 4 values in a row.
  EXPECT_DOUBLE_EQ(
      ScalesOf({Eigen::Vector3d(25, 50e6, 0), Eigen::Vector3d(2, 2, 0), 1})[1],
      1 / 10000.0);
}

TEST(FramedObjectiveTest, IsTheSumOfItsPartsWithItsGradient) {
  const Quartic risk;
  const Quartic pull;
  const FramedObjective objective(
      {.risk = &risk, .unit = 0.5, .pull = &pull, .pull_weight = 3, .l2 = 0.2},
      &kFrame);
  const Eigen::VectorXd v = Eigen::Vector3d(0.3, -1, 0.2);
  const double f = risk.Evaluate(kFrame.From(v), nullptr);
  EXPECT_NEAR(objective.Evaluate(v, nullptr), 5 * f + 0.2 * v.squaredNorm(),
              1e-12 * f);
  Eigen::VectorXd gradient(3);
  objective.Evaluate(v, &gradient);
  EXPECT_LT((gradient - CentralDifferences(objective, v)).norm(),
            1e-6 * gradient.norm());
}

// The steps in w with the frame are those of v without it.
TEST(FramedAdaGradTest, MovesAsTheCoordinatesDo) {
  const Quartic risk;
  constexpr double kL2 = 0.1;
  const FramedObjective in_frame({.risk = &risk, .l2 = kL2}, &kFrame);
  AdaGrad framed(3, /*step_size=*/0.3, kFrame);
  AdaGrad plain(3, /*step_size=*/0.3);
  Eigen::VectorXd w = Eigen::Vector3d(0.5, -1, 4);
  Eigen::VectorXd v = kFrame.Into(w);
  for (int step = 0; step < 20; ++step) {
    Eigen::VectorXd gradient(3);
    risk.Evaluate(w, &gradient);
    const AdaGradStep one = framed.Step(kL2, &gradient, &w);
    in_frame.Evaluate(v, &gradient);
    const AdaGradStep two = plain.Step(/*l2=*/0, &gradient, &v);
    EXPECT_NEAR(one.direction_norm, two.direction_norm, 1e-12);
    EXPECT_NEAR(one.point_squared_norm, w.squaredNorm(), 1e-12);
    EXPECT_LT((kFrame.From(v) - w).norm(), 1e-12);
  }
}

class DenseRows : public RidgeRows {
 public:
  explicit DenseRows(Eigen::MatrixXd z) : z_(std::move(z)) {}
  Eigen::Index rows() const override { return z_.rows(); }
  Eigen::Index columns() const override { return z_.cols(); }
  void Multiply(const Eigen::VectorXd& v,
                Eigen::VectorXd* products) const override {
    *products = z_ * v;
  }
  void AddTransposed(const Eigen::VectorXd& factors,
                     Eigen::VectorXd* sum) const override {
    *sum += z_.transpose() * factors;
  }
  void AddSquares(Eigen::VectorXd* sum) const override {
    *sum += z_.cwiseAbs2().colwise().sum().transpose();
  }

 private:
  Eigen::MatrixXd z_;
};

Eigen::MatrixXd RandomMatrix(int rows, int columns, uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  return Eigen::MatrixXd::NullaryExpr(rows, columns,
                                      [&] { return random.Normal(); });
}

TEST(RidgeTest, OneColumnIsTheFormula) {
  // v = Σ z t / (Σ z² + penalty) = (1·1 + 2·3) / (5 + 2) = 1.
  const DenseRows rows(Eigen::Vector2d(1, 2));
  const Eigen::VectorXd penalty = Eigen::VectorXd::Constant(1, 2);
  EXPECT_NEAR(SolveRidge(rows, Eigen::Vector2d(1, 3), penalty)[0], 1, 1e-15);
  EXPECT_NEAR(
      internal::SolveRidgeByGradients(rows, Eigen::Vector2d(1, 3), penalty)[0],
      1, 1e-12);
}

// The gradient of the sum, Zᵀ(Zv - t) + penalties∘v, is 0 at its minimum.
TEST(RidgeTest, BothSolversEndWhereTheGradientIsZero) {
  Eigen::MatrixXd z = RandomMatrix(200, 40, 1);
  z.col(3) *= 1e4;  // Scales that differ, as features do.
  z.col(7) *= 1e-3;
  const Eigen::VectorXd targets = RandomMatrix(200, 1, 2);
  Eigen::VectorXd penalties = Eigen::VectorXd::Constant(40, 0.5);
  penalties[39] = 0;
  const DenseRows rows(z);
  const Eigen::VectorXd direct =
      internal::SolveRidgeDirectly(rows, targets, penalties);
  const Eigen::VectorXd iterated =
      internal::SolveRidgeByGradients(rows, targets, penalties);
  const Eigen::VectorXd right = z.transpose() * targets;
  for (const Eigen::VectorXd& v : {direct, iterated}) {
    const Eigen::VectorXd gradient =
        z.transpose() * (z * v) + penalties.cwiseProduct(v) - right;
    EXPECT_LT(gradient.norm(), 1e-9 * right.norm());
  }
  EXPECT_LT((direct - iterated).norm(), 1e-6 * direct.norm());
}

TEST(RidgeTest, ManyColumnsAreSolvedByGradients) {
  const Eigen::Index d = kMaxDirectColumns + 50;
  const Eigen::MatrixXd z = RandomMatrix(100, static_cast<int>(d), 3);
  const Eigen::VectorXd targets = RandomMatrix(100, 1, 4);
  const Eigen::VectorXd penalties = Eigen::VectorXd::Constant(d, 1);
  const Eigen::MatrixXd normal =
      z.transpose() * z + Eigen::MatrixXd::Identity(d, d);
  const Eigen::VectorXd expected = normal.llt().solve(z.transpose() * targets);
  EXPECT_LT((SolveRidge(DenseRows(z), targets, penalties) - expected).norm(),
            1e-8 * expected.norm());
}

TEST(RidgeTest, AColumnThatIsNeverThereGetsNoWeight) {
  Eigen::MatrixXd z = RandomMatrix(20, 3, 5);
  z.col(1).setZero();
  const Eigen::VectorXd targets = RandomMatrix(20, 1, 6);
  const Eigen::VectorXd penalties = Eigen::VectorXd::Zero(3);
  const DenseRows rows(z);
  for (const Eigen::VectorXd& v :
       {internal::SolveRidgeDirectly(rows, targets, penalties),
        internal::SolveRidgeByGradients(rows, targets, penalties)}) {
    EXPECT_TRUE(v.allFinite());
    EXPECT_EQ(v[1], 0);
    EXPECT_GT(v.norm(), 0);
  }
}

}  // namespace
}  // namespace sortition
