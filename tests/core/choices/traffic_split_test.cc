#include "core/choices/traffic_split.h"

#include <array>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/core/choices/choice_case.h"
#include "tests/core/invalid.h"
#include "tests/testing/chi_square.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::HasSubstr;

model::v1::Split Assigned(const std::map<uint64_t, uint32_t>& places,
                          model::v1::Split split = {}) {
  EXPECT_OK(AssignPlaces(places, &split));
  split.set_salt(kSalt);
  EXPECT_OK(ValidateSplit(split));
  return split;
}

// The version of each place; 0: none.
std::vector<uint64_t> VersionsOf(const model::v1::Split& split) {
  std::vector<uint64_t> versions;
  for (uint32_t place = 0; place < kSplitPlaces; ++place) {
    const int arm = ArmAt(split, place);
    versions.push_back(arm < 0 ? 0 : split.arms(arm).version());
  }
  return versions;
}

TEST(TrafficSplitTest, EachVersionHasItsPlaces) {
  const model::v1::Split split = Assigned({{7, 100}, {9, 2500}, {8, 0}});
  ASSERT_EQ(split.arms_size(), 2);
  EXPECT_EQ(PlacesOf(split.arms(0)), 100u);
  EXPECT_EQ(PlacesOf(split.arms(1)), 2500u);
  EXPECT_EQ(FreePlaces(split), 7400u);
  const std::vector<uint64_t> versions = VersionsOf(split);
  EXPECT_EQ(std::count(versions.begin(), versions.end(), 7), 100);
  EXPECT_EQ(std::count(versions.begin(), versions.end(), 9), 2500);
  EXPECT_EQ(Assigned({}).arms_size(), 0);
  EXPECT_EQ(FreePlaces(Assigned({{1, 10000}})), 0u);
}

// Whoever has come to a version stays there while its share grows, whatever the
// other shares do as long as there is room.
TEST(TrafficSplitTest, AShareThatGrowsKeepsItsPlaces) {
  model::v1::Split split = Assigned({{7, 100}, {8, 300}});
  for (const auto& [seven, eight] : std::vector<std::pair<uint32_t, uint32_t>>{
           {1000, 300}, {1000, 200}, {5000, 5000}, {9000, 1000}, {100, 0}}) {
    const std::vector<uint64_t> before = VersionsOf(split);
    split = Assigned({{7, seven}, {8, eight}}, split);
    const std::vector<uint64_t> after = VersionsOf(split);
    for (const uint64_t version : {7, 8}) {
      const auto had = std::count(before.begin(), before.end(), version);
      const auto has = std::count(after.begin(), after.end(), version);
      EXPECT_EQ(has, version == 7 ? seven : eight);
      int64_t stayed = 0;
      for (size_t i = 0; i < before.size(); ++i) {
        stayed += before[i] == version && after[i] == version;
      }
      EXPECT_EQ(stayed, std::min(had, has));
    }
  }
}

TEST(TrafficSplitTest, RefusesWhatIsNoSplit) {
  model::v1::Split split;
  EXPECT_THAT(AssignPlaces({{1, 6000}, {2, 4001}}, &split),
              IsInvalid(HasSubstr("10001 places of 10,000")));
  split = Assigned({{1, 10}, {2, 20}});
  split.mutable_arms(1)->mutable_ranges(0)->set_begin(5);
  EXPECT_THAT(ValidateSplit(split), IsInvalid(HasSubstr("has two arms")));
  split = Assigned({{1, 10}, {2, 20}});
  split.mutable_arms(1)->set_version(1);
  EXPECT_FALSE(ValidateSplit(split).ok());
  split = Assigned({{1, 10}});
  split.mutable_arms(0)->mutable_ranges(0)->set_end(10001);
  EXPECT_FALSE(ValidateSplit(split).ok());
  split.mutable_arms(0)->clear_ranges();
  EXPECT_FALSE(ValidateSplit(split).ok());
  split = Assigned({{1, 10}});
  split.clear_salt();
  EXPECT_THAT(ValidateSplit(split), IsInvalid(HasSubstr("split.salt")));
}

// A right one fails with probability 1e-6 (fixed ids).
TEST(TrafficSplitTest, PlacesAreUniform) {
  std::vector<uint64_t> of_units(100);
  std::vector<uint64_t> of_ids(100);
  for (int i = 0; i < 100000; ++i) {
    const std::string name = absl::StrCat("name", i);
    ++of_units[SplitPlace("m", kSalt, name, "d") / 100];
    ++of_ids[SplitPlace("m", kSalt, "", name) / 100];
  }
  const std::vector<double> uniform(100, 0.01);
  EXPECT_GT(ChiSquarePValue(of_units, uniform), 1e-6);
  EXPECT_GT(ChiSquarePValue(of_ids, uniform), 1e-6);
}

TEST(TrafficSplitTest, AUnitHasOnePlaceWhateverTheDecision) {
  std::set<uint32_t> places;
  std::set<uint32_t> without_unit;
  for (int i = 0; i < 100; ++i) {
    places.insert(SplitPlace("m", kSalt, "anna", absl::StrCat(i)));
    without_unit.insert(SplitPlace("m", kSalt, "", absl::StrCat(i)));
  }
  EXPECT_EQ(places.size(), 1u);
  EXPECT_GT(without_unit.size(), 90u);
}

// Who is where under one salt, model or kind of name says nothing of another.
TEST(TrafficSplitTest, OtherSaltsModelsAndNamesAreIndependent) {
  constexpr char kOther[] = "fedcba9876543210fedcba9876543210";
  std::array<std::vector<uint64_t>, 3> tables;
  for (auto& table : tables) table.resize(100);
  for (int i = 0; i < 50000; ++i) {
    const std::string name = absl::StrCat("name", i);
    const uint32_t row = SplitPlace("m", kSalt, name, "") / 1000 * 10;
    ++tables[0][row + SplitPlace("m", kOther, name, "") / 1000];
    ++tables[1][row + SplitPlace("other", kSalt, name, "") / 1000];
    ++tables[2][row + SplitPlace("m", kSalt, "", name) / 1000];
  }
  const std::vector<double> uniform(100, 0.01);
  for (const auto& table : tables) {
    EXPECT_GT(ChiSquarePValue(table, uniform), 1e-6);
  }
}

}  // namespace
}  // namespace sortition
