#include "core/clicks/click_sessions.h"

#include <limits>

#include "gtest/gtest.h"
#include "tests/core/clicks/click_world.h"
#include "tests/core/invalid.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::HasSubstr;

TEST(ClickSessionsTest, GivesBackWhatWasAdded) {
  ASSERT_OK_AND_ASSIGN(ClickSessions sessions, ClickSessions::Create(9));
  ASSERT_OK(sessions.Add(Items{8, 0}, Clicks{1, 0}));
  ASSERT_OK(sessions.Add(Items{3, 2, 1}, Clicks{0, 2, 0}, 2.5));
  ASSERT_OK(sessions.Add(Items{5, 6, 7, 8}, Clicks{0, 1, 0, 0}, 1, 2));
  ASSERT_EQ(sessions.size(), 3u);
  EXPECT_EQ(sessions.num_impressions(), 9u);
  EXPECT_EQ(sessions.num_ranks(), 3u);
  EXPECT_EQ(sessions.total_weight(), 4.5);
  EXPECT_EQ(sessions[0].item(0), 8u);
  EXPECT_TRUE(sessions[0].clicked(0));
  EXPECT_FALSE(sessions[0].clicked(1));
  EXPECT_EQ(sessions[0].weight(), 1);
  EXPECT_EQ(sessions[0].size(), 2u);
  EXPECT_EQ(sessions[1].weight(), 2.5);
  EXPECT_TRUE(sessions[1].clicked(1));
  EXPECT_EQ(sessions[1].size(), 3u);
  EXPECT_EQ(sessions[2].size(), 2u);
  EXPECT_EQ(sessions[2].num_shown(), 4u);
  EXPECT_EQ(sessions[2].item(3), 8u);
  EXPECT_EQ(sessions[2].weight(), 1);
  EXPECT_EQ(sessions.first_impression(2), 5u);
}

TEST(ClickSessionsTest, TakesFiveAndAHalfBytesAnImpression) {
  ASSERT_OK_AND_ASSIGN(ClickSessions sessions, ClickSessions::Create(10));
  const Items items = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const Clicks clicks(10, 0);
  constexpr size_t kSessions = 1000;
  for (size_t s = 0; s < kSessions; ++s) {
    ASSERT_OK(sessions.Add(items, clicks, 2, 9));
  }
  // (40 + 8 + 4 + 2) bytes a session, and one begin more.
  EXPECT_EQ(sessions.memory_bytes(), 54 * kSessions + 8);
}

TEST(ClickSessionsTest, UntilFirstClickHidesWhatIsBelow) {
  ASSERT_OK_AND_ASSIGN(ClickSessions sessions, ClickSessions::Create(4));
  ASSERT_OK(sessions.Add(Items{0, 1, 2, 3}, Clicks{0, 1, 0, 1}, 3));
  ASSERT_OK(sessions.Add(Items{3, 2}, Clicks{0, 0}));
  const ClickSessions cut = UntilFirstClick(sessions);
  ASSERT_EQ(cut.size(), 2u);
  EXPECT_EQ(cut[0].size(), 2u);
  EXPECT_EQ(cut[0].num_shown(), 4u);
  EXPECT_EQ(cut[0].weight(), 3);
  EXPECT_TRUE(cut[0].clicked(1));
  EXPECT_EQ(cut[1].size(), 2u);
}

TEST(ClickSessionsTest, RefusesWhatIsWrong) {
  const auto invalid = [](const std::string& text) {
    return IsInvalid(HasSubstr(text));
  };
  EXPECT_THAT(ClickSessions::Create(0),
              invalid("num_items is 0, must be in [1, 2147483648]"));
  ASSERT_OK_AND_ASSIGN(ClickSessions sessions, ClickSessions::Create(3));
  EXPECT_THAT(sessions.Add(Items{}, Clicks{}),
              invalid("items.size is 0, must be in [1, 1000]"));
  EXPECT_THAT(sessions.Add(Items{0, 1}, Clicks{0}),
              invalid("clicks.size is 1, must be items.size = 2"));
  EXPECT_THAT(sessions.Add(Items{0, 3}, Clicks{0, 0}),
              invalid("items[1] is 3, must be in [0, 2]"));
  EXPECT_THAT(sessions.Add(Items{0}, Clicks{0}, 0),
              invalid("weight is 0, must be positive and finite"));
  EXPECT_THAT(sessions.Add(Items{0}, Clicks{0},
                           std::numeric_limits<double>::quiet_NaN()),
              invalid("weight is nan"));
  EXPECT_THAT(sessions.Add(Items{0}, Clicks{0}, 1, 2),
              invalid("num_seen is 2, must be in [1, 1]"));
  EXPECT_THAT(sessions.Add(Items{0, 1}, Clicks{0, 1}, 1, 1),
              invalid("clicks[1] is 1, must be 0, since only 1 ranks"));
  EXPECT_EQ(sessions.size(), 0u);
  EXPECT_EQ(sessions.num_impressions(), 0u);
}

}  // namespace
}  // namespace sortition
