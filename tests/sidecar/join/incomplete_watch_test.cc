// When feedback for decisions that nobody has makes a log incomplete.
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
  void TakeUnknown(int count, const std::string& id) {
    for (int i = 0; i < count; ++i) {
      watch_->TakeFeedback(kBase + i);
      watch_->TakeUnknown(id, kBase + i);
    }
  }
  static std::string IdOf(const std::string& writer, int64_t time_us) {
    return MakeTaggedUuid(time_us, 1, WriterTag(writer));
  }

  config::v1::JoinOptions options_;
  std::optional<IncompleteWatch> watch_;
};

TEST_F(IncompleteWatchTest, TwoOfAnotherServerAreEnough) {
  TakeKnown(1000);
  TakeUnknown(2, IdOf("there", kBase));
  EXPECT_FALSE(watch_->Next(kJudged - kSecond).has_value());
  const auto mark = watch_->Next(kJudged);
  ASSERT_TRUE(mark.has_value());
  EXPECT_EQ(mark->foreign_feedback(), 2u);
  EXPECT_EQ(mark->feedback(), 1002u);
  // Once for a window.
  EXPECT_FALSE(watch_->Next(kJudged).has_value());
}

TEST_F(IncompleteWatchTest, OneCanBeChance) {
  TakeUnknown(1, IdOf("there", kBase));
  EXPECT_FALSE(watch_->Next(kJudged).has_value());
}

TEST_F(IncompleteWatchTest, OwnIdsAndOldOnesAreOnlyLate) {
  TakeUnknown(50, IdOf("here", kBase));
  TakeUnknown(50, IdOf("there", kBase - 11 * kSecond));
  EXPECT_FALSE(watch_->Next(kJudged).has_value());
  EXPECT_EQ(watch_->foreign_feedback(), 0u);
  EXPECT_EQ(watch_->unknown_feedback(), 0u);
}

TEST_F(IncompleteWatchTest, IdsOfClientsCountByTheirShare) {
  // 11 of 110 is the limit.
  TakeKnown(99);
  TakeUnknown(11, "click");
  EXPECT_FALSE(watch_->Next(kJudged).has_value());
  TakeKnown(98);
  TakeUnknown(11, "click");
  const auto mark = watch_->Next(kJudged);
  ASSERT_TRUE(mark.has_value());
  EXPECT_EQ(mark->unknown_feedback(), 11u);
  EXPECT_EQ(mark->first_time_us(), kBase);
  EXPECT_EQ(mark->last_time_us(), kBase + 97);
}

// A decision that this server answered and lost has feedback, too.
TEST_F(IncompleteWatchTest, LostDecisionsAreNoSign) {
  for (int i = 0; i < 50; ++i) watch_->TakeUnknown("click", kBase, true);
  EXPECT_FALSE(watch_->Next(kJudged).has_value());
  for (int i = 0; i < 2; ++i) {
    watch_->TakeUnknown(IdOf("there", kBase), kBase, true);
  }
  EXPECT_TRUE(watch_->Next(kJudged).has_value());
}

// Of the first window after a restart only a part may be taken again.
TEST_F(IncompleteWatchTest, SharesOfPartsOfAWindowAreNoSign) {
  watch_->BeginInTheMiddle();
  TakeKnown(20);
  TakeUnknown(11, "click");
  EXPECT_FALSE(watch_->Next(kJudged).has_value());
}

TEST_F(IncompleteWatchTest, FewUnknownOnesAreNoSign) {
  TakeUnknown(9, "click");
  EXPECT_FALSE(watch_->Next(kJudged).has_value());
}

}  // namespace
}  // namespace sortition
