#include "core/counterfactual/evaluation/unit_sizes.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/base/hash.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

uint64_t Unit(uint64_t number) { return UnitKey(std::to_string(number), ""); }

TEST(UnitSizesTest, SharesAreExactForFewUnits) {
  constexpr uint64_t kUnits = 400;
  UnitSizes sizes;
  uint64_t decisions = 0;
  for (uint64_t unit = 0; unit < kUnits; ++unit) {
    for (uint64_t i = 0; i <= unit; ++i) sizes.Add(Unit(unit));
    decisions += unit + 1;
  }
  EXPECT_EQ(sizes.num_units(), kUnits);
  EXPECT_EQ(sizes.num_decisions(), decisions);
  for (uint64_t unit = 0; unit < kUnits; ++unit) {
    // √400 / 2 = 10.
    EXPECT_DOUBLE_EQ(sizes.ShareOf(Unit(unit)),
                     std::min(1.0, 10 / static_cast<double>(unit + 1)));
  }
}

// So few that each counts as one decision.
TEST(UnitSizesTest, AUnitCountsAsOneDecisionAtLeast) {
  UnitSizes sizes;
  for (int i = 0; i < 4; ++i) sizes.Add(Unit(1));
  sizes.Add(Unit(2));
  EXPECT_DOUBLE_EQ(sizes.ShareOf(Unit(1)), 0.25);
  EXPECT_DOUBLE_EQ(sizes.ShareOf(Unit(2)), 1);
}

// Linear counting has a relative error of some 0.2 % here, leading zeros one of
// 1.04 / √16384 = 0.8 %: five of them.
// 36 units of one decision, 4 hashed to a group each: √36 / 2 = 3 decisions of
// each could be there, or 2 where none has more.
TEST(UnitSizesTest, LargestGroupDoesNotDependOnTheSizesSeen) {
  UnitSizes sizes;
  for (uint64_t unit = 0; unit < 36; ++unit) {
    sizes.Add(unit % 4 * 16 + unit / 4);
  }
  EXPECT_NEAR(sizes.LargestGroup(16), 4 * 3, 1e-3);
  EXPECT_DOUBLE_EQ(sizes.LargestGroup(16, 2), 4 * 2);
  EXPECT_DOUBLE_EQ(sizes.LargestGroup(1 << 20, 1), 1);
  for (int i = 0; i < 3; ++i) sizes.Add(0);
  EXPECT_DOUBLE_EQ(sizes.ShareOf(0, 2), 0.5);
  EXPECT_DOUBLE_EQ(sizes.LargestGroup(16, 2), 4 * 2);
}

TEST(UnitSizesTest, CountsAnyNumberOfUnits) {
  for (const uint64_t num_units : {100000u, 1500000u, 3000000u}) {
    UnitSizes sizes;
    for (uint64_t i = 0; i < num_units; ++i) sizes.Add(Unit(i));
    EXPECT_NEAR(static_cast<double>(sizes.num_units()),
                static_cast<double>(num_units),
                0.041 * static_cast<double>(num_units));
    // Collisions do not weigh single decisions down.
    EXPECT_EQ(sizes.ShareOf(Unit(0)), 1);
  }
}

TEST(UnitSizesTest, PartsMergeToTheWhole) {
  UnitSizes whole;
  UnitSizes parts[2];
  for (uint64_t i = 0; i < 3000; ++i) {
    const uint64_t unit = Unit(i % 13 * (i % 7));
    whole.Add(unit);
    parts[i % 2].Add(unit);
  }
  parts[0].Merge(parts[1]);
  EXPECT_EQ(parts[0].num_units(), whole.num_units());
  EXPECT_EQ(parts[0].num_decisions(), whole.num_decisions());
  EXPECT_LT(whole.ShareOf(Unit(0)), 0.01);
  for (uint64_t unit = 0; unit < 13; ++unit) {
    EXPECT_EQ(parts[0].ShareOf(Unit(unit)), whole.ShareOf(Unit(unit)));
  }
}

}  // namespace
}  // namespace sortition
