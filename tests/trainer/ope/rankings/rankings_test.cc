// Rewards by rank in `ope`, against enumerations of all orders.

#include "core/policies/distribution_factory.h"
#include "tests/testing/refusal_table.h"
#include "tests/trainer/ope/rankings/rankings_fixture.h"
#include "trainer/ope/ope_text.h"
#include "trainer/ope/rankings/order_view.h"

namespace sortition {
namespace {

using config::v1::OpeEstimate;
using config::v1::OpeRankings;
using config::v1::OpeReport;

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
  EXPECT_THAT(text, HasTexts("version:2 by rank. Read the row cascade_dr",
                             "Do rewards depend on what stands above? Yes"));
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
  EXPECT_NEAR(clicks.gain_alone(), value - logged_.Value(User::kExamine),
              5 * clicks.gain_standard_error());
  // Weights of items are cut, and what the log hardly ever put where users look
  // is not charged.
  EXPECT_FALSE(clicks.has_value());
  EXPECT_FALSE(clicks.has_gain());
  EXPECT_THAT(clicks.no_interval(), HasSubstr("hardly ever put"));
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
  auto tuples = Draw(User::kCascade);
  tuples.resize(400);
  WriteLog(tuples);
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
  auto tuples = Draw(User::kCascade);
  tuples.resize(100);
  WriteLog(tuples);
  ExpectRefusals(
      options_, [](const auto& options) { return Ope(options).status(); },
      {{"rank_weights: 'mean'", "rank_weights is 'mean', must be sum or dcg"},
       {"examination: '0.9,x'",
        "examination has 'x', must be numbers in [0, 1]"},
       {"examination: '0.9,1.5'", "examination has '1.5'"},
       {"examination: '0.9,0.5' click_offsets: '0.1'",
        "click_offsets has 1 numbers, must have as many as examination"},
       {"examination: '0.9,0.5' click_offsets: '0.1,0.6'",
        "click_offsets[1] is 0.6, must be at most 1 - examination[1]"},
       {"click_offsets: '0.1,0.6'",
        "must have as many as examination, which has 0"}});
}

// What `ope` counts of a log of orders, and what it cannot use.

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
  WriteLog(DrawOf(RankModel(kLogged / 2), User::kCascade));
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

// What policies do with logged orders, against the enumeration of all orders.

class OrderViewTest : public testing::Test {
 protected:
  OrderViewTest() {
    for (const float click : kClicks) scores_.push_back(3.0 * double{click});
    law_ = {&version_.model().policy(), distribution_.get(), scores_};
  }

  RankVersion version_{3};
  std::vector<double> scores_;
  std::unique_ptr<const ActionDistribution> distribution_ =
      *MakeActionDistribution(version_.model().policy());
  OrderLaw law_;
  OrderViewer viewer_;
};

TEST_F(OrderViewTest, MarginalsAreThoseOfAllOrders) {
  const std::vector<int32_t> order = {2, 0, 3};
  OrderView view;
  ASSERT_OK(
      viewer_.View(law_, {.order = order, .num_marginals = kRanks}, &view));
  ASSERT_EQ(view.log_conditionals.size(), kRanks);
  double sum = 0;
  for (const double log : view.log_conditionals) sum += log;
  EXPECT_NEAR(std::exp(sum),
              version_.Probability(Action(order.begin(), order.end())), 1e-12);
  for (size_t k = 0; k < kRanks; ++k) {
    for (int32_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(view.marginals[k * 4 + static_cast<size_t>(i)],
                  version_.Marginal(i, k), 1e-8);
    }
  }
  EXPECT_EQ(view.marginal_error, 0);
}

// Each conditional probability is a ratio of probabilities of first ranks.
TEST_F(OrderViewTest, ConditionalsAreRatiosOfOrders) {
  ASSERT_TRUE(HasClosedForm(law_));
  const std::vector<int32_t> above = {1, 3};
  std::vector<double> probabilities(4);
  ConditionalsAfter(law_, above, probabilities);
  const double of_above = version_.Mean([&](const Action& order) {
    return order[0] == 1 && order[1] == 3 ? 1.0 : 0.0;
  });
  EXPECT_EQ(probabilities[1], 0);
  EXPECT_EQ(probabilities[3], 0);
  for (const int32_t i : {0, 2}) {
    EXPECT_NEAR(probabilities[static_cast<size_t>(i)],
                version_.Probability({1, 3, i}) / of_above, 1e-12);
  }
  ConditionalsAfter(law_, {}, probabilities);
  for (int32_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(probabilities[static_cast<size_t>(i)], version_.Marginal(i, 0),
                1e-12);
  }
}

TEST_F(OrderViewTest, UniformIsAlikeForAll) {
  const model::v1::Policy none;
  const auto uniform = MakeUniformDistribution(ActionKind::kRank);
  const OrderLaw law = {&none, uniform.get(), scores_};
  const std::vector<int32_t> order = {2, 0, 3};
  OrderView view;
  ASSERT_OK(viewer_.View(law, {.order = order, .num_marginals = 2}, &view));
  EXPECT_NEAR(view.log_conditionals[1], -std::log(3.0), 1e-12);
  for (const double marginal : view.marginals) EXPECT_EQ(marginal, 0.25);
  std::vector<double> probabilities(4);
  ConditionalsAfter(law, std::vector<int32_t>{2}, probabilities);
  EXPECT_NEAR(probabilities[0], 1.0 / 3, 1e-12);
  EXPECT_EQ(probabilities[2], 0);
}

// The ranks from the first impossible one on are impossible, not those above.
TEST_F(OrderViewTest, ImpossibleOrdersArePossibleAtFirst) {
  model::v1::Policy policy;
  policy.mutable_sorted_ranking();
  policy.set_inverse_temperature(1);
  const auto sorted = MakeActionDistribution(policy);
  ASSERT_OK(sorted);
  const OrderLaw law = {&policy, sorted->get(), scores_};
  EXPECT_FALSE(HasClosedForm(law));
  const std::vector<int32_t> order = {1, 3, 0};  // By score: 1, 3, 2.
  OrderView view;
  ASSERT_OK(viewer_.View(law, {.order = order}, &view));
  EXPECT_EQ(view.log_conditionals[0], 0);
  EXPECT_EQ(view.log_conditionals[1], 0);
  EXPECT_EQ(view.log_conditionals[2], -HUGE_VAL);
}

}  // namespace
}  // namespace sortition
