#include "server/decisions/decision_id.h"

#include <set>
#include <string>

#include "core/base/tagged_uuid.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

TEST(DecisionIdTest, StartsWithTheTimeAndSorts) {
  DecisionIdMaker maker({1, 2}, "a");
  // 0x0123456789ab ms = 1250999896491 ms, in microseconds; rounded down.
  const int64_t time_us = 1250999896491 * 1000;
  EXPECT_THAT(maker.Make(time_us), testing::StartsWith("01234567-89ab-7"));
  EXPECT_THAT(maker.Make(time_us + 999),
              testing::StartsWith("01234567-89ab-7"));
  EXPECT_THAT(maker.Make(time_us + 1000),
              testing::StartsWith("01234567-89ac-7"));
}

TEST(DecisionIdTest, SecretsMakeServersDiffer) {
  DecisionIdMaker one({1, 2}, "a");
  DecisionIdMaker same({1, 2}, "a");
  DecisionIdMaker other({1, 3}, "a");
  const std::string id = one.Make(0);
  EXPECT_EQ(same.Make(0), id);
  EXPECT_NE(other.Make(0), id);
  EXPECT_NE(one.Make(0), id);
  EXPECT_FALSE(DecisionIdMaker::RandomSecret() ==
               DecisionIdMaker::RandomSecret());
}

TEST(DecisionIdTest, CarriesTheTagOfTheWriterAndNeverRepeats) {
  DecisionIdMaker maker({1, 2}, "a");
  std::set<std::string> ids;
  for (int i = 0; i < 10000; ++i) {
    const std::string id = maker.Make(0);
    ids.insert(id);
    ASSERT_EQ(ParseUuidV7(id)->writer_tag, WriterTag("a"));
  }
  EXPECT_EQ(ids.size(), 10000u);
}

}  // namespace
}  // namespace sortition
