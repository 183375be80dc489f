#include "core/learners/orders/level_subsets.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/chi_square.h"

namespace sortition {
namespace {

using ::testing::ElementsAre;

std::set<uint32_t> LevelsOf(std::span<const uint32_t> relevances,
                            const std::vector<uint32_t>& items) {
  std::set<uint32_t> levels;
  for (const uint32_t item : items) levels.insert(relevances[item]);
  return levels;
}

// All subsets that have every level, by their bits.
std::vector<std::vector<uint32_t>> SubsetsWithAllLevels(
    const std::vector<uint32_t>& relevances, size_t size) {
  std::vector<uint32_t> all(relevances.size());
  std::iota(all.begin(), all.end(), 0u);
  const std::set<uint32_t> levels = LevelsOf(relevances, all);
  std::vector<std::vector<uint32_t>> subsets;
  for (uint32_t bits = 0; bits < 1u << relevances.size(); ++bits) {
    std::vector<uint32_t> items;
    for (const uint32_t i : all) {
      if ((bits >> i & 1) != 0) items.push_back(i);
    }
    if (items.size() == size && LevelsOf(relevances, items) == levels) {
      subsets.push_back(items);
    }
  }
  return subsets;
}

TEST(LevelSubsetsTest, DrawsAreUniformOverSubsetsOfAllLevels) {
  for (const std::vector<uint32_t>& relevances :
       {std::vector<uint32_t>{0, 2, 0, 0, 1, 0, 1, 0},
        std::vector<uint32_t>{3, 3, 3, 3, 3, 3, 3, 0},
        std::vector<uint32_t>{1, 1, 1, 1, 1, 1},
        std::vector<uint32_t>{5, 0, 5, 1, 0, 1, 2, 2}}) {
    constexpr size_t kSize = 4;
    constexpr int kDraws = 40000;
    const auto subsets = SubsetsWithAllLevels(relevances, kSize);
    std::map<std::vector<uint32_t>, size_t> index;
    for (size_t s = 0; s < subsets.size(); ++s) index[subsets[s]] = s;
    LevelSubsets draws(relevances, kSize);
    ASSERT_EQ(draws.size(), kSize);
    RandomSequence random(SeedKey(1));
    std::vector<uint64_t> counts(subsets.size());
    std::vector<uint32_t> items(kSize);
    for (int draw = 0; draw < kDraws; ++draw) {
      draws.Draw(&random, items);
      std::vector<uint32_t> sorted = items;
      std::sort(sorted.begin(), sorted.end());
      const auto found = index.find(sorted);
      ASSERT_NE(found, index.end()) << "a level is missing, or an item twice";
      ++counts[found->second];
    }
    const std::vector<double> expected(subsets.size(),
                                       1 / static_cast<double>(subsets.size()));
    EXPECT_GT(ChiSquarePValue(counts, expected), 1e-4);
  }
}

// Items 3 and 700 are the only ones of their levels, so they are in every
// subset; of all subsets only 0.6 % hold a given item.
TEST(LevelSubsetsTest, RareLevelsAreInEverySubset) {
  std::vector<uint32_t> relevances(1000, 0);
  relevances[700] = 2;
  relevances[3] = 1;
  LevelSubsets draws(relevances, 6);
  RandomSequence random(SeedKey(2));
  std::vector<uint32_t> items(6);
  for (int draw = 0; draw < 1000; ++draw) {
    draws.Draw(&random, items);
    EXPECT_THAT(items, testing::IsSupersetOf({3u, 700u}));
    EXPECT_EQ(std::set<uint32_t>(items.begin(), items.end()).size(), 6u);
  }
}

TEST(LevelSubsetsTest, FewItemsAreAllDrawn) {
  const std::vector<uint32_t> relevances = {1, 0, 2};
  LevelSubsets draws(relevances, 6);
  EXPECT_TRUE(draws.all());
  std::vector<uint32_t> items(draws.size());
  RandomSequence random(SeedKey(3));
  draws.Draw(&random, items);
  EXPECT_THAT(items, ElementsAre(0, 1, 2));
}

// As many levels as places: one candidate of each.
TEST(LevelSubsetsTest, LevelsMayFillTheSubset) {
  const std::vector<uint32_t> relevances = {0, 0, 1, 1, 2, 2, 7};
  LevelSubsets draws(relevances, 4);
  EXPECT_EQ(CountLevels(relevances), 4u);
  std::vector<uint32_t> items(4);
  RandomSequence random(SeedKey(4));
  for (int draw = 0; draw < 50; ++draw) {
    draws.Draw(&random, items);
    EXPECT_EQ(LevelsOf(relevances, items).size(), 4u);
  }
}

}  // namespace
}  // namespace sortition
