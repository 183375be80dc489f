#include "core/optim/idle_steps.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/random.h"
#include "core/optim/adagrad.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

struct Entry {
  double v = 0;
  double h = 1;
  double longest = 0;  // The largest |v| on the way.
};

// The definition: one step after the other.
Entry StepByStep(double step_size, double l2, uint32_t count, Entry entry) {
  for (uint32_t i = 0; i < count; ++i) {
    entry.longest = std::max(entry.longest, std::abs(entry.v));
    const double gradient = 2 * l2 * entry.v;
    entry.h += gradient * gradient;
    entry.v -= step_size * gradient / std::sqrt(entry.h);
  }
  return entry;
}

TEST(IdleStepsTest, ManyAtOnceEndWhereOneByOneDo) {
  // From penalties that hardly move anything to those with η 2 μ / √h near 1
  // (v is 0 at once) and 2 (v changes its sign for ever), and beyond.
  double largest = 0;
  for (const double l2 : {1e-9, 1e-6, 1e-4, 1e-3, 1e-2, 0.1, 0.5, 1.0, 3.0}) {
    for (const double step_size : {0.1, 1.0, 7.0}) {
      for (const double v : {1e-12, -1e-5, 1e-3, 0.05, -1.0, 30.0}) {
        for (const double h : {1.0, 40.0}) {
          for (const uint32_t count : {1u, 3u, 117u, 20000u}) {
            const Entry slow = StepByStep(step_size, l2, count, {v, h});
            Entry fast = {v, h};
            internal::MakeIdleSteps(step_size, l2, count, &fast.v, &fast.h);
            const double error = std::abs(fast.v - slow.v) / slow.longest;
            largest = std::max(largest, error);
            EXPECT_LT(error, 1e-8) << "l2 " << l2 << ", step " << step_size
                                   << ", v " << v << ", h " << h << ", count "
                                   << count << ": " << fast.v << ", " << slow.v;
            EXPECT_NEAR(fast.h / slow.h, 1, 1e-8)
                << l2 << " " << step_size << " " << v << " " << h << " "
                << count;
          }
        }
      }
    }
  }
  // It is not exact: were it 0, nothing would have been made at once.
  EXPECT_GT(largest, 0);
}

TEST(IdleStepsTest, SmallDecaysAreExactUpToTheTermsLeftOut) {
  // n a up to 1e-3 and a growth of h up to 1e-6, in groups of five: four at
  // once and one.
  constexpr uint32_t kSize = 5;
  constexpr uint32_t kGroup = 0;
  for (const double decay : {1e-9, 1e-6, 1e-4, 9e-4}) {
    for (const double growth : {1e-12, 1e-8, 9e-7}) {
      for (const uint32_t count : {1u, 3u, 117u, 20000u}) {
        const double l2 = decay / count / 2;
        const double v = std::sqrt(growth / count) / (2 * l2);
        const Entry slow = StepByStep(/*step_size=*/1, l2, count, {v, 1});
        std::vector<double> point(kSize, v);
        std::vector<double> accumulator(kSize, 1);
        std::vector<uint32_t> done = {2};
        CatchUp({.l2 = l2,
                 .accumulator = accumulator.data(),
                 .point = point.data()},
                {{&kGroup, 1}, kSize}, 2 + count, done);
        EXPECT_EQ(done[0], 2 + count);
        for (uint32_t k = 0; k < kSize; ++k) {
          EXPECT_NEAR(point[k] / slow.v, 1, 5e-12) << decay << " " << growth;
          EXPECT_NEAR(accumulator[k] / slow.h, 1, 5e-12)
              << decay << " " << growth;
          EXPECT_EQ(point[k], point[0]);
          EXPECT_EQ(accumulator[k], accumulator[0]);
        }
      }
    }
  }
}

TEST(IdleStepsTest, NothingMovesAtTheOriginAndBadNumbersStay) {
  for (const double v : {0.0, HUGE_VAL, std::nan("")}) {
    double end = v;
    double h = 2;
    internal::MakeIdleSteps(1, 0.1, 1000, &end, &h);
    EXPECT_EQ(h, 2);
    EXPECT_TRUE(end == v || std::isnan(v));
  }
}

// A descent whose gradients are 0 outside a few random groups.
class SparseDescentTest : public testing::TestWithParam<uint32_t> {
 protected:
  static constexpr uint32_t kGroups = 12;

  // Returns the largest difference between the dense and the sparse descent,
  // relative to the longest entry.
  double LargestDifference(double l2, const ParameterFrame& frame) {
    const uint32_t size = GetParam();
    const Eigen::Index dimension = kGroups * size;
    RandomSequence random(SeedKey(3));
    AdaGrad dense(dimension, /*step_size=*/0.5, frame);
    AdaGrad sparse(dimension, /*step_size=*/0.5, frame);
    Eigen::VectorXd a = Eigen::VectorXd::Zero(dimension);
    Eigen::VectorXd b = a;
    for (int step = 0; step < 600; ++step) {
      // Some groups are idle for hundreds of steps.
      std::vector<uint32_t> groups;
      for (uint32_t group = 0; group < kGroups; ++group) {
        const double share = step % 300 == 0 ? 1 : std::exp2(-1.0 * group);
        if (random.Uniform() < share) groups.push_back(group);
      }
      Eigen::VectorXd gradient = Eigen::VectorXd::Zero(dimension);
      for (const uint32_t group : groups) {
        for (uint32_t k = 0; k < size; ++k) {
          gradient[group * size + k] = random.Normal();
        }
      }
      Eigen::VectorXd same = gradient;
      dense.Step(l2, &gradient, &a);
      sparse.CatchUp(l2, {groups, size}, &b);
      sparse.StepSparse(l2, {groups, size}, &same, &b);
      if (step == 400) sparse.CatchUpAll(l2, &b);
    }
    sparse.CatchUpAll(l2, &b);
    const double difference =
        (a - b).cwiseAbs().maxCoeff() / a.cwiseAbs().maxCoeff();
    // Another step without a gradient.
    Eigen::VectorXd gradient = Eigen::VectorXd::Zero(dimension);
    EXPECT_NEAR(sparse.IdleDirectionNorm(l2, {}, b),
                dense.Step(l2, &gradient, &a).direction_norm, 1e-8);
    return difference;
  }
};

TEST_P(SparseDescentTest, EndsWhereDenseStepsEnd) {
  for (const double l2 : {1e-6, 1e-3, 0.05, 1.0}) {
    EXPECT_LT(LargestDifference(l2, {}), 1e-8) << l2;
  }
}

TEST_P(SparseDescentTest, EndsWhereDenseStepsEndInAFrame) {
  const Eigen::Index dimension = kGroups * GetParam();
  const ParameterFrame frame = {
      .origin = Eigen::VectorXd::LinSpaced(dimension, -1, 2),
      .scales = Eigen::VectorXd::LinSpaced(dimension, 0.1, 5)};
  for (const double l2 : {1e-6, 1e-3, 0.05, 1.0}) {
    EXPECT_LT(LargestDifference(l2, frame), 1e-8) << l2;
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, SparseDescentTest,
                         testing::Values(1, 3, 4, 6, 8));

}  // namespace
}  // namespace sortition
