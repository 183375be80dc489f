// When feedback for unknown decisions makes a log incomplete.
#include "sidecar/join/incomplete_watch.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/tagged_uuid.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

constexpr int64_t kSecond = 1000000;
constexpr int64_t kBase = 1'700'000'000 * kSecond;  // Starts a window.
// By then the fate of feedback in the first window is known.
constexpr int64_t kJudged = kBase + 23 * kSecond;

class IncompleteWatchTest : public testing::Test {
 protected:
  IncompleteWatchTest() {
    options_.set_reward_wait_time_seconds(10);
    options_.set_slack_seconds(1);
    options_.set_max_unknown_share(0.1);
    watch_.emplace(options_);
    watch_->AddWriter("here");
  }

  void TakeKnown(int count) {
    for (int i = 0; i < count; ++i) watch_->TakeFeedback(kBase + i);
  }
  // Takes feedback for `count` decisions of their own at `time_us`.
  void TakeUnknown(int count, const std::string& writer,
                   int64_t time_us = kBase) {
    for (int i = 0; i < count; ++i) {
      watch_->TakeFeedback(time_us + i);
      watch_->TakeUnknown(IdOf(writer, time_us), time_us + i);
    }
  }
  void TakeUnknownOfClients(int count) {
    for (int i = 0; i < count; ++i) {
      watch_->TakeFeedback(kBase + i);
      watch_->TakeUnknown(absl::StrCat("click", serial_++), kBase + i);
    }
  }
  std::string IdOf(const std::string& writer, int64_t time_us) {
    return MakeTaggedUuid(time_us, serial_++, WriterTag(writer));
  }

  uint64_t serial_ = 1;
  config::v1::JoinOptions options_;
  std::optional<IncompleteWatch> watch_;
};

// 10 of 100 would be the limit: of 1,002, two wrong ids are the mistake of a
// client. They are reported, but training goes on.
TEST_F(IncompleteWatchTest, TwoWrongIdsOfAnotherServerAreTolerated) {
  TakeKnown(1000);
  TakeUnknown(2, "there");
  EXPECT_FALSE(watch_->Next(kJudged).has_value());
  EXPECT_EQ(watch_->foreign_feedback(), 2u);
  const auto tolerated = watch_->TakeTolerated();
  ASSERT_TRUE(tolerated.has_value());
  EXPECT_EQ(tolerated->foreign_feedback(), 2u);
  EXPECT_EQ(tolerated->feedback(), 1002u);
  EXPECT_FALSE(watch_->TakeTolerated().has_value());
}

// 11 of 109 are more than a tenth.
TEST_F(IncompleteWatchTest, TheShareOfAnotherServerDecides) {
  TakeKnown(98);
  TakeUnknown(11, "there");
  EXPECT_FALSE(watch_->Next(kJudged - kSecond).has_value());
  const auto mark = watch_->Next(kJudged);
  ASSERT_TRUE(mark.has_value());
  EXPECT_EQ(mark->foreign_feedback(), 11u);
  EXPECT_EQ(mark->feedback(), 109u);
  // Once.
  EXPECT_FALSE(watch_->Next(kJudged).has_value());
}

// A client that repeats one wrong id must not end training, however often it
// does.
TEST_F(IncompleteWatchTest, OneWrongIdIsOneDecision) {
  TakeKnown(100);
  const std::string id = IdOf("there", kBase);
  for (int i = 0; i < 1000; ++i) {
    watch_->TakeFeedback(kBase + i);
    watch_->TakeUnknown(id, kBase + i);
  }
  EXPECT_FALSE(watch_->Next(kJudged).has_value());
}

// A log with two decisions of another server among four feedback a window needs
// five windows to be sure, and then marks all of them.
TEST_F(IncompleteWatchTest, WindowsWithLittleFeedbackAreJudgedTogether) {
  constexpr int64_t kWindow = 10 * kSecond;
  for (int window = 0; window < 5; ++window) {
    EXPECT_FALSE(watch_->Next(kJudged + (window - 1) * kWindow).has_value());
    for (int i = 0; i < 2; ++i) watch_->TakeFeedback(kBase + window * kWindow);
    TakeUnknown(2, "there", kBase + window * kWindow);
  }
  const auto mark = watch_->Next(kJudged + 4 * kWindow);
  ASSERT_TRUE(mark.has_value());
  EXPECT_EQ(mark->foreign_feedback(), 10u);
  EXPECT_EQ(mark->feedback(), 20u);
  EXPECT_EQ(mark->first_time_us(), kBase);
  EXPECT_EQ(mark->last_time_us(), kBase + 4 * kWindow + 1);
}

TEST_F(IncompleteWatchTest, OldIdsAreOnlyLate) {
  TakeUnknown(50, "here", kBase);
  for (int i = 0; i < 50; ++i) {
    watch_->TakeUnknown(IdOf("there", kBase - 11 * kSecond), kBase);
    watch_->TakeUnknown(IdOf("here", kBase - 11 * kSecond), kBase);
  }
  EXPECT_EQ(watch_->foreign_feedback(), 0u);
  EXPECT_EQ(watch_->unknown_feedback(), 50u);
}

// The servers of this log made these decisions, and it does not have them.
TEST_F(IncompleteWatchTest, RecentDecisionsOfItsOwnServersAreLost) {
  TakeKnown(80);
  TakeUnknown(10, "here");
  const auto mark = watch_->Next(kJudged);
  ASSERT_TRUE(mark.has_value());
  EXPECT_EQ(mark->foreign_feedback(), 0u);
  EXPECT_EQ(mark->unknown_feedback(), 10u);
}

TEST_F(IncompleteWatchTest, IdsOfClientsCountByTheirShare) {
  // 11 of 110 is the limit.
  TakeKnown(99);
  TakeUnknownOfClients(11);
  EXPECT_FALSE(watch_->Next(kJudged).has_value());
  TakeKnown(98);
  TakeUnknownOfClients(11);
  const auto mark = watch_->Next(kJudged);
  ASSERT_TRUE(mark.has_value());
  EXPECT_EQ(mark->unknown_feedback(), 11u);
  EXPECT_EQ(mark->first_time_us(), kBase);
  EXPECT_EQ(mark->last_time_us(), kBase + 97);
}

// A decision that this server answered and lost has feedback, too, and the
// tuples near it are censored.
TEST_F(IncompleteWatchTest, LostDecisionsAreNoSign) {
  for (int i = 0; i < 50; ++i) {
    watch_->TakeUnknown(absl::StrCat("click", i), kBase, true);
    watch_->TakeUnknown(IdOf("here", kBase), kBase, true);
  }
  EXPECT_FALSE(watch_->Next(kJudged).has_value());
  for (int i = 0; i < 10; ++i) {
    watch_->TakeUnknown(IdOf("there", kBase), kBase, true);
  }
  EXPECT_TRUE(watch_->Next(kJudged).has_value());
}

// Decisions from before the start have feedback for a window.
TEST_F(IncompleteWatchTest, TheFirstTwoWindowsAfterARestartAreNoSign) {
  watch_->BeginInTheMiddle();
  TakeKnown(20);
  TakeUnknownOfClients(11);
  EXPECT_FALSE(watch_->Next(kJudged).has_value());
  TakeUnknown(11, "here", kBase + 10 * kSecond);
  EXPECT_FALSE(watch_->Next(kJudged + 10 * kSecond).has_value());
  TakeUnknown(11, "here", kBase + 20 * kSecond);
  EXPECT_TRUE(watch_->Next(kJudged + 20 * kSecond).has_value());
}

TEST_F(IncompleteWatchTest, FewUnknownOnesAreNoSign) {
  TakeUnknownOfClients(9);
  EXPECT_FALSE(watch_->Next(kJudged).has_value());
}

}  // namespace
}  // namespace sortition
