// The top of a list, whichever way it is found: as if all were sorted.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "core/base/random.h"
#include "core/policies/distributions/ranking_distribution.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

std::vector<int32_t> TopOfSorted(std::span<const double> keys, uint32_t top_k) {
  std::vector<int32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return keys[a] > keys[b]; });
  order.resize(top_k);
  return order;
}

void ExpectTop(std::span<const double> keys) {
  const auto n = static_cast<uint32_t>(keys.size());
  for (const uint32_t top_k : {1u, 2u, 7u, 10u, 15u, 16u, 17u, 64u, 65u, n}) {
    if (top_k > n) continue;
    std::vector<int32_t> order = {7, 7, 7};
    SortTop(keys, top_k, &order);
    ASSERT_EQ(order, TopOfSorted(keys, top_k)) << n << " keys, " << top_k;
  }
}

TEST(SortTopTest, IsThatOfASort) {
  RandomSequence random(SeedKey(5));
  std::vector<double> keys;
  for (const size_t n : {1, 2, 10, 15, 16, 17, 31, 48, 49, 100, 333, 1000}) {
    keys.resize(n);
    for (int i = 0; i < 50; ++i) {
      for (double& key : keys) key = random.Normal();
      ExpectTop(keys);
      // With ever more ties.
      for (double& key : keys) key = std::floor(key * (50 - i) / 5);
      ExpectTop(keys);
    }
    std::sort(keys.begin(), keys.end());
    ExpectTop(keys);
    std::reverse(keys.begin(), keys.end());
    ExpectTop(keys);
    std::fill(keys.begin(), keys.end(), 3);
    ExpectTop(keys);
    std::fill(keys.begin(), keys.end(), -HUGE_VAL);
    keys[n / 2] = HUGE_VAL;
    ExpectTop(keys);
  }
}

TEST(SortTopTest, FindsPositionsAlsoAmongWhatIsNoNumber) {
  const std::vector<double> keys(20, std::nan(""));
  std::vector<int32_t> order;
  SortTop(keys, 10, &order);
  std::sort(order.begin(), order.end());
  EXPECT_EQ(std::unique(order.begin(), order.end()), order.end());
  EXPECT_THAT(order,
              testing::Each(testing::AllOf(testing::Ge(0), testing::Lt(20))));
}

}  // namespace
}  // namespace sortition
