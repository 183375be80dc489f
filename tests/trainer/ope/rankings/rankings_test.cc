// Rewards by rank in `ope`, against enumerations of all orders.
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/trainer/ope/rankings/rankings_fixture.h"
#include "trainer/ope/ope_text.h"

namespace sortition {
namespace {

using config::v1::OpeEstimate;
using config::v1::OpeRankings;
using config::v1::OpeReport;
using testing::HasSubstr;
using testing::Not;

TEST_F(RankingsOpeTest, PrefixRowsAreRightForCascades) {
  WriteLog(Draw(User::kCascade));
  const OpeReport report = Judge();
  const OpeRankings rankings = RankingsOf(report);
  const double value = judged_.Value(User::kCascade);
  for (const char* const key :
       {"shown", "sn_shown", "shown_dr", "rips", "snrips", "cascade_dr"}) {
    ExpectNear(rankings, key, value);
  }
  const double biased = ItemPosition(User::kCascade);
  EXPECT_GT(std::abs(biased - value), 0.1);
  ExpectNear(rankings, "iips", biased);
  EXPECT_GT(RowOf(rankings, "iips")->value().lower(), value);
  EXPECT_LT(RowOf(rankings, "cascade_dr")->standard_error(),
            RowOf(rankings, "shown")->standard_error());
  const double gain = value - logged_.Value(User::kCascade);
  const OpeEstimate& rips = *RowOf(rankings, "rips");
  EXPECT_NEAR(rips.gain().value(), gain, 5 * rips.gain_standard_error());
  EXPECT_GT(rips.effective_sample_size(), 50);
  EXPECT_LT(rips.effective_sample_size(), kDecisions);

  ASSERT_NE(TestOf(rankings, "above"), nullptr);
  EXPECT_TRUE(TestOf(rankings, "above")->rejected());
  ASSERT_NE(TestOf(rankings, "below"), nullptr);
  EXPECT_FALSE(TestOf(rankings, "below")->rejected());
  EXPECT_EQ(ChosenOf(rankings), "cascade_dr");
  EXPECT_THAT(rankings.guidance(), HasSubstr("depend on what stands above"));
  const auto* const finding =
      FindingOf(PolicyOf(report, "version:2"), "rewards_depend_above");
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->sentence(), HasSubstr("Read the row cascade_dr"));
  EXPECT_FALSE(rankings.has_marginal_error());
  const std::string text = FormatOpeReport(report);
  EXPECT_THAT(text, HasSubstr("version:2 by rank. Read the row cascade_dr"));
  EXPECT_THAT(text, HasSubstr("Do rewards depend on what stands above? Yes"));
}

TEST_F(RankingsOpeTest, AllRowsAreRightForUsersOfSingleRanks) {
  WriteLog(Draw(User::kExamine));
  options_.mutable_examination()->Add("0.9,0.6,0.3");
  const OpeReport report = Judge();
  const OpeRankings rankings = RankingsOf(report);
  const double value = judged_.Value(User::kExamine);
  for (const char* const key :
       {"shown", "shown_dr", "rips", "cascade_dr", "iips", "sniips", "iips_dr",
        "pi", "snpi", "pi_dr", "adaptive", "clicks"}) {
    ExpectNear(rankings, key, value);
  }
  EXPECT_LT(RowOf(rankings, "iips")->standard_error(),
            RowOf(rankings, "rips")->standard_error());
  EXPECT_LT(RowOf(rankings, "clicks")->standard_error(),
            RowOf(rankings, "rips")->standard_error());
  const OpeEstimate& clicks = *RowOf(rankings, "clicks");
  EXPECT_NEAR(clicks.gain().value(), value - logged_.Value(User::kExamine),
              5 * clicks.gain_standard_error());
  EXPECT_FALSE(TestOf(rankings, "above")->rejected());
  EXPECT_THAT(rankings.guidance(), HasSubstr("no test contradicts"));
  EXPECT_EQ(FindingOf(PolicyOf(report, "version:2"), "rewards_depend_above"),
            nullptr);
}

TEST_F(RankingsOpeTest, UsersWhoLookBelowContradictPrefixes) {
  WriteLog(Draw(User::kBelow));
  const OpeReport report = Judge();
  const OpeRankings rankings = RankingsOf(report);
  const double value = judged_.Value(User::kBelow);
  ExpectNear(rankings, "shown", value);
  ExpectNear(rankings, "shown_dr", value);
  EXPECT_TRUE(TestOf(rankings, "below")->rejected());
  EXPECT_EQ(ChosenOf(rankings), "shown_dr");
  EXPECT_NE(FindingOf(PolicyOf(report, "version:2"), "rewards_depend_below"),
            nullptr);
}

// A file of scores is Plackett-Luce, too; its rows are those of the version.
TEST_F(RankingsOpeTest, ScoresAreAsTheVersion) {
  WriteLog(Draw(User::kCascade));
  std::string scores;
  for (int i = 0; i < kDecisions; ++i) {
    absl::StrAppend(&scores, "{\"decision_id\":\"d", i, "\",\"scores\":[");
    for (size_t c = 0; c < kClicks.size(); ++c) {
      absl::StrAppend(&scores, c > 0 ? "," : "", kJudged * double{kClicks[c]});
    }
    absl::StrAppend(&scores, "]}\n");
  }
  SetPolicies(
      {"version:2", "uniform",
       absl::StrCat("mine=", Write("mine.jsonl", scores), "@mixture=0.1")});
  options_.set_against("uniform");
  const OpeReport report = Judge();
  const OpeRankings version = RankingsOf(report);
  const OpeRankings file = RankingsOf(report, "mine@mixture=0.1");
  ASSERT_EQ(version.estimates_size(), file.estimates_size());
  for (int i = 0; i < version.estimates_size(); ++i) {
    // Scores are written with six digits.
    EXPECT_NEAR(version.estimates(i).value().value(),
                file.estimates(i).value().value(), 1e-4);
    EXPECT_NEAR(version.estimates(i).gain().value(),
                file.estimates(i).gain().value(), 1e-4);
  }
  const OpeRankings uniform = RankingsOf(report, "uniform");
  EXPECT_GT(uniform.estimates_size(), 0);
  EXPECT_FALSE(uniform.estimates(0).has_gain());
  EXPECT_NEAR(RowOf(version, "rips")->gain().value(),
              RowOf(version, "rips")->value().value() -
                  RowOf(uniform, "rips")->value().value(),
              1e-9);
}

// Of whole orders alone nothing is known of their ranks.
TEST_F(RankingsOpeTest, AProbabilityOfOrdersHasNoRows) {
  auto tuples = Draw(User::kCascade);
  std::string lines;
  for (auto& tuple : tuples) {
    absl::StrAppend(
        &lines, "{\"decision_id\":\"", tuple.decision().decision_id(),
        "\",\"log_probability\":", tuple.decision().log_propensity(), "}\n");
  }
  WriteLog(tuples);
  SetPolicies({"version:2", absl::StrCat("mine=", Write("mine.jsonl", lines))});
  const OpeReport report = Judge();
  EXPECT_TRUE(PolicyOf(report, "version:2").has_rankings());
  EXPECT_FALSE(PolicyOf(report, "mine").has_rankings());
}

TEST_F(RankingsOpeTest, WithoutAModelRowsAreNotDoublyRobust) {
  WriteLog(Draw(User::kCascade));
  options_.set_reward_model("none");
  const OpeRankings rankings = RankingsOf(Judge());
  for (const char* const key :
       {"shown_dr", "cascade_dr", "iips_dr", "direct"}) {
    EXPECT_EQ(RowOf(rankings, key), nullptr) << key;
  }
  EXPECT_EQ(ChosenOf(rankings), "snrips");
}

// Items at ranks of a law without a formula are drawn.
TEST_F(RankingsOpeTest, MarginalsOfOtherLawsAreDrawn) {
  model::v1::Model model = RankModel(kJudged);
  model.mutable_policy()->mutable_plackett_luce()->add_rank_factors(1);
  WriteLog(Draw(User::kCascade));
  Publish(model);
  SetPolicies({"version:2", "version:3"});
  const OpeReport report = Judge();
  const OpeRankings exact = RankingsOf(report);
  const OpeRankings drawn = RankingsOf(report, "version:3");
  EXPECT_GT(drawn.marginal_error(), 0);
  EXPECT_LT(drawn.marginal_error(), 0.05);
  EXPECT_NEAR(RowOf(drawn, "rips")->value().value(),
              RowOf(exact, "rips")->value().value(), 1e-9);
  EXPECT_NEAR(RowOf(drawn, "iips")->value().value(),
              RowOf(exact, "iips")->value().value(), 0.02);
  EXPECT_EQ(RowOf(drawn, "cascade_dr"), nullptr);
}

TEST_F(RankingsOpeTest, RefusesOptionsThatCannotBe) {
  WriteLog(Draw(User::kCascade));
  const auto expect_error = [&](const std::string& text) {
    const auto report = Ope(options_);
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(report.status().message()), HasSubstr(text));
  };
  options_.set_rank_weights("mean");
  expect_error("rank_weights is 'mean', must be sum or dcg");
  options_.clear_rank_weights();
  options_.mutable_examination()->Add("0.9,x");
  expect_error("examination has 'x', must be numbers in [0, 1]");
  options_.set_examination(0, "0.9,1.5");
  expect_error("examination has '1.5'");
  options_.set_examination(0, "0.9,0.5");
  options_.add_click_offsets("0.1");
  expect_error("click_offsets has 1 numbers, must have as many as examination");
  options_.set_click_offsets(0, "0.1,0.6");
  expect_error("click_offsets[1] is 0.6, must be at most 1 - examination[1]");
  options_.clear_examination();
  expect_error("must have as many as examination, which has 0");
}

}  // namespace
}  // namespace sortition
