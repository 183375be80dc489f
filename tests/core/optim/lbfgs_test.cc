#include "core/optim/lbfgs.h"

#include <cmath>
#include <limits>

#include "tests/core/invalid.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using config::v1::LbfgsOptions;
using ::testing::HasSubstr;

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
              IsInvalid(HasSubstr("start has 2 entries, must have 1")));
  EXPECT_THAT(MinimizeByLbfgs(minus_log, Eigen::VectorXd::Constant(1, -1),
                              LbfgsOptions(), nullptr),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("not finite")));
}

}  // namespace
}  // namespace sortition
