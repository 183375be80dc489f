#include "process/text_table.h"

#include "gtest/gtest.h"

namespace sortition {
namespace {

TEST(TextTableTest, AlignsNumbersRightAndWordsLeft) {
  EXPECT_EQ(FormatTable({{"name", "count"}, {"a", "10"}, {"long", "2.5"}}),
            "name  count\n"
            "a        10\n"
            "long    2.5\n");
}

}  // namespace
}  // namespace sortition
