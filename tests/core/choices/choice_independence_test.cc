// What ids decide — arm, baseline, draw, shadows, trainer's parts, samples — is
// independent of each other.
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "core/choices/baseline_choice.h"
#include "core/choices/traffic_split.h"
#include "core/policies/linear_policy.h"
#include "gtest/gtest.h"
#include "tests/core/choices/choice_case.h"
#include "tests/testing/chi_square.h"

namespace sortition {
namespace {

constexpr int kIds = 60000;
constexpr size_t kBins = 3;

enum Use {
  kArm,
  kBaseline,
  kDraw,
  kShadow,
  kPart,
  kSubsample,
  kKeep,
  kNumUses
};

size_t Bin(double number) { return static_cast<size_t>(number * kBins); }

// Everything that is decided by one name, which is that of a unit and of its
// only decision: the worst case, and the same salt for all.
class Uses {
 public:
  Uses() { query_.candidates = Candidates::DenseUnchecked(features_, 1); }

  std::array<size_t, kNumUses> Of(const std::string& id) {
    policy_.Decide(query_, DecisionKey("m", 1, id, kSalt), &workspace_, &draw_);
    return {SplitPlace("m", kSalt, id, id) * kBins / kSplitPlaces,
            Bin(BaselineNumber("m", kSalt, id)),
            static_cast<size_t>(draw_.action[0]),
            Bin(UnitInterval(StableHash(HashDomain::kShadow, {"m", id}))),
            Bin(UnitInterval(StableHash(HashDomain::kSplit, {id}))),
            Bin(UnitInterval(StableHash(HashDomain::kSubsample, {id}))),
            Bin(KeepNumber(id, id))};
  }

 private:
  const std::vector<float> features_ = std::vector<float>(kBins, 0);
  const LinearPolicy policy_ =
      LinearPolicy::Uniform(ActionKind::kSelect, false);
  PolicyQuery query_;
  PolicyWorkspace workspace_;
  Draw draw_;
};

// The table of all seven together: 3⁷ cells of some 27 ids. It would show any
// dependence, also one of three that no pair shows. Fixed ids; a right one
// fails with probability 1e-6.
TEST(ChoiceIndependenceTest, TheJointTableIsUniform) {
  const auto cells = static_cast<size_t>(
      std::pow(static_cast<double>(kBins), static_cast<double>(kNumUses)));
  std::vector<uint64_t> joint(cells);
  // And by pairs, which have more in each cell.
  std::array<std::array<std::vector<uint64_t>, kNumUses>, kNumUses> pairs;
  for (auto& row : pairs) row.fill(std::vector<uint64_t>(kBins * kBins));
  Uses uses;
  for (int i = 0; i < kIds; ++i) {
    const auto bins = uses.Of(absl::StrCat("decision-", i));
    size_t cell = 0;
    for (size_t a = 0; a < kNumUses; ++a) {
      ASSERT_LT(bins[a], kBins);
      cell = cell * kBins + bins[a];
      for (size_t b = 0; b < a; ++b) ++pairs[a][b][bins[a] * kBins + bins[b]];
    }
    ++joint[cell];
  }
  const std::vector<double> uniform(cells, 1 / static_cast<double>(cells));
  EXPECT_GT(ChiSquarePValue(joint, uniform), 1e-6);
  const std::vector<double> ninth(kBins * kBins, 1.0 / (kBins * kBins));
  for (size_t a = 0; a < kNumUses; ++a) {
    for (size_t b = 0; b < a; ++b) {
      EXPECT_GT(ChiSquarePValue(pairs[a][b], ninth), 1e-6) << a << " " << b;
    }
  }
}

// Two decisions of a unit have one arm, and draws that are independent of each
// other.
TEST(ChoiceIndependenceTest, DecisionsOfAUnitAreDrawnIndependently) {
  std::vector<uint64_t> draws(kBins * kBins);
  std::vector<uint64_t> baselines(kBins * kBins);
  Uses uses;
  for (int i = 0; i < 20000; ++i) {
    const auto first = uses.Of(absl::StrCat("unit", i, "-1"));
    const auto second = uses.Of(absl::StrCat("unit", i, "-2"));
    ++draws[first[kDraw] * kBins + second[kDraw]];
    ++baselines[first[kBaseline] * kBins + second[kBaseline]];
  }
  const std::vector<double> ninth(kBins * kBins, 1.0 / (kBins * kBins));
  EXPECT_GT(ChiSquarePValue(draws, ninth), 1e-6);
  EXPECT_GT(ChiSquarePValue(baselines, ninth), 1e-6);
}

// The split into training and test must not depend on what was drawn: over 1e5
// ids the correlation of independent numbers has standard deviation 1/√1e5,
// exceeded 4 times with probability 6e-5 (fixed ids).
TEST(SplitIndependenceTest, SplitIsIndependentOfTheAction) {
  constexpr int kNumIds = 100000;
  const LinearPolicy policy = LinearPolicy::Uniform(ActionKind::kSelect, false);
  const std::vector<float> features(10, 0);
  PolicyQuery query;
  query.candidates = Candidates::DenseUnchecked(features, 1);
  PolicyWorkspace workspace;
  Draw draw;
  double sum_xy = 0;
  double sum_xx = 0;
  double sum_yy = 0;
  for (int i = 0; i < kNumIds; ++i) {
    const std::string id = absl::StrCat("decision-", i);
    policy.Decide(query, DecisionKey("default", 1, id), &workspace, &draw);
    const double x = draw.action[0] - 4.5;
    const double y = UnitInterval(StableHash(HashDomain::kSplit, {id})) - 0.5;
    sum_xy += x * y;
    sum_xx += x * x;
    sum_yy += y * y;
  }
  EXPECT_LT(std::abs(sum_xy) / std::sqrt(sum_xx * sum_yy),
            4 / std::sqrt(kNumIds));
}

}  // namespace
}  // namespace sortition
