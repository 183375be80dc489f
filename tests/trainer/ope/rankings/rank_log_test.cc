// What `ope` counts of a log of orders, and what it cannot use.
#include <cmath>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/trainer/ope/rankings/rankings_fixture.h"
#include "trainer/ope/ope_text.h"

namespace sortition {
namespace {

using config::v1::OpeRankings;
using config::v1::OpeReport;
using testing::HasSubstr;

// The log's own mean of ranks is that of the tuples.
TEST_F(RankingsOpeTest, CountsWhatRanksEarned) {
  auto tuples = Draw(User::kExamine);
  options_.set_units("same");
  double sum = 0;
  double dcg = 0;
  uint64_t with = 0;
  for (const auto& tuple : tuples) {
    sum += tuple.reward();
    with += tuple.has_feedback();
    for (const auto& rank : tuple.rank_rewards()) {
      dcg += 1 / std::log2(rank.rank() + 2.0);
    }
  }
  WriteLog(tuples);
  OpeReport report = Judge();
  EXPECT_EQ(report.rank_log().decisions(), uint64_t{kDecisions});
  EXPECT_EQ(report.rank_log().with_rank_rewards(), with);
  EXPECT_NEAR(report.rank_log().logged().value(), sum / kDecisions, 1e-9);
  options_.set_rank_weights("dcg");
  report = Judge();
  EXPECT_NEAR(report.rank_log().logged().value(), dcg / kDecisions, 1e-9);
  EXPECT_EQ(report.rank_log().rank_weights(), "dcg");
}

// Ranks of their feedback are those of what was shown instead.
TEST_F(RankingsOpeTest, OrdersThatWereNotShownEarnNothing) {
  auto tuples = Draw(User::kExamine);
  options_.set_units("same");
  constexpr int kOverridden = 100;
  double sum = 0;
  for (int i = 0; i < kDecisions; ++i) {
    log::v1::BanditTuple& tuple = tuples[static_cast<size_t>(i)];
    if (i < kOverridden) {
      const auto& action = tuple.decision().action();
      tuple.mutable_shown()->mutable_shown()->Assign(action.rbegin(),
                                                     action.rend());
    } else {
      sum += tuple.reward();
    }
  }
  WriteLog(tuples);
  const OpeReport report = Judge();
  EXPECT_EQ(report.rank_log().shown_otherwise(), uint64_t{kOverridden});
  EXPECT_NEAR(report.rank_log().logged().value(), sum / kDecisions, 1e-9);
}

// Its marginals would weigh items by what never drew them.
TEST_F(RankingsOpeTest, AVersionThatContradictsTheLogLendsNoMarginals) {
  const RankVersion other(kLogged / 2);
  Publish(other.model());
  Publish(judged_.model());
  std::vector<log::v1::BanditTuple> tuples;
  for (int i = 0; i < kDecisions; ++i) {
    tuples.push_back(logged_.Decide(i, User::kCascade));
  }
  WriteLog(tuples);
  const OpeReport report = Judge();
  EXPECT_GT(report.rank_log().without_marginals(), 0u);
  const OpeRankings rankings = RankingsOf(report);
  EXPECT_EQ(RowOf(rankings, "iips"), nullptr);
  ExpectNear(rankings, "rips", judged_.Value(User::kCascade));
}

TEST_F(RankingsOpeTest, LogsWithoutRewardsOfRanksHaveNoSection) {
  auto tuples = Draw(User::kCascade);
  for (auto& tuple : tuples) tuple.clear_rank_rewards();
  WriteLog(tuples);
  const OpeReport report = Judge();
  EXPECT_FALSE(report.has_rank_log());
  EXPECT_FALSE(PolicyOf(report, "version:2").has_rankings());
  EXPECT_EQ(FindingOf(report, "unranked_rewards"), nullptr);
  EXPECT_THAT(FormatOpeReport(report), Not(HasSubstr("by rank")));
}

TEST_F(RankingsOpeTest, AnUnknownVersionLeavesOutMarginals) {
  WriteLog(Draw(User::kCascade));
  options_.clear_model_store();
  SetPolicies({"uniform"});
  const OpeReport report = Judge();
  const auto* const finding = FindingOf(report, "without_rank_marginals");
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->sentence(), HasSubstr("3,000 of 3,000 decisions"));
  const OpeRankings rankings = RankingsOf(report, "uniform");
  for (const char* const key : {"iips", "iips_dr", "pi", "adaptive"}) {
    EXPECT_EQ(RowOf(rankings, key), nullptr) << key;
  }
  EXPECT_EQ(TestOf(rankings, "above"), nullptr);
  EXPECT_NE(RowOf(rankings, "rips"), nullptr);
  EXPECT_EQ(ChosenOf(rankings), "cascade_dr");
}

TEST_F(RankingsOpeTest, CountsWhatItCannotUse) {
  auto tuples = Draw(User::kCascade);
  for (size_t i = 5; i < tuples.size(); ++i) {
    if (tuples[i].rank_rewards().empty()) continue;
    tuples[i].mutable_rank_rewards(0)->set_reward(3.5);
    break;
  }
  tuples[1].mutable_decision()->clear_conditional_log_propensities();
  tuples[2].clear_rank_rewards();
  tuples[2].set_has_feedback(true);
  tuples[2].set_reward(1);
  tuples[3].mutable_shown()->set_not_shown(true);
  // A front end may say that nothing came of an order.
  tuples[4].clear_rank_rewards();
  tuples[4].set_has_feedback(true);
  tuples[4].set_reward(0);
  WriteLog(tuples);
  const OpeReport report = Judge();
  EXPECT_EQ(report.rank_log().outside_range(), 1u);
  EXPECT_EQ(report.rank_log().left_out(), 1u);
  EXPECT_EQ(report.rank_log().without_ranks(), 1u);
  EXPECT_EQ(report.rank_log().shown_otherwise(), 1u);
  EXPECT_EQ(report.rank_log().decisions(), uint64_t{kDecisions - 1});
  for (const char* const kind :
       {"rank_reward_range", "without_rank_propensities", "unranked_rewards",
        "ranks_shown_otherwise"}) {
    EXPECT_NE(FindingOf(report, kind), nullptr) << kind;
  }
}

// The store agrees with a log of orders that are cut to what was seen.
TEST_F(RankingsOpeTest, SeenRanksDoNotContradictTheStore) {
  auto tuples = Draw(User::kCascade);
  for (auto& tuple : tuples) tuple.mutable_shown()->set_seen_ranks(2);
  WriteLog(tuples);
  const OpeReport report = Judge();
  EXPECT_LT(report.counted_ranks(), report.logged_ranks());
  EXPECT_EQ(FindingOf(report, "other_propensities"), nullptr);
  // Rows by rank go by what was shown.
  ExpectNear(RankingsOf(report), "rips", judged_.Value(User::kCascade));
}

}  // namespace
}  // namespace sortition
