#include "trainer/ope/page/numbers.h"

#include "gtest/gtest.h"
#include "tests/trainer/ope/page/sample_report.h"

namespace sortition {
namespace {

model::v1::Estimate Estimate(double value, double lower, double upper) {
  model::v1::Estimate estimate;
  estimate.set_value(value);
  estimate.set_lower(lower);
  estimate.set_upper(upper);
  return estimate;
}

TEST(NumbersTest, DecimalsShowTwoDigitsOfTheWidth) {
  EXPECT_EQ(DecimalsFor(0.04), 3);
  EXPECT_EQ(DecimalsFor(0.99), 2);
  EXPECT_EQ(DecimalsFor(1.0), 1);
  EXPECT_EQ(DecimalsFor(250), 0);
  EXPECT_EQ(DecimalsFor(1e-30), 12);
  for (const double unknown : {0.0, -1.0, kInf, kNan}) {
    EXPECT_EQ(DecimalsFor(unknown), 4) << unknown;
  }
  EXPECT_EQ(DecimalsFor({Estimate(0, -1, 1), Estimate(0, 0, 0.04),
                         Estimate(0, -kInf, kInf), Estimate(0, 0, 0)}),
            3);
}

TEST(NumbersTest, WhatIsNotFiniteIsSaidInWords) {
  EXPECT_EQ(FormatNumber(kNan, 2), "unknown");
  EXPECT_EQ(FormatNumber(-kInf, 2), "no limit");
  EXPECT_EQ(FormatRounded(kInf, 3), "no limit");
  EXPECT_EQ(FormatEstimate(Estimate(0.1234, 0.1, kInf), 2),
            "0.12 [0.10, no limit]");
  EXPECT_EQ(FormatEstimate(Estimate(0.1234, -kInf, kInf), 2), "0.12 no limits");
  EXPECT_EQ(FormatEstimate(Estimate(kNan, kNan, 1), 2), "unknown no interval");
}

TEST(NumbersTest, ZeroHasNoSign) {
  EXPECT_EQ(FormatNumber(-0.0001, 2), "0.00");
  EXPECT_EQ(FormatNumber(-0.01, 2), "-0.01");
  EXPECT_EQ(FormatNumber(1e300, 2), "1e+300");
}

TEST(NumbersTest, CountsHaveGroupsOfThreeDigits) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1000), "1,000");
  EXPECT_EQ(FormatCount(1234567), "1,234,567");
  EXPECT_EQ(FormatCountOf(1, "tuple"), "1 tuple");
  EXPECT_EQ(FormatCountOf(1000, "tuple"), "1,000 tuples");
}

TEST(NumbersTest, RoundedNumbersHaveSoManyDigits) {
  EXPECT_EQ(FormatRounded(0.012345, 3), "0.0123");
  EXPECT_EQ(FormatRounded(12345, 3), "12,300");
  EXPECT_EQ(FormatRounded(-12345, 3), "-12,300");
  EXPECT_EQ(FormatRounded(1234.4, 4), "1,234");
  EXPECT_EQ(FormatRounded(5e15, 3), "5e+15");
  EXPECT_EQ(FormatShare(0.1234), "12.3 %");
  EXPECT_EQ(FormatShare(0.95), "95 %");
}

}  // namespace
}  // namespace sortition
