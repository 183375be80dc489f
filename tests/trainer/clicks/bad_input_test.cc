// What is left out of a log, and what is refused.
#include <algorithm>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tests/trainer/clicks/click_logs.h"
#include "tests/trainer/status_codes.h"
#include "trainer/tuples/scan/left_out.h"

namespace sortition {
namespace {

using config::v1::ClicksReport;
using log::v1::BanditTuple;
using ::testing::Contains;
using ::testing::HasSubstr;

std::vector<BanditTuple> SomeTuples(size_t sessions) {
  return DrawClickTuples({.user = PositionUser()}, sessions, 21);
}

TEST_F(ClicksFixture, CountsWhatIsLeftOut) {
  std::vector<BanditTuple> tuples = SomeTuples(500);
  for (int k = 0; k < 3; ++k) tuples[k].add_censored(log::v1::LOST);
  for (int k = 3; k < 5; ++k) tuples[k].mutable_decision()->set_seed(1);
  // Another order, and nothing at all.
  const auto& action = tuples[5].decision().action();
  for (const int r : {1, 0, 2, 3}) {
    tuples[5].mutable_shown()->add_shown(static_cast<uint32_t>(action[r]));
  }
  tuples[6].mutable_shown()->set_not_shown(true);
  tuples[7].mutable_decision()->set_model("other");
  tuples[8].mutable_decision()->set_action_kind(log::v1::SELECT);
  tuples[9].mutable_decision()->clear_candidate_ids();
  tuples[10].mutable_decision()->set_action(1, tuples[10].decision().action(0));
  tuples[11].add_rank_rewards()->set_rank(4);
  tuples[12].clear_rank_rewards();
  tuples[12].mutable_shown()->set_seen_ranks(0);
  WriteLog(tuples);
  SetModels({"position_based"});
  const ClicksReport report = Learn();
  EXPECT_EQ(report.read_tuples(), 500u);
  EXPECT_EQ(report.sessions(), 487u);
  const auto& excluded = report.excluded();
  EXPECT_EQ(excluded.at(ReasonText(LeftOutReason::kCensored) + ": lost"), 3u);
  EXPECT_EQ(excluded.at(ReasonText(LeftOutReason::kSeeded)), 2u);
  EXPECT_EQ(excluded.at("something else than the order was shown"), 2u);
  EXPECT_EQ(excluded.at(ReasonText(LeftOutReason::kOtherModel)), 1u);
  EXPECT_EQ(excluded.at(ReasonText(LeftOutReason::kOtherAction)), 1u);
  EXPECT_EQ(excluded.at(ReasonText(LeftOutReason::kNoCandidateIds)), 1u);
  EXPECT_EQ(excluded.at(ReasonText(LeftOutReason::kBadAction)), 1u);
  EXPECT_EQ(excluded.at("reward of a rank that was not shown"), 1u);
  EXPECT_EQ(excluded.at("no rank was seen"), 1u);
  EXPECT_EQ(excluded.size(), 9u);
}

// Users saw two ranks, but the last one was clicked in some sessions.
TEST_F(ClicksFixture, RanksThatWereNotSeenDoNotCount) {
  std::vector<BanditTuple> tuples = SomeTuples(300);
  uint64_t impressions = 0;
  bool is_below = false;
  for (auto& tuple : tuples) {
    tuple.mutable_shown()->set_seen_ranks(2);
    uint32_t seen = 2;
    for (const auto& reward : tuple.rank_rewards()) {
      seen = std::max(seen, reward.rank() + 1);
    }
    is_below |= seen > 2;
    impressions += seen;
  }
  ASSERT_TRUE(is_below);
  WriteLog(tuples);
  SetModels({"position_based"});
  const ClicksReport report = Learn();
  EXPECT_EQ(report.impressions(), impressions);
  EXPECT_THAT(report.notes(), Contains(HasSubstr("clicked below the ranks")));
  options_.set_ranks("shown");
  EXPECT_EQ(Learn().impressions(), 1200u);
  options_.set_max_ranks(2);
  const ClicksReport cut = Learn();
  EXPECT_EQ(cut.impressions(), 600u);
  EXPECT_THAT(cut.notes(), Contains(HasSubstr("300 sessions have more ranks")));
}

TEST_F(ClicksFixture, RefusesALogWithoutRewardsByRank) {
  std::vector<BanditTuple> tuples = SomeTuples(50);
  for (auto& tuple : tuples) tuple.clear_rank_rewards();
  WriteLog(tuples);
  EXPECT_THAT(LearnClicks(options_),
              StatusIs(kFailed, AllOf(HasSubstr("none of 50 rankings"),
                                      HasSubstr("Feedback.rank"))));
}

TEST_F(ClicksFixture, RefusesALogWithoutClicks) {
  WriteLog(SomeTuples(50));
  options_.set_click_from(2);
  EXPECT_THAT(LearnClicks(options_),
              StatusIs(kFailed, HasSubstr("click_from is 2")));
  options_.set_model("other");
  EXPECT_THAT(LearnClicks(options_),
              StatusIs(kFailed, AllOf(HasSubstr("no rankings of model 'other'"),
                                      HasSubstr("50 left out: other model"))));
}

TEST_F(ClicksFixture, RefusesPartsThatAreTooSmall) {
  std::vector<BanditTuple> tuples = SomeTuples(50);
  for (auto& tuple : tuples) tuple.mutable_decision()->set_unit_id("one");
  WriteLog(tuples);
  EXPECT_THAT(LearnClicks(options_),
              StatusIs(kFailed, HasSubstr("test_fraction is 0.25")));
}

TEST_F(ClicksFixture, RefusesMoreThanFitsMemory) {
  WriteLog(SomeTuples(30000));
  options_.set_memory_mb(1);
  EXPECT_THAT(LearnClicks(options_),
              StatusIs(kFailed, HasSubstr("memory_mb is 1, must be")));
}

TEST_F(ClicksFixture, RefusesWrongOptions) {
  WriteLog(SomeTuples(50));
  const auto expect = [&](const config::v1::ClicksOptions& options,
                          const std::string& text) {
    EXPECT_THAT(LearnClicks(options), StatusIs(kInvalid, HasSubstr(text)));
  };
  config::v1::ClicksOptions options = options_;
  options.add_models("ubm");
  expect(options, "models: ");
  options.set_models(0, "cascade");
  options.add_models("cascade");
  expect(options, "models has 'cascade' twice");
  options = options_;
  options.set_items("urls");
  expect(options, "items is 'urls', must be ids, features or regression");
  options = options_;
  options.set_ranks("some");
  expect(options, "ranks is 'some'");
  options = options_;
  options.set_draws(5);
  expect(options, "draws is 5, must be 0 or at least 20");
  options = options_;
  options.add_models("cascade");
  options.set_write("bias.textproto");
  expect(options, "models must have position_based or trust_bias");
}

}  // namespace
}  // namespace sortition
