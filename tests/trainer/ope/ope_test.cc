#include "trainer/ope/ope.h"

#include <map>

#include "gmock/gmock.h"
#include "tests/trainer/ope/ope_fixture.h"

namespace sortition {
namespace {

using config::v1::OpePolicy;
using config::v1::OpeReport;
using testing::HasSubstr;

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
  std::vector<log::v1::BanditTuple> tuples;
  std::string rows = "decision_id,p0,p1\n";
  for (int i = 0; i < kLogDecisions; ++i) {
    const std::string id = absl::StrCat("d", i);
    tuples.push_back(SelectionTuple(id, {0.5, 0.5}, i % 2, i % 3 == 0));
    absl::StrAppend(&rows, id, ",1,0\n");
  }
  WriteLog(tuples);
  SetPolicies({"first=" + Write("first.csv", rows)});
  options_.set_reward_model("none");
  options_.set_sample(1000);
  const OpePolicy first = PolicyOf(Judge(), "first");
  EXPECT_LT(first.overlap().tuples(), 1200u);
  EXPECT_NEAR(first.effective_sample_size(), kLogDecisions / 2, 1e-6);
}

TEST_F(OpeFixture, IntervalsSayWhatIsFittedToRewards) {
  WriteLog(FourTuples());
  SetPolicies({"mine=" + Write("mine.csv", kFourProbabilities)});
  options_.set_reward_model("none");
  const auto has_note = [&](const std::string& estimator) {
    options_.set_estimator(estimator);
    const OpePolicy mine = PolicyOf(Judge(), "mine");
    EXPECT_EQ(mine.intervals(0).value_interval(), "student");
    return mine.intervals(0).assumes().find("fits to the rewards") !=
           std::string::npos;
  };
  EXPECT_TRUE(has_note("controlled_ips"));
  EXPECT_TRUE(has_note("clipped"));
  EXPECT_FALSE(has_note("ips"));
  EXPECT_FALSE(has_note("snips"));
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
  std::vector<log::v1::BanditTuple> tuples;
  std::string all = "decision_id,p0,p1\n";
  for (int i = 0; i < 200; ++i) {
    const std::string id = absl::StrCat("d", i);
    tuples.push_back(SelectionTuple(id, {0.5, 0.5}, i % 2, i % 3 == 0));
    if (i != 7) absl::StrAppend(&all, id, ",0.5,0.5\n");
  }
  WriteLog(tuples);
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
  std::vector<log::v1::BanditTuple> tuples;
  for (int i = 0; i < 2000; ++i) {
    tuples.push_back(SelectionTuple(absl::StrCat("d", i), {0.5, 0.5}, i % 2,
                                    i / 20 % 3 == 0));
    tuples.back().mutable_decision()->set_unit_id(absl::StrCat("u", i / 20));
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

TEST_F(OpeFixture, AFewUnitsAreJudged) {
  // One group of neighbours, too few for an interval of that kind.
  std::vector<log::v1::BanditTuple> tuples;
  for (int i = 0; i < 6; ++i) {
    tuples.push_back(
        SelectionTuple(absl::StrCat("d", i), {0.5, 0.5}, i % 2, i % 2 == 0));
    tuples.back().mutable_decision()->set_unit_id(absl::StrCat("u", i / 2));
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
  std::vector<log::v1::BanditTuple> tuples;
  std::string complaints = "decision_id,reward\n";
  std::string always = "decision_id,p0,p1\n";
  for (int i = 0; i < 2000; ++i) {
    const std::string id = absl::StrCat("d", i);
    tuples.push_back(SelectionTuple(id, {0.5, 0.5}, i % 2, i % 2));
    // Action 1 has complaints in a fifth of the cases, action 0 has none.
    if (i % 10 == 1) absl::StrAppend(&complaints, id, ",-1\n");
    absl::StrAppend(&always, id, ",0,1\n");
  }
  WriteLog(tuples);
  SetPolicies({"always=" + Write("always.csv", always)});
  const std::string file = Write("complaints.csv", complaints);
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
  EXPECT_EQ(report.findings(report.findings_size() - 1).kind(),
            "missing_rewards");
}

TEST_F(OpeFixture, PlansAskForMoreThanThisLogFailedWith) {
  // Nearly all rewards are 1: SNIPS is precise, and bets, which go by IPS, are
  // not.
  std::vector<log::v1::BanditTuple> tuples;
  std::string file = "decision_id,p0,p1\n";
  for (int i = 0; i < 200; ++i) {
    const std::string id = absl::StrCat("d", i);
    tuples.push_back(SelectionTuple(id, {0.5, 0.5}, i % 2, i % 20 > 0));
    absl::StrAppend(&file, id, i % 4 < 2 ? ",1,0\n" : ",0,1\n");
  }
  WriteLog(tuples);
  SetPolicies({"mine=" + Write("mine.csv", file)});
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

}  // namespace
}  // namespace sortition
