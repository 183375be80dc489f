// Checks of decisions that came by a traffic split, or that the caller's
// baseline had a part in.
#include <cmath>
#include <optional>

#include "client/validation/decision_checks.h"
#include "client/validation/id_sample.h"
#include "client/validation/mean_weight_check.h"
#include "core/choices/baseline_choice.h"
#include "tests/client/validation/validate_fixture.h"

namespace sortition {
namespace {

// What a check says of some decisions.
template <typename Check>
std::vector<Finding> FindingsOf(
    const std::vector<log::v1::Decision>& decisions) {
  Check check;
  for (const log::v1::Decision& decision : decisions) {
    LogEntry entry;
    entry.decision = &decision;
    check.Take(entry);
  }
  return check.Report();
}

Finding Propensity(const log::v1::Decision& decision) {
  return FindingsOf<PropensityCheck>({decision})[0];
}

log::v1::Decision Selection(int32_t action, double log_propensity) {
  log::v1::Decision decision;
  decision.set_decision_id("d");
  decision.set_model("m");
  decision.set_version(7);
  decision.set_action_kind(log::v1::SELECT);
  decision.set_num_candidates(2);
  decision.mutable_policy()->mutable_softmax_selection();
  decision.add_action(action);
  decision.set_log_propensity(log_propensity);
  return decision;
}

TEST(ChoicesTest, TheBaselineSaysWhatThePropensityIs) {
  log::v1::Decision decision = Selection(0, 0);
  decision.mutable_baseline()->set_mode(model::v1::SHADOW);
  decision.mutable_baseline()->add_action(0);
  EXPECT_EQ(Propensity(decision).level, Level::kPass);
  decision.mutable_baseline()->set_log_propensity(-2);
  EXPECT_EQ(Propensity(decision).level, Level::kFail);
  EXPECT_THAT(Propensity(decision).text, HasSubstr("must be -2 by its"));
  decision.set_log_propensity(-2);
  EXPECT_EQ(Propensity(decision).level, Level::kPass);
}

TEST(ChoicesTest, AMixtureAboveABaselineIsRecomputed) {
  log::v1::Decision decision =
      Selection(1, LogAboveBaseline(0.25, std::log(0.4), false));
  log::v1::BaselineChoice& baseline = *decision.mutable_baseline();
  baseline.set_mode(model::v1::EXPLORE_ABOVE_BASELINE);
  baseline.set_model_probability(0.25);
  baseline.set_model_log_propensity(std::log(0.4));
  baseline.add_action(0);
  EXPECT_EQ(Propensity(decision).level, Level::kPass);
  baseline.set_action(0, 1);  // It would have done the same: 0.1 + 0.75.
  EXPECT_THAT(Propensity(decision).text,
              HasSubstr("log_propensity is -2.3025850929940"));
  decision.set_log_propensity(std::log(0.85));
  EXPECT_EQ(Propensity(decision).level, Level::kPass);
  baseline.set_model_probability(0);
  EXPECT_THAT(Propensity(decision).text,
              HasSubstr("baseline.model_probability is 0"));
}

TEST(ChoicesTest, AMixtureOfArmsIsAtLeastTheOwnPart) {
  log::v1::Decision decision = Selection(1, std::log(0.4));
  decision.mutable_arm()->set_probability(0.3);
  EXPECT_EQ(Propensity(decision).level, Level::kPass);  // An F-score game.
  decision.mutable_arm()->set_mixture_log_propensity(std::log(0.13));
  EXPECT_EQ(Propensity(decision).level, Level::kPass);
  decision.mutable_arm()->set_mixture_log_propensity(std::log(0.11));
  EXPECT_THAT(Propensity(decision).text,
              HasSubstr("arm.mixture_log_propensity is"));
  decision.mutable_arm()->set_mixture_log_propensity(0.5);
  EXPECT_EQ(Propensity(decision).level, Level::kFail);
  decision.mutable_arm()->set_probability(1.5);
  EXPECT_THAT(Propensity(decision).text, HasSubstr("arm.probability is 1.5"));
}

// Two arms of a half each choose the first of two with 0.9 and 0.3: together
// with 0.6. The line of the mixture is over both, and finds a wrong one.
TEST(ChoicesTest, TheMeanWeightOfASplitIsThatOfTheMixture) {
  for (const double wrong : {1.0, 0.5}) {
    std::vector<log::v1::Decision> decisions;
    RandomSequence random(SeedKey(3));
    for (int i = 0; i < 4000; ++i) {
      const bool is_first_arm = random.Uniform() < 0.5;
      const double first = is_first_arm ? 0.9 : 0.3;
      const int32_t action = random.Uniform() < first ? 0 : 1;
      log::v1::Decision& decision = decisions.emplace_back(
          Selection(action, std::log(action == 0 ? first : 1 - first)));
      decision.set_version(is_first_arm ? 7 : 8);
      decision.mutable_arm()->set_probability(0.5);
      decision.mutable_arm()->set_primary_version(8);
      decision.mutable_arm()->set_mixture_log_propensity(
          std::log(wrong * (action == 0 ? 0.6 : 0.4)));
    }
    std::vector<std::string> names;
    for (const Finding& finding : FindingsOf<MeanWeightCheck>(decisions)) {
      const bool is_mixture =
          finding.text.find("m split beside version 8 SELECT") == 0;
      names.push_back(is_mixture ? "mixture" : "version");
      EXPECT_EQ(finding.level,
                is_mixture && wrong != 1 ? Level::kFail : Level::kPass)
          << finding.text;
    }
    EXPECT_THAT(names,
                testing::UnorderedElementsAre("version", "version", "mixture"));
  }
}

TEST(ChoicesTest, WhatIsInterleavedCanBe) {
  log::v1::Decision good = Selection(1, std::log(0.4));
  good.set_action_kind(log::v1::RANK);
  log::v1::Interleaving& interleaving = *good.mutable_interleaving();
  interleaving.set_other_version(8);
  interleaving.set_method(model::v1::Interleave::TEAM_DRAFT);
  interleaving.set_probability(0.5);
  EXPECT_EQ(Propensity(good).level, Level::kPass);
  using Decision = log::v1::Decision;
  const std::pair<std::function<void(Decision*)>, std::string> kCases[] = {
      {[](auto* d) { d->mutable_interleaving()->set_other_version(7); },
       "interleaving.other_version is 7"},
      {[](auto* d) { d->mutable_interleaving()->clear_method(); },
       "interleaving.method is 0"},
      {[](auto* d) { d->mutable_interleaving()->set_probability(1.5); },
       "interleaving.probability is 1.5"},
      {[](auto* d) { d->set_action_kind(log::v1::SELECT); },
       "interleaving is set, must be"},
      {[](auto* d) { d->mutable_arm()->set_probability(0.5); },
       "interleaving is set, must be"}};
  for (const auto& [change, text] : kCases) {
    Decision bad = good;
    change(&bad);
    EXPECT_THAT(Propensity(bad).text, HasSubstr(text));
  }
}

// They are certain: nothing was drawn. A caller that draws may leave actions
// no chance.
TEST(ChoicesTest, BaselinesAreNoDrawsOfTheVersion) {
  std::vector<log::v1::Decision> certain(200, Selection(0, 0));
  for (log::v1::Decision& decision : certain) {
    decision.mutable_baseline()->set_mode(model::v1::OFF);
  }
  EXPECT_EQ(FindingsOf<MeanWeightCheck>(certain)[0].text, "no draws");
  for (log::v1::Decision& decision : certain) {
    decision.mutable_baseline()->set_log_propensity(0);
  }
  EXPECT_THAT(FindingsOf<MeanWeightCheck>(certain)[0].text,
              HasSubstr("not all actions are drawn"));
}

// Reports about ranks that were not decided are found.

class RanksTest : public ValidateFixture {
 protected:
  // Orders of three ranks.
  static Tuples Orders() {
    return Log({.version = 0, .kind = log::v1::RANK, .top_k = 3}, 500);
  }
  static void AddRankReward(uint32_t rank, log::v1::BanditTuple* tuple) {
    log::v1::RankReward* reward = tuple->add_rank_rewards();
    reward->set_rank(rank);
    reward->set_reward(1);
    reward->set_count(1);
  }
  void ExpectWarning(const std::string& text) {
    ExpectOnly("ranks", Level::kWarn, text);
  }
};

TEST_F(RanksTest, EveryRankOfTheActionMayBeRewardedAndSeen) {
  Tuples tuples = Orders();
  for (uint32_t rank = 0; rank < 3; ++rank) {
    AddRankReward(rank, &tuples[4]);
    tuples[rank].mutable_shown()->set_seen_ranks(rank + 1);
  }
  Write(tuples);
  EXPECT_THAT(Found(), IsEmpty());
  std::optional<std::string> text;
  for (const CheckResult& result : Validate()) {
    if (result.check == "ranks") text = result.finding.text;
  }
  EXPECT_EQ(text,
            "the rewards of ranks of 1 tuples and what was seen of 3 are "
            "within their actions");
}

TEST_F(RanksTest, FeedbackAboutARankBeyondTheAction) {
  Tuples tuples = Orders();
  AddRankReward(2, &tuples[4]);
  AddRankReward(0, &tuples[6]);
  AddRankReward(3, &tuples[6]);
  Write(tuples);
  ExpectWarning(
      "decision d6: feedback is about rank 3, must be in [0, 3), the ranks of "
      "the action");
  EXPECT_THAT(Found().at("ranks").text,
              HasSubstr("1 of 2 tuples with rewards of ranks"));
}

TEST_F(RanksTest, FeedbackAboutACandidateThatIsNotInTheAction) {
  Tuples tuples = Orders();
  tuples[5].add_feedback()->set_index(
      static_cast<uint32_t>(tuples[5].decision().action(0)));
  tuples[6].add_feedback()->set_index(99);
  // A candidate shown in place of the action has a rank, too.
  tuples[7].mutable_shown()->add_shown(98);
  tuples[7].add_feedback()->set_index(98);
  Write(tuples);
  EXPECT_THAT(
      Found().at("ranks").text,
      testing::AllOf(HasSubstr("1 of 3 tuples with feedback about candidates"),
                     HasSubstr("decision d6: feedback is about document_index "
                               "99, must be about a candidate of the action")));
}

TEST_F(RanksTest, FeedbackAboutACandidateThatTheRequestDidNotHave) {
  log::v1::LogRecord record;
  log::v1::LateFeedback& late = *record.mutable_late();
  late.set_reason(log::v1::LateFeedback::AFTER_WINDOW);
  late.mutable_feedback()->set_decision_id("d1");
  late.mutable_feedback()->set_index(99);
  more_.push_back(record);
  late.set_reason(log::v1::LateFeedback::NO_SUCH_CANDIDATE);
  late.mutable_feedback()->set_decision_id("d2");
  more_.push_back(record);
  Write(Orders());
  EXPECT_THAT(Found().at("ranks").text,
              testing::AllOf(
                  HasSubstr("1 of 2 late feedback"),
                  HasSubstr("feedback of decision d2 is about document_index "
                            "99, must be below the number of candidates")));
}

TEST_F(RanksTest, MoreRanksSeenThanDecided) {
  for (const uint32_t seen : {0u, 4u}) {
    Tuples tuples = Orders();
    tuples[5].mutable_shown()->set_seen_ranks(seen);
    tuples[7].mutable_shown()->set_seen_ranks(3);
    Write(tuples);
    ExpectWarning(absl::StrCat("decision d5: seen_ranks is ", seen,
                               ", must be in [1, 3], the ranks of the action"));
    EXPECT_THAT(Found().at("ranks").text,
                HasSubstr("1 of 2 tuples with seen_ranks"));
    std::filesystem::remove(path_);
  }
}

// Nothing can be seen of it, and no rank of it be rewarded.
TEST_F(RanksTest, AnAbstentionHasNoRanks) {
  Logger logger;
  logger.version = 0;
  Tuples tuples = Log(logger, 500);
  log::v1::Decision& decision = *tuples[3].mutable_decision();
  decision.set_action(0, -1);
  tuples[3].mutable_shown()->set_seen_ranks(1);
  Write(tuples);
  const auto found = Found();
  ASSERT_TRUE(found.contains("ranks"));
  EXPECT_THAT(found.at("ranks").text,
              HasSubstr("seen_ranks is 1, must be unset"));
}

// Draws i of m with probability p_i, in proportion to exp(spread * z_i), and
// returns the group of weights (1 / m) / (p_i + error).
Finding DrawWeights(uint64_t seed, double spread, double factor, int n) {
  constexpr int kChoices = 20;
  WeightGroup group;
  RandomSequence random(SeedKey(seed));
  for (int i = 0; i < n; ++i) {
    double p[kChoices];
    double sum = 0;
    for (double& value : p) sum += value = std::exp(spread * random.Normal());
    double place = sum * random.Uniform();
    int chosen = 0;
    while (chosen + 1 < kChoices && place >= p[chosen]) place -= p[chosen++];
    group.Add(-std::log(kChoices * factor * p[chosen] / sum));
  }
  return group.Report("g", true);
}

TEST(MeanWeightTest, RightPropensitiesPassHoweverHeavyTheWeights) {
  for (const double spread : {0.0, 0.5, 1.0, 2.0, 3.0, 5.0}) {
    for (uint64_t seed = 1; seed <= 40; ++seed) {
      const Finding finding = DrawWeights(seed, spread, 1, 2000);
      EXPECT_EQ(finding.level, Level::kPass)
          << "spread " << spread << " seed " << seed << ": " << finding.text;
    }
  }
}

TEST(MeanWeightTest, PropensitiesThatAreOffByAFactorFail) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    EXPECT_EQ(DrawWeights(seed, 1, 1.5, 20000).level, Level::kFail);
    EXPECT_EQ(DrawWeights(seed, 1, 1 / 1.5, 20000).level, Level::kFail);
  }
}

TEST(MeanWeightTest, FewWeightsSayNothing) {
  EXPECT_THAT(DrawWeights(1, 1, 100, 99).text, HasSubstr("too few to tell"));
  EXPECT_EQ(DrawWeights(1, 1, 100, 99).level, Level::kPass);
}

TEST(IdSampleTest, FindsEveryRepetitionWithinItsShare) {
  constexpr int kIds = 10000;
  IdSample all(1 << 20);
  IdSample some(64 << 10);
  int found_all = 0;
  int found_some = 0;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < kIds; ++i) {
      found_all += all.Insert("id" + std::to_string(i));
      found_some += some.Insert("id" + std::to_string(i));
    }
  }
  EXPECT_EQ(all.share(), 1);
  EXPECT_EQ(found_all, kIds);
  // 64 KiB hold 1,680 ids: an eighth of them. Binomial(10000, 1/8): mean 1250,
  // deviation 33; 5 of them.
  EXPECT_EQ(some.share(), 0.125);
  EXPECT_NEAR(found_some, 1250, 165);
}

}  // namespace
}  // namespace sortition
