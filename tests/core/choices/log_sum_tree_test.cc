// Draws without replacement against sums of long doubles.
#include "core/choices/log_sum_tree.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <vector>

#include "core/base/random.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

// log exp(l_i) / Σ exp(l_j) over those that are left.
double ExactLogShare(const std::vector<double>& scores, double alpha,
                     const std::set<size_t>& left, size_t i) {
  long double sum = 0;
  for (const size_t j : left) {
    const double logit = alpha * scores[j];
    sum += std::exp(static_cast<long double>(logit) - alpha * scores[i]);
  }
  return static_cast<double>(-std::log(sum));
}

// Of all sizes up to some powers of two, in an order of removal that does not
// depend on the scores; these are spread so that most sums are of one term.
TEST(LogSumTreeTest, SharesAreExactWhileCandidatesLeave) {
  RandomSequence random(SeedKey(5));
  LogSumTree tree;
  for (size_t n = 1; n <= 33; ++n) {
    for (const double spread : {0.5, 30.0, 5000.0}) {
      std::vector<double> scores;
      std::set<size_t> left;
      for (size_t i = 0; i < n; ++i) {
        scores.push_back(spread * random.Normal());
        left.insert(i);
      }
      tree.Assign(scores, 1.5);
      while (!left.empty()) {
        for (const size_t i : left) {
          const double exact = ExactLogShare(scores, 1.5, left, i);
          // Larger differences overflow a long double.
          if (!std::isfinite(exact)) continue;
          EXPECT_NEAR(tree.LogShare(i), exact,
                      1e-13 * std::max(1.0, std::abs(exact)))
              << n;
        }
        const auto gone = std::next(
            left.begin(), static_cast<ptrdiff_t>(random.Below(left.size())));
        tree.Remove(*gone);
        left.erase(gone);
      }
    }
  }
}

// A share of nearly 1: what it lacks keeps its precision.
TEST(LogSumTreeTest, WhatIsNearlyCertainDoesNotCancel) {
  LogSumTree tree;
  tree.Assign(std::vector<double>{0, 1e4, -40, 1e4 - 60}, 1);
  EXPECT_NEAR(tree.LogShare(1) / -std::exp(-60.0), 1, 1e-12);
  tree.Remove(1);
  EXPECT_EQ(tree.LogShare(3), 0);
  tree.Remove(3);
  // Nothing is left of the sizes that were there before.
  EXPECT_NEAR(tree.LogShare(0) / -std::exp(-40.0), 1, 1e-12);
  EXPECT_NEAR(tree.LogShare(2), -40, 1e-12);
}

// Places on a fine grid: each candidate has its share of them, to a cell at
// each of its ends.
TEST(LogSumTreeTest, PlacesAreSharedOutInOrder) {
  const std::vector<double> scores = {0.3, -1, 2, 0, 1.1, -4, 0.3};
  LogSumTree tree;
  tree.Assign(scores, 0.7);
  tree.Remove(3);
  constexpr int kCells = 200'000;
  std::vector<int> counts(scores.size());
  size_t last = 0;
  for (int c = 0; c < kCells; ++c) {
    const size_t i = tree.Draw((c + 0.5) / kCells);
    ASSERT_GE(i, last);
    last = i;
    ++counts[i];
  }
  EXPECT_EQ(counts[3], 0);
  for (const size_t i : {0, 1, 2, 4, 5, 6}) {
    EXPECT_NEAR(counts[i], kCells * std::exp(tree.LogShare(i)), 1.001) << i;
  }
}

TEST(LogSumTreeTest, TheLastIsDrawnAtEveryPlace) {
  LogSumTree tree;
  for (const size_t n : {size_t{1}, size_t{5}, size_t{8}}) {
    for (size_t kept = 0; kept < n; ++kept) {
      std::vector<double> scores(n, -300);
      scores[kept] = 1e9;
      tree.Assign(scores, 1);
      // Against its weight the others have none, also before they leave.
      for (const double place : {0.0, 0.5, 1 - 0x1p-53}) {
        EXPECT_EQ(tree.Draw(place), kept);
      }
      for (size_t i = 0; i < n; ++i) {
        if (i != kept) tree.Remove(i);
      }
      for (const double place : {0.0, 0.5, 1 - 0x1p-53}) {
        EXPECT_EQ(tree.Draw(place), kept);
      }
      EXPECT_EQ(tree.LogShare(kept), 0);
    }
  }
}

}  // namespace
}  // namespace sortition
