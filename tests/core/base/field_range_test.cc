#include "core/base/field_range.h"

#include <cmath>
#include <memory>
#include <optional>

#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sortition/model/v1/model.pb.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using google::protobuf::FieldDescriptor;
using model::v1::BoltzmannRanking;
using model::v1::Policy;

TEST(FieldRangeTest, ContainsItsEndsUnlessTheMinimumIsExcluded) {
  const FieldRange closed = {.min = 0, .max = 1};
  EXPECT_TRUE(closed.Contains(0));
  EXPECT_TRUE(closed.Contains(1));
  EXPECT_FALSE(closed.Contains(-1e-300));
  EXPECT_FALSE(closed.Contains(1 + 1e-15));
  const FieldRange open = {.min = 0, .max = 1, .above_min = true};
  EXPECT_FALSE(open.Contains(0));
  EXPECT_TRUE(open.Contains(1e-300));
  EXPECT_TRUE(open.Contains(1));
}

TEST(FieldRangeTest, NeverContainsNanOrInfinity) {
  for (const double value : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    EXPECT_FALSE(FieldRange().Contains(value));
    EXPECT_FALSE(FieldRange({.min = 0, .zero = "any"}).Contains(value));
    EXPECT_FALSE(FieldRange({.max = 0}).Contains(value));
    EXPECT_FALSE(
        FieldRange({.specified = BoltzmannRanking::RankWeights_descriptor()})
            .Contains(value));
  }
  EXPECT_TRUE(FieldRange().Contains(-1e308));
}

TEST(FieldRangeTest, ZeroCanStandForSomethingBesideTheInterval) {
  const FieldRange range = {.min = 1, .max = 16, .zero = "12"};
  EXPECT_TRUE(range.Contains(0));
  EXPECT_FALSE(range.Contains(0.5));
  EXPECT_TRUE(range.Contains(16));
  EXPECT_FALSE(range.Contains(17));
}

TEST(FieldRangeTest, SpecifiedEnumsHaveADeclaredValueThatIsNotZero) {
  const FieldRange range = {.specified =
                                BoltzmannRanking::RankWeights_descriptor()};
  EXPECT_FALSE(range.Contains(0));
  EXPECT_TRUE(range.Contains(3));
  EXPECT_FALSE(range.Contains(4));
  EXPECT_FALSE(range.Contains(-1));
}

TEST(FieldRangeTest, TextNamesWhatIsAllowed) {
  EXPECT_EQ(FieldRange().Text(), "finite");
  EXPECT_EQ(FieldRange({.min = 1}).Text(), "at least 1");
  EXPECT_EQ(FieldRange({.min = 0, .above_min = true}).Text(), "above 0");
  EXPECT_EQ(FieldRange({.max = 1e-9}).Text(), "at most 1e-09");
  EXPECT_EQ(FieldRange({.min = -1e6, .max = 1e100}).Text(),
            "[-1000000, 1e+100]");
  EXPECT_EQ(
      FieldRange({.min = 0, .max = 1, .above_min = true, .zero = "1"}).Text(),
      "(0, 1], or 0 for 1");
  EXPECT_EQ(
      FieldRange({.specified = BoltzmannRanking::RankWeights_descriptor()})
          .Text(),
      "DCG (1), LINEAR (2) or CUSTOM (3)");
}

TEST(FieldRangeTest, CheckInRangeNamesFieldValueAndRange) {
  EXPECT_OK(CheckInRange("k", 3, {.min = 1, .max = 3}));
  EXPECT_THAT(CheckInRange("k", 4, {.min = 1, .max = 3}),
              IsInvalidArgument("k is 4, must be in [1, 3]"));
  EXPECT_THAT(CheckInRange("k", 0, {.min = 1}),
              IsInvalidArgument("k is 0, must be at least 1"));
  EXPECT_THAT(CheckInRange("w", std::nan(""), {}),
              IsInvalidArgument("w is nan, must be finite"));
}

// At most 1, whatever the field.
std::optional<FieldRange> AtMostOne(const FieldDescriptor&) {
  return FieldRange{.max = 1};
}

std::optional<FieldRange> NoRange(const FieldDescriptor&) {
  return std::nullopt;
}

TEST(FindOutOfRangeTest, LooksIntoSubMessagesAndRepeatedFields) {
  Policy policy;
  policy.set_inverse_temperature(1);
  BoltzmannRanking* boltzmann = policy.mutable_boltzmann_ranking();
  for (const double weight : {1.0, 0.0, 7.0}) boltzmann->add_weights(weight);
  std::optional<FieldOutOfRange> found = FindOutOfRange(policy, AtMostOne);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->path, "boltzmann_ranking.weights[2]");
  EXPECT_EQ(found->value, 7);
  EXPECT_EQ(found->range.max, 1);
  EXPECT_FALSE(FindOutOfRange(policy, NoRange).has_value());
  // Fields come in the order of declaration, enums as their numbers.
  boltzmann->set_rank_weights(BoltzmannRanking::LINEAR);
  EXPECT_EQ(FindOutOfRange(policy, AtMostOne)->path,
            "boltzmann_ranking.rank_weights");
  boltzmann->Clear();
  EXPECT_FALSE(FindOutOfRange(policy, AtMostOne).has_value());
}

TEST(FindOutOfRangeTest, LooksIntoRepeatedMessages) {
  model::v1::Evaluation evaluation;
  evaluation.add_bounds();
  evaluation.add_bounds()->set_clip(2);
  EXPECT_EQ(FindOutOfRange(evaluation, AtMostOne)->path, "bounds[1].clip");
}

// Fields of a oneof and optional fields are checked only where they are set;
// others always, as 0.
TEST(FindOutOfRangeTest, SkipsFieldsThatAreNotSet) {
  const auto below_zero = [](const FieldDescriptor&) {
    return std::optional<FieldRange>({.max = -1});
  };
  model::v1::SoftmaxSelection selection;
  EXPECT_FALSE(FindOutOfRange(selection, below_zero).has_value());
  selection.set_abstain_score(0);
  EXPECT_EQ(FindOutOfRange(selection, below_zero)->path, "abstain_score");
  Policy policy;
  EXPECT_EQ(FindOutOfRange(policy, below_zero)->path, "inverse_temperature");
  policy.set_inverse_temperature(-2);
  policy.set_uniform_mixture(-2);
  EXPECT_FALSE(FindOutOfRange(policy, below_zero).has_value());
}

TEST(NumberTextTest, WritesWholeNumbersAsSuch) {
  EXPECT_EQ(NumberText(10737418240), "10737418240");
  EXPECT_EQ(NumberText(0.05), "0.05");
  EXPECT_EQ(NumberText(1e-6), "1e-06");
  EXPECT_EQ(NumberText(1e100), "1e+100");
  EXPECT_EQ(NumberText(-HUGE_VAL), "-inf");
}

absl::StatusOr<std::unique_ptr<int>> Make(bool good) {
  if (!good) return absl::NotFoundError("no number");
  return std::make_unique<int>(4);
}

absl::StatusOr<int> Twice(bool first, bool second) {
  ASSIGN_OR_RETURN(const std::unique_ptr<int> a, Make(first));
  ASSIGN_OR_RETURN(const std::unique_ptr<int> b, Make(second));
  return *a + *b;
}

absl::Status Check(bool good) {
  RETURN_IF_ERROR(Make(good).status());
  return absl::InternalError("went on");
}

TEST(StatusMacrosTest, AssignsOrReturns) {
  ASSERT_OK_AND_ASSIGN(const int sum, Twice(true, true));
  EXPECT_EQ(sum, 8);
  EXPECT_THAT(Twice(true, false), IsNotFound("no number"));
  EXPECT_THAT(Twice(false, true), IsNotFound());
}

TEST(StatusMacrosTest, ReturnsErrorsOnly) {
  EXPECT_THAT(Check(false), IsNotFound());
  EXPECT_THAT(Check(true), StatusIs(absl::StatusCode::kInternal, "went on"));
}

TEST(CheckDeathTest, NamesTheCondition) {
  CHECK(1 + 1 == 2);
  EXPECT_DEATH(CHECK(1 + 1 == 3), "check failed: 1 \\+ 1 == 3");
}

}  // namespace
}  // namespace sortition
