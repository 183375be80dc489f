// Decisions that a step lacks, or that come late.
#include "trainer/rollout/rollout_sources.h"

#include "tests/trainer/rollout/rollout_fixture.h"
#include "trainer/rollout/rollout_text.h"

namespace sortition {
namespace {

using config::v1::RolloutReport;
using model::v1::LedgerSource;

constexpr int64_t kHourUs = 3'600'000'000;

LedgerSource ReadBefore(const std::string& directory, int64_t needed_us,
                        int64_t newest_us) {
  LedgerSource source;
  source.set_directory(directory);
  source.set_needed_us(needed_us);
  source.set_newest_us(newest_us);
  return source;
}

// The oldest segment of "b" was created after the last step, so it is complete
// only if it begins with what was read in "b".
TEST(RolloutSourcesTest, ADirectoryIsComparedWithItself) {
  ReadSoFar before{.started_us = 100, .newest_us = 500};
  *before.sources.Add() = ReadBefore("a", 400, 500);
  *before.sources.Add() = ReadBefore("b", 300, 350);
  const TupleSource a{.directory = "a", .oldest_us = 90};
  TupleSource b{.directory = "b", .oldest_us = 450, .first_tuple_us = 360};
  EXPECT_EQ(FindUnreadGap(before, {a, b}), "b");
  b.first_tuple_us = 350;
  EXPECT_EQ(FindUnreadGap(before, {a, b}), "");
}

TEST(RolloutSourcesTest, ADirectoryThatMovedIsComparedWithTheMissingOne) {
  ReadSoFar before{.started_us = 100, .newest_us = 500};
  *before.sources.Add() = ReadBefore("a", 400, 500);
  *before.sources.Add() = ReadBefore("b", 300, 350);
  const TupleSource a{.directory = "a", .oldest_us = 90};
  TupleSource moved{.directory = "c", .oldest_us = 450, .first_tuple_us = 340};
  EXPECT_EQ(FindUnreadGap(before, {a, moved}), "");
  moved.first_tuple_us = 360;
  EXPECT_EQ(FindUnreadGap(before, {a, moved}), "b");
}

ReadSegment Segment(const std::string& directory, int64_t newest_us) {
  return {.directory = directory, .created_us = 1, .newest_us = newest_us};
}

TEST(RolloutSourcesTest, WaitsForTheSlowestDirectoryThatGoesOn) {
  const int64_t newest_us = 10 * kHourUs;
  const ReadUntil two =
      ReadUntilOf({Segment("a", newest_us), Segment("b", newest_us - 5),
                   Segment("b", newest_us - 9)});
  EXPECT_EQ(two.close_us, newest_us - 5);
  EXPECT_EQ(two.register_us, newest_us - 5);
  EXPECT_EQ(two.slowest, "b");
  // One has stopped, and one has nothing of this model.
  const ReadUntil one =
      ReadUntilOf({Segment("a", newest_us),
                   Segment("b", newest_us - kMaxLagUs - 1), Segment("c", 0)});
  EXPECT_EQ(one.close_us, newest_us);
  EXPECT_GT(one.register_us, newest_us + kMaxLagUs);
}

TEST(RolloutSourcesTest, SegmentsWithDecisionsThatWaitAreNeeded) {
  ReadSegment segment = Segment("a", 900);
  segment.created_us = 300;
  segment.newest_of_rollout_us = 900;
  const TupleSource source{.directory = "a", .needed_us = 1000};
  const LedgerSource waits =
      LedgerSourceOf(source, {segment}, {.close_us = 800, .register_us = 800});
  EXPECT_EQ(waits.needed_us(), 300);
  EXPECT_EQ(waits.newest_us(), 800);
  const LedgerSource all =
      LedgerSourceOf(source, {segment}, {.close_us = 900, .register_us = 900});
  EXPECT_EQ(all.needed_us(), 1000);
  EXPECT_EQ(all.newest_us(), 900);
}

class RolloutGapsTest : public RolloutFixture {
 protected:
  RolloutGapsTest() { EXPECT_OK(Start()); }

  // Damages a record in the middle of the only segment.
  void DamageTuples() {
    const std::filesystem::directory_iterator first(dir_.Sub("tuples"));
    const std::string path = first->path().string();
    std::string bytes = *ReadFile(path);
    char& byte = bytes[bytes.find("decision-unit-20") + 3];
    byte = static_cast<char>(byte ^ 1);
    ASSERT_OK(WriteFile(path, bytes));
  }

  void LogIncomplete(int64_t last_time_us) {
    SegmentWriter::Options options;
    options.dir = dir_.Sub("tuples");
    options.name = SegmentName(NowUs(), "test", ++next_segment_);
    options.header.set_format_version(1);
    options.header.set_kind(log::v1::SegmentHeader::TUPLES);
    ASSERT_OK_AND_ASSIGN(const auto writer, SegmentWriter::Create(options));
    log::v1::LogRecord record;
    record.mutable_incomplete()->set_foreign_feedback(7);
    record.mutable_incomplete()->set_last_time_us(last_time_us);
    ASSERT_OK(writer->Append(record));
    ASSERT_OK(writer->Close());
  }
};

TEST_F(RolloutGapsTest, DamagedRecordsAreAGap) {
  Log(60, {});
  DamageTuples();
  const RolloutReport report = Step();
  EXPECT_EQ(report.ledger().rounds(), 0u);
  EXPECT_EQ(report.ledger().unknown_decisions(), 59u);
  EXPECT_THAT(report.step().sentence(),
              HasTexts("59 decisions do not count because records (",
                       dir_.path() + "/tuples) are damaged"));
}

TEST_F(RolloutGapsTest, RecordsThatAreDamagedAfterTheyWereReadAreNone) {
  Log(60, {});
  EXPECT_EQ(Step().ledger().rounds(), 60u);
  DamageTuples();
  Log(40, {});
  const RolloutReport report = Step();
  EXPECT_FALSE(report.ledger().has_gap());
  EXPECT_EQ(report.ledger().rounds(), 100u);
}

TEST_F(RolloutGapsTest, AnIncompleteLogIsAGapIfItIsAllowed) {
  Log(60, {});
  LogIncomplete(NowUs());
  const RolloutReport refused = Step();
  EXPECT_EQ(refused.ledger().rounds(), 0u);
  ASSERT_EQ(refused.problems_size(), 1);
  EXPECT_THAT(refused.problems(0),
              HasTexts("the tuples cannot be used", "is incomplete"));
  options_.set_allow_incomplete(true);
  const RolloutReport allowed = Step();
  EXPECT_EQ(allowed.problems_size(), 0);
  EXPECT_EQ(allowed.ledger().rounds(), 0u);
  EXPECT_THAT(allowed.step().sentence(),
              HasTexts("60 decisions do not count because the log (",
                       "feedback came for decisions that it does not have"));
}

TEST_F(RolloutGapsTest, ALogThatWasIncompleteBeforeTheRolloutIsNone) {
  LogIncomplete(NowRollout().started_us() - 1);
  Log(60, {});
  options_.set_allow_incomplete(true);
  EXPECT_EQ(Step().ledger().rounds(), 60u);
}

// Units that were not kept at first would look new when they come back.
TEST_F(RolloutGapsTest, UnitsThatWereNotKeptBeforeDoNotRegister) {
  const auto tuples = MakeUnits(200, {});
  std::vector<log::v1::BanditTuple> kept;
  for (const log::v1::BanditTuple& tuple : tuples) {
    if (KeepNumber(tuple.decision().unit_id(), "") >= 0.5) continue;
    kept.push_back(tuple);
    kept.back().set_keep_probability(0.5);
  }
  WriteSegment(dir_.Sub("tuples"), next_segment_++, kept);
  EXPECT_EQ(Step().ledger().rounds(), kept.size());
  // All come back, and now all are kept.
  auto again = tuples;
  for (log::v1::BanditTuple& tuple : again) {
    log::v1::Decision& decision = *tuple.mutable_decision();
    decision.set_decision_id(decision.decision_id() + "-again");
    decision.set_time_us(decision.time_us() + 1'000'000);
  }
  WriteSegment(dir_.Sub("tuples"), next_segment_++, again);
  EXPECT_EQ(Step().ledger().rounds(), kept.size());
}

// The units come to "late" first, whose tuples come a step later.
TEST_F(RolloutGapsTest, UnitsWaitForADirectoryThatIsBehind) {
  options_.set_tuples(dir_.Sub("tuples") + "," + dir_.Sub("late"));
  const auto all = MakeUnits(100, {});
  const std::vector<log::v1::BanditTuple> first(all.begin(), all.begin() + 50);
  std::vector<log::v1::BanditTuple> again;
  for (log::v1::BanditTuple tuple : all) {
    log::v1::Decision& decision = *tuple.mutable_decision();
    decision.set_decision_id(decision.decision_id() + "-again");
    decision.set_time_us(decision.time_us() + 1'000'000);
    again.push_back(tuple);
  }
  WriteSegment(dir_.Sub("late"), next_segment_++, first);
  WriteSegment(dir_.Sub("tuples"), next_segment_++, again);
  const RolloutReport before = Step();
  EXPECT_EQ(before.ledger().rounds(), 50u);
  EXPECT_EQ(before.ledger().waiting_decisions(), 100u);
  EXPECT_EQ(before.ledger().waits_for(), dir_.Sub("late"));
  EXPECT_THAT(
      FormatRolloutReport(before),
      HasSubstr("100 decisions wait for the tuples of " + dir_.Sub("late")));
  // The others register at their first decision, in "late".
  WriteSegment(dir_.Sub("late"), next_segment_++,
               {all.begin() + 50, all.end()});
  const RolloutReport after = Step();
  EXPECT_EQ(after.ledger().rounds(), 100u);
  EXPECT_EQ(after.ledger().closed(), 100u);
}

TEST_F(RolloutGapsTest, UnitsOfAFastClockRegisterAtOnce) {
  auto tuples = MakeUnits(60, {});
  for (log::v1::BanditTuple& tuple : tuples) {
    tuple.mutable_decision()->set_time_us(NowUs() + kHourUs / 2);
  }
  WriteSegment(dir_.Sub("tuples"), next_segment_++, tuples);
  const RolloutReport report = Step();
  EXPECT_EQ(report.ledger().rounds(), 60u);
  EXPECT_EQ(report.ledger().open(), 60u);
  for (log::v1::BanditTuple& tuple : tuples) {
    tuple.mutable_decision()->set_time_us(NowUs() + 2 * kHourUs);
    tuple.mutable_decision()->set_decision_id("later-" +
                                              tuple.decision().unit_id());
    tuple.mutable_decision()->set_unit_id("new-" + tuple.decision().unit_id());
  }
  WriteSegment(dir_.Sub("tuples"), next_segment_++, tuples);
  const RolloutReport later = Step();
  EXPECT_EQ(later.ledger().rounds(), 60u);
  EXPECT_THAT(later.step().sentence(),
              HasSubstr("60 decisions are more than an hour in the future"));
}

}  // namespace
}  // namespace sortition
