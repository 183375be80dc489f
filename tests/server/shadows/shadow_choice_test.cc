// Which decisions a version looks on at: a share of them, independent of all
// else that is drawn about a decision.
#include "server/shadows/shadow_choice.h"

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "core/choices/baseline_choice.h"
#include "core/choices/traffic_split.h"
#include "gtest/gtest.h"
#include "tests/server/shadows/shadows_fixture.h"
#include "tests/testing/chi_square.h"

namespace sortition {
namespace {

constexpr int kIds = 40'000;
// Each of the 11 p-values is below it by chance once in 100,000 programs; the
// ids are fixed, so that a test passes always or never.
constexpr double kLeastP = 1e-6;

std::string Id(int i) { return absl::StrCat("id-", i); }

ServingSet::Shadow ShadowOf(uint64_t version, uint32_t every) {
  return {ServedVersion(version, MakeSelectModel("m", {1, 2})), every};
}

TEST(ShadowChoiceTest, LooksOnAtOneInSoMany) {
  for (const uint32_t every : {2u, 7u, 100u}) {
    const ServingSet::Shadow shadow = ShadowOf(7, every);
    std::array<uint64_t, 2> counts = {};
    for (int i = 0; i < kIds; ++i) ++counts[LooksOn(shadow, Id(i)) ? 1 : 0];
    const double p = 1.0 / every;
    EXPECT_GT(ChiSquarePValue(counts, std::array{1 - p, p}), kLeastP) << every;
  }
}

TEST(ShadowChoiceTest, OneInOneIsAll) {
  const ServingSet::Shadow shadow = ShadowOf(7, 1);
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(LooksOn(shadow, Id(i)));
}

// The p-value of looking on and `other`, which has probability `p`, falling
// independently.
template <typename Other>
double PValueWith(const ServingSet::Shadow& shadow, double p,
                  const Other& other) {
  const double looks = 1.0 / shadow.every;
  std::array<uint64_t, 4> counts = {};
  for (int i = 0; i < kIds; ++i) {
    const std::string id = Id(i);
    ++counts[(LooksOn(shadow, id) ? 2 : 0) + (other(id) ? 1 : 0)];
  }
  return ChiSquarePValue(counts,
                         std::array{(1 - looks) * (1 - p), (1 - looks) * p,
                                    looks * (1 - p), looks * p});
}

TEST(ShadowChoiceTest, IsIndependentOfAllThatIsDrawn) {
  const ServingSet::Shadow shadow = ShadowOf(7, 3);
  const ServingSet::Shadow other = ShadowOf(8, 3);
  EXPECT_GT(
      PValueWith(shadow, 1.0 / 3,
                 [&](const std::string& id) { return LooksOn(other, id); }),
      kLeastP);
  EXPECT_GT(PValueWith(shadow, 0.25,
                       [](const std::string& id) {
                         return SplitPlace("m", kDrawSalt, "", id) <
                                kSplitPlaces / 4;
                       }),
            kLeastP);
  EXPECT_GT(PValueWith(
                shadow, 0.3,
                [](const std::string& id) { return KeepNumber("", id) < 0.3; }),
            kLeastP);
  EXPECT_GT(PValueWith(shadow, 0.1,
                       [](const std::string& id) {
                         return BaselineNumber("m", kDrawSalt, id) < 0.1;
                       }),
            kLeastP);
  // The draw of the same version, which has the same salt.
  EXPECT_GT(PValueWith(shadow, 0.5,
                       [](const std::string& id) {
                         return UnitInterval(
                                    DecisionKey("m", 7, id, kDrawSalt)) < 0.5;
                       }),
            kLeastP);
  EXPECT_GT(PValueWith(shadow, 0.5,
                       [](const std::string& id) {
                         return UnitInterval(
                                    StableHash(HashDomain::kSplit, {id})) < 0.5;
                       }),
            kLeastP);
}

// Callers know the id and the version, but not the salt.
TEST(ShadowChoiceTest, DependsOnTheSalt) {
  ServingSet::Shadow shadow = ShadowOf(7, 3);
  auto salted = std::make_shared<ServedModel>(*shadow.model);
  salted->draw_salt[0] = 'f';
  const ServingSet::Shadow other = {salted, 3};
  EXPECT_GT(
      PValueWith(shadow, 1.0 / 3,
                 [&](const std::string& id) { return LooksOn(other, id); }),
      kLeastP);
}

TEST(ShadowChoiceTest, JudgesOnlyWhatItsPolicyCan) {
  const std::vector<float> values(40, 0.5f);
  PolicyQuery query;
  query.candidates = Candidates::DenseUnchecked(values, 2);
  const auto select = ServedVersion(1, MakeSelectModel("m", {1, 2}));
  EXPECT_EQ(JudgeOf(*select, ActionKind::kSelect, query), &*select->select);
  EXPECT_EQ(JudgeOf(*select, ActionKind::kRank, query), nullptr);
  const auto wide = ServedVersion(2, MakeSelectModel("m", {1, 2, 3}));
  EXPECT_EQ(JudgeOf(*wide, ActionKind::kSelect, query), nullptr);
}

TEST(ShadowChoiceTest, DoesNotJudgeSubsetsThatAreTooLarge) {
  const std::vector<float> values(20'000, 0.5f);
  PolicyQuery query;
  query.candidates = Candidates::DenseUnchecked(values, 2);
  model::v1::Model model = MakeModel("m", {1, 2});
  model.mutable_policy()->mutable_independent_subset();
  const auto label = ServedVersion(3, model);
  query.top_k = 1000;  // Of 10,000: as many cells as there may be.
  EXPECT_NE(JudgeOf(*label, ActionKind::kSubset, query), nullptr);
  query.top_k = 1001;
  EXPECT_EQ(JudgeOf(*label, ActionKind::kSubset, query), nullptr);
  query.top_k = 0;  // Any size.
  EXPECT_NE(JudgeOf(*label, ActionKind::kSubset, query), nullptr);
}

}  // namespace
}  // namespace sortition
