#include "core/clicks/click_user.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/core/invalid.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

auto Near(double value) { return DoubleNear(value, 1e-12); }

TEST(ClickUserTest, UltraHasItsPublishedNumbers) {
  ASSERT_OK_AND_ASSIGN(const ClickUser user, MakeClickUser("ultra_pbm"));
  EXPECT_THAT(user.attractions,
              ElementsAre(Near(.1), Near(.16), Near(.28), Near(.52), Near(1)));
  EXPECT_THAT(user.model.examination,
              ElementsAre(.68, .61, .48, .34, .28, .20, .11, .10, .08, .06));
  // ULTRA repeats the last one.
  EXPECT_EQ(user.model.Examination(50), .06);
  ClickUserOptions options;
  options.eta = 2;
  options.noise = 0;
  options.max_relevance = 2;
  ASSERT_OK_AND_ASSIGN(const ClickUser other,
                       MakeClickUser("ultra_pbm", options));
  EXPECT_THAT(other.attractions, ElementsAre(0, Near(1. / 3), Near(1)));
  EXPECT_NEAR(other.model.Examination(1), .61 * .61, 1e-15);
}

// Rank 2 of ULTRA: θ = .48, ε⁺ = 1 - 4/100, ε⁻ = .65 / 3.
TEST(ClickUserTest, UltraTrustIsAffine) {
  ASSERT_OK_AND_ASSIGN(const ClickUser user, MakeClickUser("ultra_trust"));
  EXPECT_NEAR(user.model.Offset(2), .48 * .65 / 3, 1e-15);
  EXPECT_NEAR(user.model.Slope(2), .48 * (.96 - .65 / 3), 1e-15);
}

// [Oosterhuis23] prints α = .35 .53 .55 .54 .52, β = .65 .26 .15 .11 .08 for
// his five ranks, to two decimals.
TEST(ClickUserTest, OosterhuisHasHisPublishedNumbers) {
  ASSERT_OK_AND_ASSIGN(const ClickUser user, MakeClickUser("oosterhuis_trust"));
  const double slopes[] = {.35, .53, .55, .54, .52};
  const double offsets[] = {.65, .26, .15, .11, .08};
  for (size_t r = 0; r < 5; ++r) {
    EXPECT_NEAR(user.model.Slope(r), slopes[r], .005) << r;
    EXPECT_NEAR(user.model.Offset(r), offsets[r], .005) << r;
  }
  EXPECT_THAT(user.attractions, ElementsAre(0, .25, .5, .75, 1));
}

TEST(ClickUserTest, EveryUserIsAModel) {
  for (const absl::string_view name : ClickUserNames()) {
    for (const uint32_t max_relevance : {1, 2, 4, 5}) {
      ClickUserOptions options;
      options.max_relevance = max_relevance;
      ASSERT_OK_AND_ASSIGN(const ClickUser user, MakeClickUser(name, options));
      EXPECT_OK(CheckClickModel(user.model));
      EXPECT_EQ(user.attractions.size(), max_relevance + 1) << name;
      for (uint32_t g = 0; g < max_relevance; ++g) {
        EXPECT_LE(user.attractions[g], user.attractions[g + 1]) << name;
      }
      EXPECT_GE(user.attractions[0], 0) << name;
      EXPECT_LE(user.attractions.back(), 1 + 1e-15) << name;
    }
  }
}

TEST(ClickUserTest, NoiseIsTheAttractionOfGradeZero) {
  for (const absl::string_view name : ClickUserNames()) {
    ClickUserOptions options;
    options.noise = .3;
    ASSERT_OK_AND_ASSIGN(const ClickUser noisy, MakeClickUser(name, options));
    options.noise = 0;
    ASSERT_OK_AND_ASSIGN(const ClickUser quiet, MakeClickUser(name, options));
    for (size_t g = 0; g < 5; ++g) {
      EXPECT_NEAR(noisy.attractions[g], .3 + .7 * quiet.attractions[g], 1e-12);
    }
  }
}

// The expected utility of the network is ERR with R = a s, with noise too: R_1
// = 1/16, R_0 = 0, R_3 = 7/16, R_2 = 3/16, R_4 = 15/16 [Chapelle09, eq. 5].
TEST(ClickUserTest, ExpectedReciprocalRankIsThatOfGrades) {
  const std::vector<uint32_t> grades = {1, 0, 3, 2, 4};
  const double expected =
      1. / 16 +
      15. / 16 *
          (7. / 16 / 3 + 9. / 16 * (3. / 16 / 4 + 13. / 16 * 15. / 16 / 5));
  for (const double noise : {0.0, 0.2}) {
    ClickUserOptions options;
    options.noise = noise;
    ASSERT_OK_AND_ASSIGN(const ClickUser user,
                         MakeClickUser("expected_reciprocal_rank", options));
    const GradedList graded(user, grades);
    EXPECT_NEAR(ExpectedReciprocalRank(user.model, graded.list()), expected,
                1e-12);
  }
}

TEST(ClickUserTest, ClicksAreAFunctionOfSeedAndDecision) {
  const std::vector<uint32_t> grades = {2, 2, 2, 2, 2, 2, 2, 2};
  ASSERT_OK_AND_ASSIGN(const ClickUser user, MakeClickUser("near_random"));
  int other_seeds = 0;
  int other_decisions = 0;
  for (int i = 0; i < 100; ++i) {
    const std::string id = absl::StrCat("d", i);
    const std::vector<uint8_t> clicks = ClicksOf(user, grades, 1, id);
    EXPECT_EQ(clicks, ClicksOf(user, grades, 1, id));
    other_seeds += clicks != ClicksOf(user, grades, 2, id);
    other_decisions += clicks != ClicksOf(user, grades, 1, id + "x");
  }
  // Rank 0 alone differs with probability 1/2; Binomial(100, 1/2) is below 20
  // with probability under 1e-9.
  EXPECT_GT(other_seeds, 20);
  EXPECT_GT(other_decisions, 20);
}

TEST(ClickUserTest, RefusesWhatIsWrong) {
  const auto invalid = [](const std::string& text) {
    return IsInvalid(HasSubstr(text));
  };
  EXPECT_THAT(MakeClickUser("pbm"),
              invalid("user is \"pbm\", must be one of ultra_pbm, "));
  ClickUserOptions options;
  options.max_relevance = 0;
  EXPECT_THAT(MakeClickUser("perfect", options),
              invalid("max_relevance is 0, must be in [1, 31]"));
  options = {};
  options.eta = -1;
  EXPECT_THAT(MakeClickUser("perfect", options),
              invalid("eta is -1, must be in [0, 10]"));
  options = {};
  options.noise = 1.5;
  EXPECT_THAT(MakeClickUser("perfect", options),
              invalid("noise is 1.5, must be in [0, 1]"));
}

}  // namespace
}  // namespace sortition
