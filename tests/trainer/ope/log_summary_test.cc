#include "trainer/ope/log_summary.h"

#include <array>

#include "core/base/hash.h"
#include "google/protobuf/util/json_util.h"
#include "tests/testing/child_process.h"
#include "tests/trainer/ope/ope_fixture.h"
#include "trainer/ope/context_mix.h"
#include "trainer/ope/exploration.h"
#include "trainer/ope/ope_log.h"
#include "trainer/ope/slices.h"

namespace sortition {
namespace {

using config::v1::OpePolicy;
using config::v1::OpeReport;

LogSummary SummaryOf(const std::vector<double>& propensities) {
  LogSummary summary;
  log::v1::Decision decision;
  const int32_t action = 0;
  for (size_t i = 0; i < propensities.size(); ++i) {
    decision.set_decision_id(absl::StrCat(i));
    LoggedDecision logged;
    logged.decision = &decision;
    logged.action = {&action, 1};
    logged.log_propensity = std::log(propensities[i]);
    logged.unit = UnitKey("", decision.decision_id());
    summary.Add(logged);
  }
  return summary;
}

TEST(LogSummaryTest, QuantilesSeparateUnequalPropensities) {
  // In steps of 1/50 of a decade: 0.01 and 0.1 are -2 and -1, each at the upper
  // end of its step.
  const LogSummary summary = SummaryOf({0.01, 0.1, 0.01, 0.1});
  const std::vector<double> edges = summary.PropensityQuantiles(2);
  ASSERT_EQ(edges.size(), 1u);
  EXPECT_GE(edges[0], -2);
  EXPECT_LT(edges[0], -1);
}

TEST(LogSummaryTest, EqualPropensitiesAreOneRange) {
  EXPECT_THAT(SummaryOf({0.5, 0.5, 0.5}).PropensityQuantiles(5), IsEmpty());
}

TEST(LogSummaryTest, TheBestDocumentHasTheMostWeightedReward) {
  LogSummary summary;
  log::v1::Decision decision;
  // Document 1 earns 1 with propensity 0.9, document 2 earns 0.5 with 0.1.
  for (const auto& [document, propensity, reward] :
       {std::tuple{1, 0.9, 1.0}, std::tuple{2, 0.1, 0.5}}) {
    LoggedDecision logged;
    logged.decision = &decision;
    const int32_t action = document;
    logged.action = {&action, 1};
    logged.log_propensity = std::log(propensity);
    logged.reward = reward;
    logged.unit = 1;
    summary.Add(logged);
  }
  EXPECT_EQ(summary.BestDocument(UnitHalf(1)), 2);
  EXPECT_EQ(summary.BestDocument(1 - UnitHalf(1)), 0);
}

TEST(UnitCountTest, CountsDifferentUnits) {
  UnitCount count;
  for (int repeat = 0; repeat < 2; ++repeat) {
    for (int i = 0; i < 50000; ++i) {
      count.Add(UnitKey(absl::StrCat("u", i), ""));
    }
  }
  // The standard error of linear counting is 0.3 % here.
  EXPECT_NEAR(static_cast<double>(count.Estimate()), 50000, 600);
}

TEST(ExplorationTest, DeviationsAreThoseOfTheMixture) {
  // Two actions with rewards 0 and 1, logged by 1/2; the policy is 0.9, 0.1.
  Exploration exploration(0.5);
  exploration.Add(0, std::log(0.5), std::log(0.9), std::log(0.5));
  exploration.Add(1, std::log(0.5), std::log(0.1), std::log(0.5));
  for (size_t i = 0; i < Exploration::kMixtures.size(); ++i) {
    const double e = Exploration::kMixtures[i];
    // E_u[u/π_ε (r - 1/2)²] = (1/π_ε(0) + 1/π_ε(1)) / 16
    const double first = (1 - e) * 0.9 + e * 0.5;
    EXPECT_NEAR(exploration.DeviationAt(i),
                std::sqrt((1 / first + 1 / (1 - first)) / 16), 1e-12);
  }
  EXPECT_TRUE(std::isinf(Exploration(0).DeviationAt(0)));
}

// A log that is still being written while it is judged.

constexpr int64_t kDayUs = int64_t{86400} * 1000000;

log::v1::BanditTuple TupleOfDay(int64_t day) {
  auto tuple = SelectionTuple(absl::StrCat("day", day), {0.5, 0.5}, 0, 1);
  tuple.mutable_decision()->set_time_us(day * kDayUs);
  return tuple;
}

TEST(GrowingLogTest, TheSecondPassReadsWhatTheFirstOneRead) {
  const TempDir dir;
  SegmentWriter::Options segment;
  segment.dir = dir.Sub("tuples");
  segment.name = SegmentName(1700000000000000, "test", 0);
  segment.preallocate_bytes = 1 << 20;
  segment.header.set_format_version(1);
  segment.header.set_kind(log::v1::SegmentHeader::TUPLES);
  ASSERT_OK_AND_ASSIGN(const auto writer, SegmentWriter::Create(segment));
  const auto append = [&](int64_t day) {
    log::v1::LogRecord record;
    *record.mutable_tuple() = TupleOfDay(day);
    EXPECT_OK(writer->Append(record));
  };
  append(19000);
  append(19001);

  config::v1::OpeOptions options;
  options.set_tuples(segment.dir);
  ASSERT_OK_AND_ASSIGN(const auto log,
                       OpeLog::Open(options, RankUse::kAll, {}));
  for (int pass = 0; pass < 2; ++pass) {
    std::vector<std::string> ids;
    TupleCounts counts;
    ASSERT_OK(log->Scan(
        [&](const LoggedDecision& decision) {
          ids.push_back(decision.decision->decision_id());
          return absl::OkStatus();
        },
        &counts));
    EXPECT_EQ(ids, (std::vector<std::string>{"day19000", "day19001"})) << pass;
    EXPECT_EQ(counts.read_tuples, 2u);
    append(20000);
  }
}

TEST(GrowingLogTest, ADayThatTheSummaryLacksIsInNoSlice) {
  const int32_t action = 0;
  const auto logged = [&](const log::v1::Decision& decision) {
    LoggedDecision result;
    result.decision = &decision;
    result.action = {&action, 1};
    result.log_propensity = std::log(0.5);
    return result;
  };
  LogSummary summary;
  for (const int64_t day : {19000, 19001}) {
    const auto tuple = TupleOfDay(day);
    summary.Add(logged(tuple.decision()));
  }
  ASSERT_OK_AND_ASSIGN(Slices slices, Slices::Plan({}, summary, 1));
  const JudgedDecision judged;
  for (const int64_t day : {18999, 19000, 19001, 19002, 40000}) {
    const auto tuple = TupleOfDay(day);
    slices.Add(
        logged(tuple.decision()),
        {.group_hash = static_cast<uint64_t>(day), .policies = {&judged, 1}});
  }
  ASSERT_EQ(slices.days().size(), 2u);
  EXPECT_EQ(slices.days()[0].sums.num_decisions(), 1u);
  EXPECT_EQ(slices.days()[1].sums.num_decisions(), 1u);
}

// Version 1 met contexts whose feature is larger by `shift`. Units have several
// decisions with the same context.
ContextMix MixOf(double shift, uint64_t seed) {
  ContextMix mix;
  RandomSequence random(SeedKey(seed));
  for (int i = 0; i < 2000; ++i) {
    const size_t version = random.Uniform() < 0.3 ? 1 : 0;
    const uint64_t unit =
        StableHash(HashDomain::kSimulation, {absl::StrCat(seed, "/", i)}).low;
    const std::array<float, 2> rows = {
        static_cast<float>(random.Normal() + (version == 1 ? shift : 0)), 1};
    const int decisions = 1 + static_cast<int>(8 * random.Uniform());
    for (int k = 0; k < decisions; ++k) {
      mix.Add(version, unit, Candidates::DenseUnchecked(rows, 1));
    }
  }
  return mix;
}

TEST(ContextMixTest, FindsVersionsThatMetOtherContexts) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    EXPECT_FALSE(MixOf(0, seed).Find().has_value()) << seed;
  }
  // The means differ by 0.25 with a standard error of about 0.5 √(1 / 600) =
  // 0.03 with decisions of units weighed alike.
  EXPECT_TRUE(MixOf(0.5, 1).Find().has_value());
}

// Rewards beside that of the log, and what must not fall.

class MoreRewardsTest : public OpeFixture {
 protected:
  // Decisions between two candidates, drawn uniformly; a policy that always
  // takes the second, and the policy that logged.
  void Prepare(int decisions) {
    WriteLog(AlternatingTuples(decisions, [](int i) { return i % 3 == 0; }));
    SetPolicies(
        {"always=" + Write("always.csv", ProbabilityRows(decisions, "0,1")),
         "same=" + Write("same.csv", ProbabilityRows(decisions, "0.5,0.5"))});
    options_.set_reward_model("none");
  }
  void GuardComplaints(const std::string& rows, const std::string& allowed) {
    options_.add_rewards("complaints=" + Write("complaints.csv", rows) +
                         "@horizon=0s@sparse@through=2023-01-01");
    options_.add_guardrails("complaints:" + allowed);
  }
};

TEST_F(MoreRewardsTest, NoComplaintInFortyDecisionsShowsNothing) {
  Prepare(40);
  GuardComplaints("decision_id,reward\nd0,0\nd1,0\n", "0.0001");
  const OpeReport unknown = Judge();
  ASSERT_EQ(PolicyOf(unknown, "always").guardrails_size(), 1);
  EXPECT_FALSE(PolicyOf(unknown, "always").guardrails(0).holds());
  EXPECT_FALSE(PolicyOf(unknown, "always").guardrails(0).has_change());
  EXPECT_FALSE(PolicyOf(unknown, "always").more_rewards(0).has_value());
  EXPECT_NE(FindingOf(unknown, "reward_range"), nullptr);
  // Known, but 40 decisions show less than 0.0001.
  options_.add_reward_ranges("complaints:-1:0");
  const OpeReport given = Judge();
  EXPECT_FALSE(PolicyOf(given, "always").guardrails(0).holds());
  EXPECT_LT(PolicyOf(given, "always").guardrails(0).change().lower(), -0.01);
  EXPECT_EQ(FindingOf(given, "reward_range"), nullptr);
}

TEST_F(MoreRewardsTest, ThePolicyThatLoggedKeepsItsGuardrails) {
  Prepare(100);
  GuardComplaints("decision_id,reward\nd3,-1\nd8,-1\n", "0");
  const OpePolicy same = PolicyOf(Judge(), "same");
  ASSERT_EQ(same.guardrails_size(), 1);
  EXPECT_EQ(same.guardrails(0).change().lower(), 0);
  EXPECT_EQ(same.guardrails(0).change().upper(), 0);
  EXPECT_TRUE(same.guardrails(0).holds());
}

// Complaints rise from 0.1 to 0.2. Clopper-Pearson's interval is of the value
// alone, so that there is none of the change; Student's charges nothing for
// thin support.
TEST_F(MoreRewardsTest, GuardrailsHaveTheBestIntervalWhateverIsAskedFor) {
  Prepare(2000);
  std::string complaints = "decision_id,reward\n";
  for (int i = 1; i < 2000; i += 10) {
    absl::StrAppend(&complaints, "d", i, ",-1\n");
  }
  GuardComplaints(complaints, "0.01");
  const OpePolicy best = PolicyOf(Judge(), "always");
  for (const char* interval : {"clopper_pearson", "student", "bernstein"}) {
    options_.set_interval(interval);
    const OpePolicy policy = PolicyOf(Judge(), "always");
    EXPECT_EQ(policy.answer().value_interval(), interval);
    EXPECT_TRUE(policy.answer().has_gain()) << interval;
    EXPECT_TRUE(policy.more_rewards(0).has_gain()) << interval;
    EXPECT_FALSE(policy.guardrails(0).holds()) << interval;
    EXPECT_EQ(policy.guardrails(0).change().lower(),
              best.guardrails(0).change().lower());
  }
  EXPECT_NEAR(best.guardrails(0).change().value(), -0.1, 0.02);
}

// The uniform policy, version 0, gives the actions of days and segment `a`
// other probabilities than the log, so that it is not what logged. It agrees
// with segment `b` by chance: that says as little of other actions as if the
// version were unknown.
TEST_F(MoreRewardsTest, AVersionThatTheLogRefutesIsRefutedInItsParts) {
  constexpr int kDecisions = 600;
  constexpr int64_t kHourUs = int64_t{3'600'000'000};
  std::string complaints = "decision_id,reward\n";
  for (int i = 0; i < kDecisions; i += 7) {
    absl::StrAppend(&complaints, "d", i, ",-1\n");
  }
  const auto judge = [&](uint64_t version) {
    std::vector<log::v1::BanditTuple> tuples;
    for (int i = 0; i < kDecisions; ++i) {
      const bool agrees = i >= kDecisions / 2;
      const double propensity = agrees ? 0.5 : 0.6;
      tuples.push_back(SelectionTuple(absl::StrCat("d", i),
                                      {propensity, 1 - propensity}, i % 2,
                                      i % 3 == 0));
      log::v1::Decision& decision = *tuples.back().mutable_decision();
      decision.set_version(version);
      decision.set_time_us(i * kHourUs);
      (*decision.mutable_attributes())["part"] = agrees ? "b" : "a";
    }
    const std::string dir = dir_.Sub(absl::StrCat("tuples", version));
    WriteSegment(dir, 0, tuples);
    options_.set_tuples(dir);
    return Judge();
  };
  SetPolicies(
      {"always=" + Write("always.csv", ProbabilityRows(kDecisions, "0,1"))});
  options_.set_reward_model("none");
  options_.add_rewards("complaints=" + Write("complaints.csv", complaints) +
                       "@horizon=0s@sparse@from=1970-01-13T12:00:00Z"
                       "@through=2023-01-01");
  options_.add_guardrails("complaints:0.01");
  const OpeReport refuted = judge(0);
  const OpeReport unknown = judge(7);
  EXPECT_EQ(refuted.reward_coverage(0).judged(), 300u);
  ASSERT_EQ(refuted.segments_size(), 2);
  ASSERT_EQ(refuted.days_size(), unknown.days_size());
  const auto expect_equal = [](const auto& parts, const auto& others) {
    for (int i = 0; i < parts.size(); ++i) {
      EXPECT_EQ(parts[i].policies(0).gain().DebugString(),
                others[i].policies(0).gain().DebugString())
          << parts[i].name();
    }
  };
  expect_equal(refuted.segments(), unknown.segments());
  expect_equal(refuted.days(), unknown.days());
  EXPECT_EQ(refuted.policies(0).guardrails(0).DebugString(),
            unknown.policies(0).guardrails(0).DebugString());
}

TEST_F(MoreRewardsTest, AFileOfOtherDecisionsIsAnError) {
  Prepare(40);
  GuardComplaints("decision_id,reward\nother,-1\n", "0.1");
  EXPECT_THAT(
      Ope(options_),
      IsFailedPrecondition("complaints.csv: 0 of its 1 decisions are in"));
}

// Outcomes of the last three days, and of decisions older than the file, are
// not known. These decisions are left out of the guardrail only.
TEST_F(MoreRewardsTest, UnknownOutcomesAreNotJudged) {
  constexpr int kDecisions = 400;
  constexpr int64_t kHourUs = int64_t{3'600'000'000};
  auto tuples = AlternatingTuples(kDecisions, [](int i) { return i % 3 == 0; });
  std::string rows = "decision_id,reward\n";
  for (int i = 0; i < kDecisions; ++i) {
    tuples[i].mutable_decision()->set_time_us((i + 1) * kHourUs);
    // Of later decisions, only some bad outcomes are known.
    if (i < 300 ? i % 5 == 0 : i % 5 == 1) {
      absl::StrAppend(&rows, "d", i, ",-1\n");
    }
  }
  WriteLog(tuples);
  SetPolicies(
      {"same=" + Write("same.csv", ProbabilityRows(kDecisions, "0.5,0.5"))});
  options_.set_reward_model("none");
  // Through hour 372, of which 72 are the horizon: hours 1 to 300.
  options_.add_rewards("complaints=" + Write("complaints.csv", rows) +
                       "@horizon=3d@sparse@through=1970-01-16T12:00:00Z");
  options_.add_guardrails("complaints:0");
  const OpeReport report = Judge();
  const OpePolicy same = PolicyOf(report, "same");
  EXPECT_EQ(report.decisions(), 400u);
  EXPECT_NEAR(same.more_rewards(0).value().value(), -0.2, 1e-12);
  EXPECT_EQ(report.reward_coverage(0).judged(), 300u);
  EXPECT_EQ(report.reward_coverage(0).not_judged(), 100u);
  const auto* const finding = FindingOf(report, "missing_rewards");
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->sentence(),
              HasSubstr("does not judge 100 of 400 decisions, which "
                        "'complaints' leaves out: it judges decisions up to "
                        "1970-01-13T12:00:00+00:00"));
  EXPECT_THAT(report.assumptions(),
              testing::Contains(testing::AllOf(
                  HasSubstr("The file of 'complaints' has all outcomes of "
                            "decisions up to 1970-01-13T12:00:00+00:00"),
                  HasSubstr("without a row they have the reward 0 (sparse)"))));
}

// A log in the layout of the Open Bandit Dataset, through the programs.

constexpr size_t kItems = 5;
constexpr std::array<double, kItems> kLogged = {0.4, 0.3, 0.1, 0.1, 0.1};
constexpr std::array<double, kItems> kTarget = {0.05, 0.05, 0.1, 0.3, 0.5};
constexpr std::array<double, kItems> kItemClicks = {0.1, 0.2, 0.3, 0.2, 0.4};
constexpr int kImpressions = 4000;
constexpr int kPositions = 3;

// Clicks fall with the position.
double ClickProbability(size_t item, int position) {
  return kItemClicks[item] / position;
}

TEST(ObdTest, ThreeCommandsJudgeAFileOfProbabilities) {
  // A row for each position of an impression, with equal times and equal
  // propensities of some items.
  std::string log =
      ",timestamp,item_id,position,click,propensity_score,user_feature_0\n";
  std::string policy = "decision_id,document_index,probability\n";
  double truth = 0;
  RandomSequence random(StableHash(HashDomain::kSimulation, {"obd"}));
  int row = 0;
  for (int i = 0; i < kImpressions; ++i) {
    for (int position = 1; position <= kPositions; ++position) {
      double left = random.Uniform();
      size_t item = 0;
      while (item + 1 < kItems && left >= kLogged[item]) {
        left -= kLogged[item++];
      }
      const bool click = random.Uniform() < ClickProbability(item, position);
      absl::StrAppend(&log, row, ",2019-11-24 00:", i / 60 % 60 / 10,
                      i / 60 % 10, ":", i % 60 / 10, i % 10, "+00:00,", item,
                      ",", position, ",", click ? 1 : 0, ",", kLogged[item],
                      ",u", i % 7, "\n");
      ++row;
      for (size_t k = 0; k < kItems; ++k) {
        absl::StrAppend(&policy, "obd-", position, "-", row, ",", k, ",",
                        kTarget[k], "\n");
        truth += kTarget[k] * ClickProbability(k, position) /
                 (kImpressions * kPositions);
      }
    }
  }
  const TempDir dir;
  ASSERT_OK(WriteFile(dir / "all.csv", log));
  ASSERT_OK(WriteFile(dir / "mine.csv", policy));
  ASSERT_OK_AND_ASSIGN(
      const FinishedProcess import,
      RunToEnd({BinaryPath("sortition"), "log", "import", "--format=obd",
                absl::StrCat("--num_actions=", kItems),
                "--tuples=" + dir.Sub("tuples"), dir / "all.csv"}));
  ASSERT_EQ(import.exit_code, 0) << import.stderr_text;
  ASSERT_OK_AND_ASSIGN(const FinishedProcess ope,
                       RunToEnd({BinaryPath("sortition-trainer"), "ope",
                                 "--tuples=" + dir.Sub("tuples"),
                                 "--policies=mine=" + (dir / "mine.csv"),
                                 "--report=" + (dir / "judged.json"),
                                 "--page=" + (dir / "judged.html")}));
  ASSERT_EQ(ope.exit_code, 0) << ope.stderr_text;
  EXPECT_THAT(ope.stdout_text, HasSubstr("'mine' is better than the log"));
  ASSERT_OK_AND_ASSIGN(const std::string json, ReadFile(dir / "judged.json"));
  config::v1::OpeReport report;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(json, &report).ok());
  EXPECT_EQ(report.decisions(), kImpressions * kPositions);
  ASSERT_EQ(report.policies_size(), 1);
  const auto& value = report.policies(0).answer().value();
  EXPECT_LE(value.lower(), truth);
  EXPECT_GE(value.upper(), truth);
  // Weights up to 5, clicks in a seventh: the standard error is about
  // √(5 · 0.18 / 12000) = 0.009.
  EXPECT_LT(value.upper() - value.lower(), 0.05);
  ASSERT_OK_AND_ASSIGN(const std::string page, ReadFile(dir / "judged.html"));
  EXPECT_THAT(page, HasSubstr("mine"));
}

}  // namespace
}  // namespace sortition
