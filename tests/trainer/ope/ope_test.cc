#include "trainer/ope/ope.h"

#include <filesystem>
#include <functional>
#include <map>

#include "core/counterfactual/evaluation/estimator.h"
#include "tests/testing/refusal_table.h"
#include "tests/trainer/ope/ope_fixture.h"
#include "trainer/ope/ope_text.h"
#include "trainer/ope/ope_words.h"
#include "trainer/ope/page/ope_page.h"

namespace sortition {
namespace {

using config::v1::OpeEstimate;
using config::v1::OpeOptions;
using config::v1::OpePolicy;
using config::v1::OpeReport;
using model::v1::Finding;
using testing::HasSubstr;
using testing::StartsWith;

// Four decisions between two candidates, drawn uniformly.
std::vector<log::v1::BanditTuple> FourTuples() {
  return {SelectionTuple("a", {0.5, 0.5}, 0, 1),
          SelectionTuple("b", {0.5, 0.5}, 1, 0),
          SelectionTuple("c", {0.5, 0.5}, 0, 0),
          SelectionTuple("d", {0.5, 0.5}, 1, 1)};
}
constexpr char kFourProbabilities[] =
    "decision_id,p0,p1\na,0.9,0.1\nb,0.75,0.25\nc,0.75,0.25\nd,0.75,0.25\n";

TEST_F(OpeFixture, FourDecisionsByHand) {
  WriteLog(FourTuples());
  SetPolicies({"mine=" + Write("mine.csv", kFourProbabilities), "uniform"});
  options_.set_reward_model("none");
  const OpeReport report = Judge();
  EXPECT_EQ(report.decisions(), 4u);
  EXPECT_EQ(report.logged().value(), 0.5);
  // Weights are 1.8, 0.5, 1.5, 0.5, and those of rewards 1.8 and 0.5.
  const OpePolicy& mine = PolicyOf(report, "mine");
  EXPECT_NEAR(EstimateOf(mine, "ips").value().value(), 2.3 / 4, 1e-12);
  EXPECT_NEAR(EstimateOf(mine, "ips").gain().value(), 2.3 / 4 - 0.5, 1e-12);
  EXPECT_NEAR(EstimateOf(mine, "snips").value().value(), 2.3 / 4.3, 1e-12);
  // Terms 1.8, 0, 0, 0.5: the squares of deviations from 0.575 add up to
  // 2.1675, and 4/3 · 2.1675 / 16 = 0.425².
  EXPECT_NEAR(EstimateOf(mine, "ips").standard_error(), 0.425, 1e-12);
  EXPECT_NEAR(mine.overlap().effective_sample_size(), 4.3 * 4.3 / 5.99, 1e-9);
  EXPECT_NEAR(mine.effective_sample_size(), 4.3 * 4.3 / 5.99, 1e-9);
  EXPECT_EQ(mine.overlap().largest_weight(), std::exp(std::log(1.8)));
  const OpePolicy& uniform = PolicyOf(report, "uniform");
  EXPECT_EQ(EstimateOf(uniform, "ips").value().value(), 0.5);
  EXPECT_EQ(uniform.answer().gain().value(), 0);
}

// The policy chooses the first candidate of two that the log drew uniformly:
// weights are 2 in every other decision, and 0.
TEST_F(OpeFixture, TheEffectiveSampleSizeIsThatOfTheLogNotOfTheSample) {
  constexpr int kLogDecisions = 3000;
  WriteLog(AlternatingTuples(kLogDecisions, [](int i) { return i % 3 == 0; }));
  SetPolicies(
      {"first=" + Write("first.csv", ProbabilityRows(kLogDecisions, "1,0"))});
  options_.set_reward_model("none");
  options_.set_sample(1000);
  const OpePolicy first = PolicyOf(Judge(), "first");
  EXPECT_LT(first.overlap().tuples(), 1200u);
  EXPECT_NEAR(first.effective_sample_size(), kLogDecisions / 2, 1e-6);
}

// One group has no standard error, but anything is still possible.
TEST_F(OpeFixture, AFewDecisionsAreOneGroup) {
  WriteLog(FourTuples());
  SetPolicies({"mine=" + Write("mine.csv", kFourProbabilities)});
  const OpePolicy mine = PolicyOf(Judge(), "mine");
  EXPECT_FALSE(mine.grouped().has_standard_error());
  EXPECT_FALSE(mine.grouped().has_gain_standard_error());
  EXPECT_EQ(mine.grouped().value().lower(), 0);
  EXPECT_EQ(mine.grouped().value().upper(), 1);
}

TEST_F(OpeFixture, IntervalsSayWhatIsFittedToRewards) {
  WriteLog(FourTuples());
  SetPolicies({"mine=" + Write("mine.csv", kFourProbabilities)});
  options_.set_reward_model("none");
  options_.set_interval("student");
  const auto has_note = [&](const std::string& estimator) {
    options_.set_estimator(estimator);
    const OpePolicy mine = PolicyOf(Judge(), "mine");
    EXPECT_EQ(mine.intervals(0).value_interval(), "student");
    return mine.intervals(0).assumes().find("fits to the rewards") !=
           std::string::npos;
  };
  EXPECT_TRUE(has_note("controlled_ips"));
  EXPECT_FALSE(has_note("ips"));
  EXPECT_FALSE(has_note("snips"));
}

// Clipping makes estimates too low by an amount that no standard error shows.
TEST_F(OpeFixture, RowsWithABiasHaveNoInterval) {
  WriteLog(FourTuples());
  SetPolicies({"mine=" + Write("mine.csv", kFourProbabilities)});
  const OpeReport report = Judge();
  const OpePolicy& mine = PolicyOf(report, "mine");
  int alone = 0;
  for (const auto& row : mine.estimates()) {
    const bool is_biased = IsBiased(*EstimatorOfKey(row.estimator())) &&
                           row.estimator() != "blended_dr";
    EXPECT_EQ(row.has_value_alone(), is_biased) << row.estimator();
    EXPECT_EQ(row.has_no_interval(), is_biased) << row.estimator();
    EXPECT_EQ(row.has_value(), !is_biased) << row.estimator();
    EXPECT_EQ(row.has_gain(), !is_biased) << row.estimator();
    alone += is_biased ? 1 : 0;
  }
  EXPECT_GE(alone, 4);
  const std::string text = FormatOpeReport(report);
  EXPECT_THAT(text, HasSubstr("No interval of clipped"));
  EXPECT_THAT(OpePage(report), HasSubstr("no interval"));
  // If --estimator names it, it is the answer, with an interval of the value.
  options_.set_estimator("clipped");
  options_.set_interval("student");
  const OpePolicy asked = PolicyOf(Judge(), "mine");
  EXPECT_EQ(asked.answer().estimator(), "clipped");
  EXPECT_NE(asked.answer().value_interval(), "student");
  for (const auto& interval : asked.intervals()) {
    EXPECT_NE(interval.value_interval(), "student");
    EXPECT_NE(interval.value_interval(), "bootstrap");
  }
}

// If all propensities of a log are uniform, the probabilities of other actions
// are known. Not so if only some propensities agree with the uniform policy.
TEST_F(OpeFixture, ALogThatAgreesByChanceSaysNothingOfOtherActions) {
  std::string rows = "decision_id,p0,p1,p2\n";
  for (int i = 0; i < 400; ++i) absl::StrAppend(&rows, "d", i, ",1,0,0\n");
  const auto probabilities = Write("one.csv", rows);
  for (const bool is_uniform : {true, false}) {
    std::vector<log::v1::BanditTuple> tuples;
    for (int i = 0; i < 400; ++i) {
      tuples.push_back(SelectionTuple(absl::StrCat("d", i),
                                      {1.0 / 3, 1.0 / 3, 1.0 / 3}, i % 3,
                                      i % 4 == 0 ? 1 : 0));
    }
    if (!is_uniform) {
      tuples.back().mutable_decision()->set_log_propensity(std::log(0.25));
    }
    const std::string directory = dir_.Sub(is_uniform ? "uniform" : "chance");
    WriteSegment(directory, 0, tuples);
    options_.set_tuples(directory);
    SetPolicies({"one=" + probabilities});
    options_.set_reward_model("none");
    const OpePolicy one = PolicyOf(Judge(), "one");
    EXPECT_EQ(one.has_missing_mass(), is_uniform);
    if (is_uniform) {
      EXPECT_EQ(one.missing_mass(), 0);
    }
  }
}

// Of two actions the one that was not logged has the rest of the probability,
// whatever policy logged: an A/B test of another system needs no model store.
TEST_F(OpeFixture, TheOtherOfTwoActionsHasTheRest) {
  const auto probabilities = Write("second.csv", ProbabilityRows(400, "0,1"));
  for (const double first : {0.25, 1.0}) {
    std::vector<log::v1::BanditTuple> tuples;
    for (int i = 0; i < 400; ++i) {
      const int action = first < 1 && i % 4 > 0 ? 1 : 0;
      tuples.push_back(SelectionTuple(absl::StrCat("d", i), {first, 1 - first},
                                      action, i % 5 == 0 ? 1 : 0));
    }
    const std::string directory = dir_.Sub(first < 1 ? "explored" : "certain");
    WriteSegment(directory, 0, tuples);
    options_.set_tuples(directory);
    SetPolicies({"second=" + probabilities});
    options_.set_reward_model("none");
    const OpePolicy second = PolicyOf(Judge(), "second");
    ASSERT_TRUE(second.has_missing_mass());
    EXPECT_EQ(second.missing_mass(), first < 1 ? 0 : 1);
  }
}

TEST_F(OpeFixture, RewardsAreInTheirUnits) {
  auto tuples = FourTuples();
  for (auto& tuple : tuples) tuple.set_reward(10 * tuple.reward() - 4);
  WriteLog(tuples);
  options_.set_reward_min(-4);
  options_.set_reward_max(6);
  options_.set_reward_model("none");
  SetPolicies({"mine=" + Write("mine.csv", kFourProbabilities)});
  const OpeReport report = Judge();
  EXPECT_NEAR(report.logged().value(), 1, 1e-12);
  const auto& ips = EstimateOf(PolicyOf(report, "mine"), "ips");
  EXPECT_NEAR(ips.value().value(), 10 * 0.575 - 4, 1e-12);
  EXPECT_NEAR(ips.gain().value(), 0.75, 1e-12);
  EXPECT_NEAR(ips.standard_error(), 4.25, 1e-11);
}

TEST_F(OpeFixture, LongFilesAndScoresMeanTheSameAsProbabilities) {
  WriteLog(FourTuples());
  std::string rows = "decision_id,document_index,probability\n";
  std::string scores;
  const std::map<std::string, double> firsts = {
      {"a", 0.9}, {"b", 0.75}, {"c", 0.75}, {"d", 0.75}};
  for (const auto& [id, first] : firsts) {
    absl::StrAppend(&rows, id, ",1,", 1 - first, "\n", id, ",0,", first, "\n");
    absl::StrAppend(&scores, "{\"decision_id\": \"", id, "\", \"scores\": [",
                    std::log(first) + 3, ", ", std::log(1 - first) + 3, "]}\n");
  }
  SetPolicies({"wide=" + Write("wide.csv", kFourProbabilities),
               "long=" + Write("long.csv", rows),
               "scores=" + Write("scores.jsonl", scores)});
  const OpeReport report = Judge();
  for (const char* const name : {"long", "scores"}) {
    for (const auto& estimate : PolicyOf(report, "wide").estimates()) {
      EXPECT_NEAR(EstimateOf(PolicyOf(report, name), estimate.estimator())
                      .value()
                      .value(),
                  estimate.value().value(), 1e-5)
          << name << " " << estimate.estimator();
    }
  }
}

TEST_F(OpeFixture, TemperatureAndMixtureOfAFile) {
  WriteLog(FourTuples());
  const std::string path = Write("mine.csv", kFourProbabilities);
  SetPolicies(
      {"mine=" + path + "@mixture=0.5", "mine=" + path + "@temperature=0.5"});
  options_.set_reward_model("none");
  const OpeReport report = Judge();
  // Halfway to uniform: weights 1.4 and 0.75 of the rewards.
  EXPECT_NEAR(
      EstimateOf(PolicyOf(report, "mine@mixture=0.5"), "ips").value().value(),
      (1.4 + 0.75) / 4, 1e-12);
  // Squares: 0.81 of 0.82, and 0.0625 of 0.625.
  EXPECT_NEAR(EstimateOf(PolicyOf(report, "mine@temperature=0.5"), "ips")
                  .value()
                  .value(),
              2 * (0.81 / 0.82 + 0.1) / 4, 1e-12);
}

TEST_F(OpeFixture, ConstantsAreJudgedByUnitsThatDidNotChooseThem) {
  std::vector<log::v1::BanditTuple> tuples;
  // Rewards do not depend on the action: among 20 constants the best of a
  // sample looks good on this sample.
  const std::vector<double> uniform(20, 0.05);
  RandomSequence random(StableHash(HashDomain::kSimulation, {"constant"}));
  for (int i = 0; i < 4000; ++i) {
    tuples.push_back(SelectionTuple(absl::StrCat("d", i), uniform,
                                    static_cast<int32_t>(20 * random.Uniform()),
                                    random.Uniform() < 0.3));
  }
  WriteLog(tuples);
  SetPolicies({"constant"});
  const OpePolicy constant = Judge().policies(0);
  // The standard error is some √(20 · 0.3 / 4000) = 0.04; the best of 20 on its
  // own data would be some 1.9 standard errors too high.
  const auto& ips = EstimateOf(constant, "ips");
  EXPECT_NEAR(ips.value().value(), 0.3, 2 * 0.04);
  EXPECT_LT(ips.value().lower(), 0.3);
  EXPECT_GT(ips.value().upper(), 0.3);
}

TEST_F(OpeFixture, DecisionsThatAFileLacksAreLeftOutForAll) {
  WriteLog(AlternatingTuples(200, [](int i) { return i % 3 == 0; }));
  std::string all = ProbabilityRows(200, "0.5,0.5");
  const std::string lacking = "d7,0.5,0.5\n";
  all.erase(all.find(lacking), lacking.size());
  SetPolicies({"mine=" + Write("mine.csv", all), "uniform"});
  const OpeReport report = Judge();
  EXPECT_EQ(report.decisions(), 199u);
  EXPECT_EQ(report.excluded().at("a file lacks its probabilities"), 1u);
  EXPECT_EQ(PolicyOf(report, "mine").without_probabilities(), 1u);
  EXPECT_EQ(PolicyOf(report, "uniform").without_probabilities(), 0u);
  EXPECT_EQ(PolicyOf(report, "mine").answer().value().value(),
            PolicyOf(report, "uniform").answer().value().value());
}

TEST_F(OpeFixture, UnitsWidenIntervalsAndSameUnitsDoNot) {
  // Each of 100 units has 20 decisions with one reward.
  auto tuples = AlternatingTuples(2000, [](int i) { return i / 20 % 3 == 0; });
  for (size_t i = 0; i < tuples.size(); ++i) {
    tuples[i].mutable_decision()->set_unit_id(absl::StrCat("u", i / 20));
  }
  WriteLog(tuples);
  SetPolicies({"uniform"});
  const OpeReport others = Judge();
  EXPECT_TRUE(others.units_named());
  EXPECT_EQ(others.units(), 100u);
  options_.set_units("same");
  const OpeReport same = Judge();
  EXPECT_THAT(same.question(), HasSubstr("these very units"));
  const auto width = [](const OpeReport& report) {
    const auto& value = EstimateOf(PolicyOf(report, "uniform"), "ips").value();
    return value.upper() - value.lower();
  };
  // √20 = 4.5 times as wide; groups of 100 units are fewer.
  EXPECT_NEAR(width(others) / width(same), std::sqrt(20.0), 0.7);
}

// 19 units of 10 decisions and one of 110: 11 times the others, 7.3 times the
// mean of 15. One of 310 is 31 times the others, and 12.4 times the mean of 25.
TEST_F(OpeFixture, AUnitFarLargerThanTheMeanIsAFinding) {
  SetPolicies({"uniform"});
  for (const int largest : {110, 310}) {
    std::filesystem::remove_all(dir_.Sub("tuples"));
    auto tuples =
        AlternatingTuples(190 + largest, [](int i) { return i % 3 == 0; });
    for (size_t i = 0; i < tuples.size(); ++i) {
      tuples[i].mutable_decision()->set_unit_id(
          absl::StrCat("u", std::min<size_t>(i / 10, 19)));
    }
    WriteLog(tuples);
    const OpeReport report = Judge();
    const auto* finding = FindingOf(report, "unequal_units");
    ASSERT_EQ(finding != nullptr, largest == 310);
    if (finding == nullptr) continue;
    EXPECT_THAT(finding->sentence(),
                HasSubstr("The largest unit has 310 decisions, the mean unit "
                          "25."));
  }
}

// Arm and draw are functions of the id: each of 100 ids, with 20 decisions of
// one reward, is one unit, also where units are not asked for.
TEST_F(OpeFixture, RepeatedDecisionIdsAreUnits) {
  auto tuples = AlternatingTuples(2000, [](int i) { return i / 20 % 3 == 0; });
  WriteLog(tuples);
  SetPolicies({"uniform"});
  const auto width = [](const OpeReport& report) {
    const auto& value = EstimateOf(PolicyOf(report, "uniform"), "ips").value();
    return value.upper() - value.lower();
  };
  const double each_its_own = width(Judge());
  std::filesystem::remove_all(dir_.Sub("tuples"));
  for (size_t i = 0; i < tuples.size(); ++i) {
    tuples[i].mutable_decision()->set_decision_id(absl::StrCat("d", i / 20));
  }
  WriteLog(tuples);
  for (const char* units : {"new", "same"}) {
    options_.set_units(units);
    const OpeReport report = Judge();
    EXPECT_NEAR(width(report) / each_its_own, std::sqrt(20.0), 0.7) << units;
    EXPECT_EQ(report.units(), 100u);
    EXPECT_FALSE(report.units_named());
    EXPECT_THAT(report.question(), HasSubstr("repeat"));
  }
}

TEST_F(OpeFixture, AFewUnitsAreJudged) {
  // One group of neighbours, too few for an interval of that kind.
  auto tuples = AlternatingTuples(6, [](int i) { return i % 2 == 0; });
  for (size_t i = 0; i < tuples.size(); ++i) {
    tuples[i].mutable_decision()->set_unit_id(absl::StrCat("u", i / 2));
  }
  WriteLog(tuples);
  SetPolicies({"uniform"});
  const auto& grouped = PolicyOf(Judge(), "uniform").grouped().value();
  EXPECT_DOUBLE_EQ(grouped.value(), 0.5);
  EXPECT_LT(grouped.lower(), 0.25);
  EXPECT_GT(grouped.upper(), 0.75);
}

TEST_F(OpeFixture, SegmentsDaysAndLogAddUp) {
  auto tuples = MakeTuples({.can_abstain = false}, 600);
  for (size_t i = 0; i < tuples.size(); ++i) {
    auto* const decision = tuples[i].mutable_decision();
    decision->set_time_us(1700000000000000 +
                          static_cast<int64_t>(i) * 400 * 1000000);
    if (i % 3 > 0) {
      (*decision->mutable_attributes())["device"] =
          i % 3 == 1 ? "phone" : "tablet";
    }
  }
  WriteLog(tuples);
  SetPolicies({"uniform", "constant"});
  options_.set_estimator("ips");
  const OpeReport report = Judge();
  const double whole = PolicyOf(report, "uniform").answer().value().value();
  ASSERT_EQ(report.segments_size(), 3);
  EXPECT_EQ(report.segments(2).name(), "device = (none)");
  ASSERT_EQ(report.days_size(), 4);
  EXPECT_EQ(report.days(0).name(), "2023-11-14");
  for (const auto* const slices : {&report.segments(), &report.days()}) {
    double sum = 0;
    uint64_t decisions = 0;
    for (const auto& slice : *slices) {
      const auto n = static_cast<double>(slice.decisions());
      sum += n * slice.policies(0).value().value();
      decisions += slice.decisions();
      // All of them hold at once, for both policies.
      EXPECT_NEAR(slice.policies(0).value().confidence(),
                  1 - 0.05 / (2 * slices->size()), 1e-12);
    }
    EXPECT_EQ(decisions, 600u);
    EXPECT_NEAR(sum / 600, whole, 1e-12);
  }
}

TEST_F(OpeFixture, GuardrailsFailWhereAFallIsPossible) {
  WriteLog(AlternatingTuples(2000, [](int i) { return i % 2; }));
  std::string complaints = "decision_id,reward\n";
  // Action 1 has complaints in a fifth of the cases, action 0 has none.
  for (int i = 1; i < 2000; i += 10) {
    absl::StrAppend(&complaints, "d", i, ",-1\n");
  }
  SetPolicies({"always=" + Write("always.csv", ProbabilityRows(2000, "0,1"))});
  const std::string file = Write("complaints.csv", complaints) +
                           "@horizon=0s@sparse@through=2023-01-01";
  options_.add_rewards("a=" + file);
  options_.add_rewards("b=" + file);
  options_.add_guardrails("a:0.105");
  options_.add_guardrails("b:0.2");
  const OpeReport report = Judge();
  const OpePolicy& policy = report.policies(0);
  // From -0.1 to -0.2, ± 2 √(0.1 · 0.9 / 2000) = 0.013: the first allows the
  // change that was seen, but not the lower end.
  ASSERT_EQ(policy.more_rewards_size(), 2);
  EXPECT_NEAR(policy.more_rewards(0).value().value(), -0.2, 0.02);
  EXPECT_NEAR(policy.more_rewards(0).gain().value(), -0.1, 0.02);
  ASSERT_EQ(policy.guardrails_size(), 2);
  EXPECT_FALSE(policy.guardrails(0).holds());
  EXPECT_TRUE(policy.guardrails(1).holds());
  EXPECT_THAT(policy.verdict(),
              HasSubstr("it is not shown that 'a' falls by at most 0.105"));
  // All are judged: those without a row had no complaint.
  EXPECT_EQ(report.reward_coverage(0).judged(), 2000u);
  EXPECT_EQ(FindingOf(report, "missing_rewards"), nullptr);
}

TEST_F(OpeFixture, PlansAskForMoreThanThisLogFailedWith) {
  // Nearly all rewards are 1: SNIPS is precise, and bets, which go by IPS, are
  // not.
  WriteLog(AlternatingTuples(200, [](int i) { return i % 20 > 0; }));
  const auto favoured = [](int i) { return i % 4 < 2 ? "1,0" : "0,1"; };
  SetPolicies({"mine=" + Write("mine.csv", ProbabilityRows(200, favoured))});
  options_.set_reward_model("none");
  options_.set_estimator("snips");
  options_.set_interval("betting");
  const OpeReport report = Judge();
  const auto& gain = report.policies(0).answer().gain();
  ASSERT_EQ(report.policies(0).answer().gain_interval(), "betting");
  const double distance = gain.value() - gain.lower();
  ASSERT_GT(report.plans_size(), 0);
  for (const auto& plan : report.plans()) {
    const double ratio = distance / plan.improvement();
    EXPECT_GE(static_cast<double>(plan.decisions()), 200 * ratio * ratio)
        << plan.improvement();
  }
}

TEST_F(OpeFixture, CategoriesMarginaliseWeights) {
  // Two categories of two candidates; the log prefers one candidate of each,
  // the policy the other.
  std::vector<log::v1::BanditTuple> tuples;
  std::string file = "decision_id,p0,p1,p2,p3\n";
  for (int i = 0; i < 400; ++i) {
    const std::string id = absl::StrCat("d", i);
    tuples.push_back(
        SelectionTuple(id, {0.25, 0.25, 0.25, 0.25}, i % 4, i % 4 >= 2));
    for (const char* const candidate : {"x:0", "x:1", "y:0", "y:1"}) {
      tuples.back().mutable_decision()->add_candidate_ids(candidate);
    }
    absl::StrAppend(&file, id, ",0.4,0,0.6,0\n");
  }
  WriteLog(tuples);
  SetPolicies({"mine=" + Write("mine.csv", file)});
  options_.set_categories("ids");
  const OpePolicy mine = Judge().policies(0);
  // Weights 0.8 and 1.2 by category; each category has half of the decisions.
  EXPECT_NEAR(EstimateOf(mine, "marginalised").value().value(), 0.6, 1e-12);
  EXPECT_LT(EstimateOf(mine, "marginalised").standard_error(),
            EstimateOf(mine, "ips").standard_error() / 1.5);
}

// What stands in a verdict beside the numbers.

// Two policies that are shown to earn more than the log; the first earns most.
class VerdictTest : public testing::Test {
 protected:
  VerdictTest() {
    report_.set_against("log");
    report_.set_confidence(0.95);
    for (const double gain : {0.3, 0.2}) {
      OpePolicy* const policy = report_.add_policies();
      policy->set_name(gain == 0.3 ? "newest" : "uniform");
      auto* const estimate = policy->mutable_answer()->mutable_gain();
      estimate->set_value(gain);
      estimate->set_lower(gain - 0.1);
      estimate->set_upper(gain + 0.1);
    }
  }
  static void Find(const std::string& kind, Finding::Gravity gravity,
                   Finding* finding) {
    finding->set_kind(kind);
    finding->set_gravity(gravity);
    finding->set_sentence("A sentence.");
  }
  std::string Overall() const {
    std::vector<OpeEstimate> gains;
    for (const OpePolicy& policy : report_.policies()) {
      gains.push_back(policy.answer());
    }
    return OverallVerdict(report_, gains);
  }
  std::string OfFirst() const {
    return PolicyVerdict(OpeOptions(), report_, report_.policies(0),
                         /*is_compared_with=*/false, /*is_log=*/false, 0);
  }
  OpeReport report_;
};

TEST_F(VerdictTest, TheBestIsTaken) {
  EXPECT_THAT(Overall(), StartsWith("Take 'newest': it earns 0.3 more"));
  EXPECT_THAT(Overall() + OfFirst(), Not(HasSubstr("But")));
  Find("clipped_mass", Finding::CAUTION,
       report_.mutable_policies(0)->add_findings());
  EXPECT_THAT(Overall(), StartsWith("Take 'newest'"));
}

TEST_F(VerdictTest, GraveFindingsAreReservations) {
  for (OpePolicy& policy : *report_.mutable_policies()) {
    Find("learned_from_log", Finding::UNSUPPORTED, policy.add_findings());
  }
  EXPECT_THAT(Overall(), StartsWith("Do not take any yet. The best is 'new"));
  for (const std::string& verdict : {Overall(), OfFirst()}) {
    EXPECT_THAT(verdict, HasSubstr("But it may have learned from these very "
                                   "decisions, which makes it look better"));
  }
}

TEST_F(VerdictTest, OneThatNothingSpeaksAgainstComesFirst) {
  auto* const guardrail = report_.mutable_policies(0)->add_guardrails();
  guardrail->set_reward("complaints");
  guardrail->set_allowed(0.01);
  guardrail->mutable_change()->set_value(-0.125);
  EXPECT_THAT(OfFirst(), HasSubstr("But it is not shown that 'complaints'"));
  EXPECT_THAT(Overall(), StartsWith("Take 'uniform': it earns 0.2 more"));
  // Unless it is not shown to earn more.
  report_.mutable_policies(1)->mutable_answer()->mutable_gain()->set_lower(-1);
  EXPECT_THAT(Overall(), StartsWith("Do not take any yet. The best is 'new"));
  EXPECT_THAT(Overall(), HasSubstr("But it is not shown that 'complaints'"));
}

TEST_F(VerdictTest, ContradictionsOfTheLogAreThoseOfAll) {
  Find("other_propensities", Finding::CONTRADICTION, report_.add_findings());
  EXPECT_EQ(Overall(), "Do not decide by this log. A sentence.");
  EXPECT_EQ(OfFirst(), "Do not use the numbers of 'newest'. A sentence.");
}

// Propensities of 0.48 are logged where they were 1/2, of a policy that does
// what the log did: all weights are 1.04, and bounds cross.
TEST_F(OpeFixture, BoundsThatCrossContradictTheLog) {
  auto tuples = AlternatingTuples(2000, [](int i) { return i % 20 < 10; });
  for (auto& tuple : tuples) {
    tuple.mutable_decision()->set_log_propensity(std::log(0.48));
  }
  WriteLog(tuples);
  SetPolicies({"half=" + Write("half.csv", ProbabilityRows(2000, "0.5,0.5"))});
  const OpeReport report = Judge();
  EXPECT_THAT(report.verdict(), StartsWith("Do not decide by this log. The "));
  EXPECT_NE(FindingOf(report.policies(0), "contradictory_bounds"), nullptr);
  const auto& gain = report.policies(0).answer().gain();
  EXPECT_LE(gain.lower(), gain.value());
  EXPECT_GE(gain.upper(), gain.value());
}

// What is wrong is named with its value and what is permitted.

TEST_F(OpeFixture, BadOptionsAreNamed) {
  WriteLog(MakeTuples({}, 20));
  Publish(LoggingModel({}));
  ExpectRefusals(
      options_, &Ope,
      {{"policies: 'best'",
        "policies has 'best', must be newest, version:N, shadow:N, uniform, "
        "constant or"},
       {"policies: 'version:0'", "policies has 'version:0', must be version:N"},
       {"policies: 'shadow:x'", "policies has 'shadow:x', must be shadow:N"},
       {"policies: 'shadow:2@mixture=0.1'",
        "policies has 'shadow:2@mixture=0.1', must be shadow:N, without"},
       {"policies: 'log=file.csv'", "policies has 'log=file.csv', must be"},
       {"policies: 'newest@mixture=1.5'",
        "policies has 'newest@mixture=1.5', must be with a mixture in [0, 1]"},
       {"policies: 'newest@temperature=0'",
        "must be with a temperature in [1e-06, 1e+06]"},
       {"policies: 'newest@mixture=0@mixture=1'", "at most once"},
       {"policies: 'uniform@mixture=1'", "must be uniform, without"},
       {"policies: 'constant@temperature=2'", "must be constant, without"},
       {"policies: 'newest' policies: 'newest'",
        "policies has 'newest', must be the only one of its name"},
       {"against: 'version:1'",
        "against is 'version:1', must be log or one of: newest, uniform, "
        "constant"},
       {"estimator: 'median'", "estimator is 'median', must be auto, ips, "},
       {"interval: 'wald'", "interval is 'wald', must be auto, student, "},
       {"reward_model: 'forest'",
        "reward_model is 'forest', must be ridge, trees, best or none"},
       {"units: 'all'", "units is 'all', must be new or same"},
       {"overrides: 'never'", "overrides is 'never'"},
       {"output: 'xml'", "output is 'xml', must be text or json"},
       {"reward_min: 1",
        "reward_min is 1, must be less than reward_max, which is 1"},
       {"reward_max: 0.5", "reward of decision"},
       {"categories: 'feature:5'",
        "categories is 'feature:5', must be ids, or feature:N with N in [0, "
        "5)"},
       {"categories: 'ids'", "has 0 candidate_ids, must have 6"},
       {"segments: 'device'",
        "segments has 'device', must be an attribute of the log"},
       {"since: 'yesterday'", "since is 'yesterday'"},
       {"versions: 'x'", "versions is 'x'"},
       {"rewards: 'clicks'", "rewards has 'clicks', must be NAME=FILE"},
       {"guardrails: 'clicks:0'",
        "guardrails has 'clicks:0', must be of a reward, which rewards must "
        "name"},
       {"rewards: 'clicks=clicks.csv@horizon=1d' reward_ranges: 'clicks:0.5:1'",
        "reward_ranges has 'clicks:0.5:1', must be NAME:MIN:MAX with numbers "
        "-1e9 <= MIN <= 0 <= MAX <= 1e9, MIN < MAX"},
       {"rewards: 'clicks=clicks.csv@horizon=1d' reward_ranges: 'visits:0:1'",
        "reward_ranges has 'visits:0:1', must be of one of the rewards: "
        "clicks"},
       {"model: 'a/b'", "a/b"},
       {"model_store: '' policies: 'newest'",
        "model_store is empty, must be a directory: policies has 'newest'"}});
}

TEST_F(OpeFixture, WhatIsNotThereIsNotFound) {
  WriteLog(MakeTuples({}, 20));
  Publish(LoggingModel({}));
  SetPolicies({"version:7"});
  EXPECT_THAT(Ope(options_), IsNotFound("7"));
  SetPolicies({"mine=/nowhere/mine.csv"});
  EXPECT_THAT(Ope(options_), IsNotFound("/nowhere/mine.csv"));
  SetPolicies({"uniform"});
  options_.set_tuples("/nowhere");
  EXPECT_THAT(Ope(options_), IsNotFound("/nowhere"));
}

TEST_F(OpeFixture, FilesThatDoNotFitTheLogAreNamedWithTheirLine) {
  auto tuple = SelectionTuple("a", {0.5, 0.5}, 0, 1);
  tuple.mutable_decision()->add_eligible(true);
  tuple.mutable_decision()->add_eligible(false);
  WriteLog({tuple, SelectionTuple("b", {0.5, 0.5}, 1, 0)});
  const struct {
    std::string text;
    std::string message;
  } kCases[] = {
      {"decision_id,p0\na,1\nb,1\n",
       ":2: decision 'a' has 1 probabilities, must have 2, one for each "
       "candidate"},
      {"decision_id,p0,p1\na,0.5,0.5\nb,1,0\n",
       ":2: decision 'a' gives candidate 1 the probability 0.5, must be 0: it "
       "is not eligible"},
      {"decision_id,p0,p1,p2\na,1,0,\nb,0,0.5,0.5\n",
       ":3: decision 'b' has 3 probabilities, must have 2"},
      {"decision_id,s0\na,1\nb,1\n", ":2: decision 'a' has 1 scores"},
      {"decision_id,document_index,probability\na,0,1\nb,2,1\n",
       ":3: decision 'b' has document_index 2, must be in [-1, 2)"},
      {"decision_id,document_index,probability\na,0,1\nb,-1,1\n",
       ":3: decision 'b' abstains with probability 1, must be 0"},
  };
  for (const auto& bad : kCases) {
    const std::string path = Write("mine.csv", bad.text);
    SetPolicies({"mine=" + path});
    EXPECT_THAT(Ope(options_), IsInvalidArgument(path + bad.message));
  }
  SetPolicies({"mine=" + Write("mine.csv", "decision_id,p0,p1\na,1,0\n")});
  EXPECT_THAT(Ope(options_),
              IsFailedPrecondition("1 of 2 decisions have no line, must be at "
                                   "most 1 %"));
}

TEST_F(OpeFixture, PoliciesMustFitTheKindOfAction) {
  WriteLog(MakeTuples({.action_kind = ActionKind::kRank}, 20));
  SetPolicies({"constant"});
  EXPECT_THAT(Ope(options_),
              IsInvalidArgument("policies has 'constant', but the log has "
                                "rankings, must have selections"));
  // By default there is none.
  SetPolicies({});
  EXPECT_EQ(Judge().policies_size(), 1);
  // A version of another kind finds no decision.
  Publish(LoggingModel({}));
  SetPolicies({"newest"});
  EXPECT_THAT(Ope(options_),
              IsFailedPrecondition("0 decisions", "20 left out"));
}

}  // namespace
}  // namespace sortition
