#include "trainer/rollout/rollout_ledger.h"

#include <atomic>
#include <filesystem>

#include "tests/process/http/hostile_peer.h"
#include "tests/trainer/rollout/rollout_fixture.h"
#include "trainer/rollout/rollout_text.h"

namespace sortition {
namespace {

using config::v1::RolloutReport;

template <typename... Texts>
auto IsDataLoss(const Texts&... texts) {
  return StatusContains(absl::StatusCode::kDataLoss, texts...);
}

// Judged rounds stay in the ledger when their tuples are removed.
class RolloutLedgerTest : public RolloutFixture {
 protected:
  RolloutLedgerTest() { EXPECT_OK(Start()); }

  std::string LedgerPath() const { return ModelDir() + "/ROLLOUT_LEDGER"; }
};

TEST_F(RolloutLedgerTest, KeepsTheEvidenceOfTuplesThatAreRemoved) {
  Log(60, {.canary = 0.5, .stable = 0.5});
  EXPECT_EQ(Step().step().decisions(), 60u);
  RemoveTuples();
  Log(40, {.canary = 0.5, .stable = 0.5});
  const RolloutReport report = Step();
  EXPECT_EQ(report.step().decisions(), 100u);
  EXPECT_EQ(report.ledger().rounds(), 100u);
  EXPECT_EQ(report.ledger().closed(), 100u);
  EXPECT_FALSE(report.ledger().has_gap());
}

TEST_F(RolloutLedgerTest, DoesNotChangeRoundsWhoseTuplesAreJoinedAnew) {
  std::vector<log::v1::BanditTuple> tuples = MakeUnits(60, {});
  WriteSegment(dir_.Sub("tuples"), 0, tuples);
  const RolloutReport before = Step();
  RemoveTuples();
  for (log::v1::BanditTuple& tuple : tuples) {
    tuple.set_reward(tuple.decision().version() == 2 ? 0 : 1);
  }
  WriteSegment(dir_.Sub("tuples"), 1, tuples);
  const RolloutReport after = Step();
  EXPECT_EQ(after.step().canary().mean(), before.step().canary().mean());
  EXPECT_EQ(after.step().stable().mean(), before.step().stable().mean());
  EXPECT_EQ(after.step().evidence_worse(), before.step().evidence_worse());
  EXPECT_EQ(after.ledger().rounds(), 60u);
}

TEST_F(RolloutLedgerTest, AUnitThatComesBackIsNotJudgedAgain) {
  std::vector<log::v1::BanditTuple> tuples = MakeUnits(60, {});
  WriteSegment(dir_.Sub("tuples"), 0, tuples);
  EXPECT_EQ(Step().step().decisions(), 60u);
  // The same units come back after their tuples are gone.
  RemoveTuples();
  for (log::v1::BanditTuple& tuple : tuples) {
    log::v1::Decision& decision = *tuple.mutable_decision();
    decision.set_decision_id(decision.decision_id() + "-again");
    decision.set_time_us(decision.time_us() + 1'000'000);
  }
  WriteSegment(dir_.Sub("tuples"), 1, tuples);
  EXPECT_EQ(Step().step().decisions(), 60u);
}

// The 400 repetitions of one decision id are one draw into one arm.
TEST_F(RolloutLedgerTest, AFixedDecisionIdWithoutUnitIsOneUnit) {
  std::vector<log::v1::BanditTuple> tuples = MakeUnits(400, {});
  for (size_t i = 0; i < tuples.size(); ++i) {
    log::v1::Decision& decision = *tuples[i].mutable_decision();
    decision.set_decision_id("probe");
    decision.clear_unit_id();
    decision.set_version(1);
  }
  WriteSegment(dir_.Sub("tuples"), 0, tuples);
  const RolloutReport report = Step();
  EXPECT_EQ(report.step().decisions(), 1u);
  EXPECT_EQ(report.step().stable().units(), 1u);
}

// The first decision of each unit is censored, and units of the canary do not
// return.
TEST_F(RolloutLedgerTest, CensoredUnitsAreVoidWhetherTheyComeBackOrNot) {
  std::vector<log::v1::BanditTuple> tuples = MakeUnits(100, {});
  const size_t first = tuples.size();
  for (size_t i = 0; i < first; ++i) {
    tuples[i].add_censored(log::v1::WRITER_AWAY);
    if (tuples[i].decision().version() == 2) continue;
    log::v1::BanditTuple again = tuples[i];
    again.clear_censored();
    again.mutable_decision()->set_decision_id(absl::StrCat("again-", i));
    again.mutable_decision()->set_time_us(again.decision().time_us() +
                                          1'000'000);
    tuples.push_back(again);
  }
  WriteSegment(dir_.Sub("tuples"), 0, tuples);
  const RolloutReport report = Step();
  EXPECT_EQ(report.ledger().rounds(), 100u);
  EXPECT_EQ(report.ledger().censored(), 100u);
  EXPECT_EQ(report.step().decisions(), 0u);
}

TEST_F(RolloutLedgerTest, AnOpenUnitWhoseTuplesAreRemovedIsVoid) {
  options_.mutable_plan()->set_unit_window_seconds(0.03);
  StartAgain();
  // A millisecond apart: of 60 units 30 have not ended.
  Log(60, {});
  EXPECT_NEAR(static_cast<double>(Step().ledger().open()), 30, 1);
  RemoveTuples();
  Log(60, {});
  const RolloutReport report = Step();
  EXPECT_NEAR(static_cast<double>(report.ledger().gone()), 30, 1);
  EXPECT_THAT(report.step().sentence(),
              HasSubstr(" units do not count because their tuples were removed "
                        "before their window ended"));
}

// The outcomes of the guardrail come after the window has ended.
TEST_F(RolloutLedgerTest, CountsRoundsThatAGuardrailLost) {
  const std::string file = AddGuardrail("complaints");
  options_.mutable_plan()->set_rewards(
      0, "complaints=" + file + "@horizon=30m@sparse");
  StartAgain();
  const auto write_file = [&](const log::v1::BanditTuple& tuple,
                              absl::Time through) {
    ASSERT_OK(WriteFile(file, "decision_id,reward\n" +
                                  tuple.decision().decision_id() + ",0\n" +
                                  ThroughLine(through)));
  };
  const auto tuples = MakeUnits(60, {});
  WriteSegment(dir_.Sub("tuples"), 0, tuples);
  write_file(tuples[0], absl::Now() - absl::Hours(2));
  EXPECT_EQ(Step().ledger().closed(), 60u);
  RemoveTuples();
  const auto later = MakeUnits(40, {});
  WriteSegment(dir_.Sub("tuples"), 1, later);
  write_file(later[0], absl::Now());
  const RolloutReport report = Step();
  ASSERT_EQ(report.ledger().guardrails_size(), 1);
  EXPECT_EQ(report.ledger().guardrails(0).gone(), 60u);
  EXPECT_EQ(report.ledger().guardrails(0).closed(), 100u);
  EXPECT_EQ(report.ledger().retention_seconds(), 1800);
  EXPECT_THAT(report.step().sentence(),
              HasTexts("60 units do not count for guardrail complaints because "
                       "their tuples were removed before its outcomes",
                       "keep tuples (keep_tuples_seconds) for 1800 s and"));
}

// Which units the removed tuples had, is not known.
TEST_F(RolloutLedgerTest, SaysWhenTuplesWereRemovedBeforeAStep) {
  WriteNewSegment("tuples", MakeNewUnits(50));
  const RolloutReport report = Step();
  EXPECT_EQ(report.ledger().rounds(), 0u);
  EXPECT_EQ(report.ledger().unknown_decisions(), 50u);
  EXPECT_THAT(report.step().sentence(),
              HasTexts("waits at 10 %",
                       "50 decisions do not count because "
                       "tuples (",
                       dir_.path() + "/tuples) were removed before",
                       "stop it and begin a new one"));
}

TEST_F(RolloutLedgerTest, RetentionThatFollowsTheStepsLosesNothing) {
  Log(10, {});
  EXPECT_EQ(Step().ledger().rounds(), 10u);
  WriteNewSegment("tuples", MakeNewUnits(50));
  EXPECT_EQ(Step().ledger().rounds(), 60u);
  RemoveTuples();
  // Its segment was created after the last step: one between may be missing.
  WriteNewSegment("tuples", MakeNewUnits(50));
  EXPECT_EQ(Step().ledger().unknown_decisions(), 50u);
}

TEST_F(RolloutLedgerTest, ADryRunAppendsNothing) {
  Log(60, {});
  const std::string before = *ReadFile(LedgerPath());
  options_.set_dry_run(true);
  EXPECT_EQ(Step().step().decisions(), 60u);
  EXPECT_EQ(*ReadFile(LedgerPath()), before);
}

TEST_F(RolloutLedgerTest, StatusReadsTheLedgerOfARolloutThatEnded) {
  Log(2000, {.canary = 0.3, .stable = 0.6});
  EXPECT_EQ(Step().step().action(), "GO_BACK");
  RemoveTuples();
  ASSERT_OK_AND_ASSIGN(const RolloutReport report, RolloutStatus(options_));
  EXPECT_EQ(report.ledger().closed(), 2000u);
  EXPECT_THAT(FormatRolloutReport(report),
              HasSubstr("Ledger: 2000 units; 2000 judged, 0 open, 0 censored, "
                        "0 removed too early.\n"));
}

TEST_F(RolloutLedgerTest, ANewRolloutBeginsANewLedger) {
  Log(2000, {.canary = 0.3, .stable = 0.6});
  EXPECT_EQ(Step().step().action(), "GO_BACK");
  ASSERT_OK(Start());
  EXPECT_EQ(Step().ledger().rounds(), 0u);
}

TEST_F(RolloutLedgerTest, CutsOffWhatAnInterruptedStepWrote) {
  Log(60, {});
  EXPECT_EQ(Step().step().decisions(), 60u);
  const std::string whole = *ReadFile(LedgerPath());
  ASSERT_OK(WriteFile(LedgerPath(), whole + whole.substr(0, 30)));
  Log(40, {});
  const RolloutReport report = Step();
  EXPECT_EQ(report.ledger().cut_bytes(), 30u);
  EXPECT_EQ(report.step().decisions(), 100u);
  EXPECT_THAT(FormatRolloutReport(report),
              HasSubstr("Cut off 30 bytes of an interrupted write"));
  EXPECT_EQ(Step().ledger().cut_bytes(), 0u);
}

// The pages of an append that was interrupted reach the disk in any order.
TEST_F(RolloutLedgerTest, CutsOffDamageThatNoStepHasActedUpon) {
  Log(60, {});
  EXPECT_EQ(Step().step().decisions(), 60u);
  const std::string whole = *ReadFile(LedgerPath());
  std::string torn = whole;
  torn[20] = static_cast<char>(torn[20] ^ 1);
  // Intact records follow the damaged one.
  ASSERT_OK(WriteFile(LedgerPath(), whole + torn));
  Log(40, {});
  const RolloutReport report = Step();
  EXPECT_EQ(report.ledger().cut_bytes(), whole.size());
  EXPECT_EQ(report.step().decisions(), 100u);
  EXPECT_EQ(Step().step().decisions(), 100u);
}

// The servers are asked when the ledger was written, and before anything is
// done.
TEST_F(RolloutLedgerTest, RecordsTheLengthOfTheLedgerBeforeAStepActs) {
  std::atomic<uint64_t> recorded = 0;
  HostilePeer server([&](int fd) {
    HostilePeer::ReadRequest(fd);
    recorded = NowRollout().ledger_bytes();
    HostilePeer::Send(fd, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  });
  options_.set_metrics(server.address());
  Log(2000, {.canary = 0.3, .stable = 0.6});
  EXPECT_EQ(Step().step().action(), "GO_BACK");
  EXPECT_EQ(recorded, ReadFile(LedgerPath())->size());
}

TEST_F(RolloutLedgerTest, OnlyAStepCutsOffWhatIsTorn) {
  Log(60, {});
  Step();
  ASSERT_OK(WriteFile(LedgerPath(), *ReadFile(LedgerPath()) + "torn"));
  options_.set_dry_run(true);
  const std::string ends = "The ledger ends with 4 bytes that are not complete";
  EXPECT_THAT(FormatRolloutReport(Step()),
              AllOf(HasSubstr(ends), Not(HasSubstr("Cut off"))));
  ASSERT_OK_AND_ASSIGN(const RolloutReport status, RolloutStatus(options_));
  EXPECT_THAT(FormatRolloutReport(status),
              AllOf(HasSubstr(ends), Not(HasSubstr("Cut off"))));
  options_.set_dry_run(false);
  EXPECT_THAT(FormatRolloutReport(Step()),
              AllOf(HasSubstr("Cut off 4 bytes"), Not(HasSubstr("ends with"))));
}

TEST_F(RolloutLedgerTest, RefusesALedgerThatIsDamagedOrIncomplete) {
  Log(60, {});
  Step();
  const std::string whole = *ReadFile(LedgerPath());
  for (const size_t place : {size_t{20}, whole.size() / 2, whole.size() - 10}) {
    std::string damaged = whole;
    damaged[place] = static_cast<char>(damaged[place] ^ 1);
    ASSERT_OK(WriteFile(LedgerPath(), damaged));
    EXPECT_THAT(StepRollout(options_),
                IsDataLoss(LedgerPath(), "restore the file from a copy",
                           "rollout --stop"))
        << place;
  }
  ASSERT_OK(WriteFile(LedgerPath(), whole.substr(0, whole.size() - 1)));
  EXPECT_THAT(StepRollout(options_), IsDataLoss("when a step acted upon it"));
  std::filesystem::remove(LedgerPath());
  EXPECT_THAT(StepRollout(options_), IsDataLoss("there is no such file"));
  // Nothing was changed, and status still works.
  EXPECT_EQ(NowRollout().outcome(), model::v1::Rollout::RUNNING);
  ASSERT_OK_AND_ASSIGN(const RolloutReport report, RolloutStatus(options_));
  EXPECT_FALSE(report.has_ledger());
  ASSERT_OK(WriteFile(LedgerPath(), whole));
  EXPECT_EQ(Step().step().decisions(), 60u);
}

TEST_F(RolloutLedgerTest, RefusesTheLedgerOfAnotherRollout) {
  const std::string before = *ReadFile(LedgerPath());
  Log(2000, {.canary = 0.3, .stable = 0.6});
  EXPECT_EQ(Step().step().action(), "GO_BACK");
  ASSERT_OK(Start());
  ASSERT_OK(WriteFile(LedgerPath(), before));
  EXPECT_THAT(StepRollout(options_), IsDataLoss("belongs to another rollout"));
}

// A complaint that comes after a round closed does not reopen it.
TEST_F(RolloutLedgerTest, AFileOfRewardsThatGrowsChangesNoClosedRound) {
  const std::string file = AddGuardrail("complaints");
  const std::string through = ThroughLine(absl::Now());
  ASSERT_OK(WriteFile(file, "decision_id,reward\n" + through));
  StartAgain();
  const auto tuples = MakeUnits(400, {});
  WriteSegment(dir_.Sub("tuples"), 0, tuples);
  // No complaint so far.
  ASSERT_OK(WriteFile(file, "decision_id,reward\n" +
                                tuples[0].decision().decision_id() + ",0\n" +
                                through));
  const RolloutReport before = Step();
  std::string rows = "decision_id,reward\n";
  for (const log::v1::BanditTuple& tuple : tuples) {
    if (tuple.decision().version() != 2) continue;
    rows += tuple.decision().decision_id() + ",-1\n";
  }
  ASSERT_OK(WriteFile(file, rows + through));
  const RolloutReport after = Step();
  ASSERT_EQ(after.step().guardrails_size(), 1);
  EXPECT_EQ(after.step().guardrails(0).difference(),
            before.step().guardrails(0).difference());
}

}  // namespace
}  // namespace sortition
