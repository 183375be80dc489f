#include "io/models/look_ledger.h"

#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class LookLedgerTest : public testing::Test {
 protected:
  TempDir dir_;
  LookLedger ledger_{dir_.path(), "default"};
};

TEST_F(LookLedgerTest, CountsTheLooksAtEachVersion) {
  EXPECT_EQ(*ledger_.Begin(1), 1u);
  model::v1::Look look;
  look.set_baseline_version(1);
  look.set_number(1);
  look.set_verdict("Not published");
  ASSERT_OK(ledger_.End(look));
  EXPECT_EQ(*ledger_.Begin(1), 2u);
  EXPECT_EQ(*ledger_.Begin(2), 1u);
  EXPECT_EQ(*ledger_.NextNumber(1), 3u);
  EXPECT_EQ(*ledger_.NextNumber(7), 1u);
  // Another process.
  EXPECT_EQ(*LookLedger(dir_.path(), "default").Begin(1), 3u);
  EXPECT_EQ(*LookLedger(dir_.path(), "other").Begin(1), 1u);
  ASSERT_OK_AND_ASSIGN(const std::string lines, ReadFile(ledger_.path()));
  EXPECT_THAT(lines, HasSubstr("\"verdict\":\"Not published\""));
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 5);
}

// Who wrote them may have looked.
TEST_F(LookLedgerTest, LinesThatCannotBeReadCount) {
  EXPECT_EQ(*ledger_.Begin(1), 1u);
  std::ofstream(ledger_.path(), std::ios::app) << "nonsense\n{\"baseline";
  EXPECT_EQ(*ledger_.Begin(1), 4u);
  EXPECT_EQ(*ledger_.Begin(1), 5u);
}

// The number of tuples of a look is known even if its program died before the
// result.
TEST_F(LookLedgerTest, TheLastLookSaysHowMuchItHad) {
  EXPECT_FALSE(ledger_.Last(1).value().has_value());
  ASSERT_OK(ledger_.Begin(1, 400));
  ASSERT_OK(ledger_.Begin(1, 719));
  ASSERT_OK(ledger_.Begin(2, 50));
  ASSERT_OK_AND_ASSIGN(auto last, ledger_.Last(1));
  ASSERT_TRUE(last.has_value());
  EXPECT_EQ(last->number(), 2u);
  EXPECT_EQ(last->test_tuples(), 719u);
  EXPECT_FALSE(last->time().empty());
  model::v1::Look look;
  look.set_baseline_version(1);
  look.set_number(2);
  look.set_test_tuples(719);
  look.set_verdict("Not published");
  ASSERT_OK(ledger_.End(look));
  std::ofstream(ledger_.path(), std::ios::app) << "nonsense\n";
  ASSERT_OK_AND_ASSIGN(last, ledger_.Last(1));
  EXPECT_EQ(last->verdict(), "Not published");
  EXPECT_EQ(last->test_tuples(), 719u);
}

TEST_F(LookLedgerTest, NumbersAreDifferentWhoeverAsks) {
  constexpr int kThreads = 8;
  std::vector<uint64_t> numbers(kThreads);
  std::vector<std::thread> threads;
  for (uint64_t& number : numbers) {
    threads.emplace_back([this, &number] {
      number = LookLedger(dir_.path(), "default").Begin(1).value_or(0);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::sort(numbers.begin(), numbers.end());
  EXPECT_THAT(numbers, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
}

TEST(ShareOfLookTest, AllSharesAddUpToOne) {
  double sum = 0;
  constexpr uint64_t kLooks = 1000000;
  for (uint64_t number = 1; number <= kLooks; ++number) {
    sum += ShareOfLook(number);
  }
  // The rest is below 6/π² / kLooks.
  EXPECT_LT(sum, 1);
  EXPECT_GT(sum, 1 - 1e-6);
}

// The shares of all looks add up to 1.
TEST(LookSharesTest, WhatIsLeftIsTheShareOfAllLaterLooks) {
  EXPECT_EQ(ShareLeftAfter(0), 1);
  EXPECT_NEAR(ShareLeftAfter(1), 1 - 0.6079271018540267, 1e-15);
  EXPECT_NEAR(ShareLeftAfter(2), 1 - 1.25 * 0.6079271018540267, 1e-15);
  // A long ledger takes another way.
  for (const uint64_t looks : {10000u, 10001u}) {
    EXPECT_NEAR(ShareLeftAfter(looks) - ShareLeftAfter(looks + 1),
                ShareOfLook(looks + 1), 1e-12);
  }
  EXPECT_GT(ShareLeftAfter(uint64_t{1} << 60), 0);
}

}  // namespace
}  // namespace sortition
