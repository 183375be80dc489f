// A log that is still being written while it is judged.
#include "absl/status/status.h"
#include "tests/trainer/ope/ope_fixture.h"
#include "trainer/ope/ope_log.h"
#include "trainer/ope/slices.h"

namespace sortition {
namespace {

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

}  // namespace
}  // namespace sortition
