// Tuples of several directories, and of several joins.

#include "sortition/config/v1/sidecar.pb.h"
#include "tests/trainer/synthetic_tuples.h"
#include "tests/trainer/tuples/all_tuples.h"
#include "trainer/tuples/scan/tuple_scan.h"
#include "trainer/tuples/tuple_reader.h"

namespace sortition {
namespace {

using testing::Pair;
using testing::UnorderedElementsAre;

class SeveralLogsTest : public testing::Test {
 protected:
  // Returns tuples as a sidecar joins them.
  static std::vector<log::v1::BanditTuple> Joined(const std::string& writer,
                                                  size_t n) {
    std::vector<log::v1::BanditTuple> tuples;
    for (size_t i = 0; i < n; ++i) {
      tuples.push_back(MakeTuple({}, absl::StrCat(writer, i)));
      tuples.back().set_spool_writer(writer);
      tuples.back().mutable_position()->set_segment(writer + ".seg");
      tuples.back().mutable_position()->set_offset(100 * i);
    }
    return tuples;
  }

  // Writes a closed segment that was made at `time` with a window of so many
  // seconds.
  void Write(const std::string& dir, int64_t time, double window,
             const std::vector<log::v1::BanditTuple>& tuples) {
    config::v1::SidecarOptions sidecar;
    sidecar.set_tuples("t");
    sidecar.mutable_join()->set_reward_wait_time_seconds(window);
    SegmentWriter::Options options;
    options.dir = dir_.Sub(dir);
    options.name = SegmentName(time, "tuples", 0);
    options.preallocate_bytes = 1 << 20;
    options.header.set_kind(log::v1::SegmentHeader::TUPLES);
    options.header.set_created_time_us(time);
    options.header.set_options(sidecar.ShortDebugString());
    ASSERT_OK_AND_ASSIGN(const auto writer, SegmentWriter::Create(options));
    for (const log::v1::BanditTuple& tuple : tuples) {
      log::v1::LogRecord record;
      *record.mutable_tuple() = tuple;
      ASSERT_OK(writer->Append(record));
    }
    ASSERT_OK(writer->Close());
  }

  TupleData Read(const std::string& tuples, bool mix_joins = false) {
    config::v1::TrainOptions options;
    options.set_tuples(tuples);
    options.set_mix_joins(mix_joins);
    auto data = ReadTuples(options, {});
    EXPECT_OK(data);
    return data.ok() ? *std::move(data) : TupleData();
  }

  const TempDir dir_;
};

TEST_F(SeveralLogsTest, ASpoolIsRecognised) {
  SegmentWriter::Options options;
  options.dir = dir_.Sub("spool");
  options.name = SegmentName(1700000000000000, "server", 0);
  options.preallocate_bytes = 1 << 20;
  options.header.set_format_version(1);
  options.header.set_kind(log::v1::SegmentHeader::SPOOL);
  ASSERT_OK_AND_ASSIGN(const auto writer, SegmentWriter::Create(options));
  ASSERT_OK(writer->Close());
  EXPECT_THAT(
      TupleLog::Open(dir_.Sub("spool"), {}).status(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               testing::HasSubstr("which is a spool of a server: decisions "
                                  "that are not joined")));
}

TEST_F(SeveralLogsTest, DirectoriesGiveWhatOneDirectoryWithAllWouldGive) {
  Write("all", 1, 60, Joined("a", 30));
  Write("all", 2, 60, Joined("b", 20));
  Write("r/a", 1, 60, Joined("a", 30));
  Write("r/b", 2, 60, Joined("b", 20));
  const TupleData one = Read(dir_ / "all");
  for (const std::string& tuples :
       {dir_ / "r/a" + "," + dir_ / "r/b", dir_ / "r/*", dir_ / "r/?/*.seg"}) {
    const TupleData several = Read(tuples);
    EXPECT_EQ(several.read_tuples, 50u);
    EXPECT_THAT(several.excluded, IsEmpty());
    ASSERT_EQ(several.train.size(), one.train.size()) << tuples;
    for (size_t i = 0; i < one.train.size(); ++i) {
      EXPECT_EQ(several.train[i].log_propensity, one.train[i].log_propensity);
    }
  }
}

TEST_F(SeveralLogsTest, ACopyOfATupleCountsOnce) {
  Write("a", 1, 60, Joined("a", 30));
  Write("b", 2, 60, Joined("b", 20));
  std::vector<log::v1::BanditTuple> copies = Joined("a", 12);
  // Two spools give the same place to different decisions.
  copies[0].mutable_decision()->set_decision_id("another");
  Write("copy", 3, 60, copies);
  const TupleData data =
      Read(dir_ / "a" + "," + dir_ / "b" + "," + dir_ / "copy");
  EXPECT_EQ(data.read_tuples, 62u);
  EXPECT_EQ(Kept(data), 51u);
  EXPECT_THAT(data.excluded, UnorderedElementsAre(Pair(
                                 ReasonText(LeftOutReason::kSeenBefore), 11)));
}

TEST_F(SeveralLogsTest, TuplesOfAnotherJoinThanTheNewestAreLeftOut) {
  Write("a", 1, 300, Joined("a", 30));
  Write("a", 3, 600, Joined("b", 20));
  Write("b", 2, 300, Joined("c", 7));
  // A segment without tuples does not say what the newest tuples are.
  Write("b", 4, 900, {});
  const std::string both = dir_ / "a" + "," + dir_ / "b";
  const TupleData newest = Read(both);
  EXPECT_EQ(newest.read_tuples, 57u);
  EXPECT_EQ(Kept(newest), 20u);
  EXPECT_THAT(newest.excluded,
              UnorderedElementsAre(Pair(ReasonText(LeftOutReason::kOtherJoin) +
                                            ": SUM of 300 s, default 0",
                                        37)));
  const TupleData mixed = Read(both, /*mix_joins=*/true);
  EXPECT_EQ(Kept(mixed), 57u);
  EXPECT_THAT(mixed.excluded, IsEmpty());
}

// The older join comes first, with more or other decisions.
TEST_F(SeveralLogsTest, AnotherJoinOfTheSameDecisionsHidesNone) {
  Write("old", 1, 300, Joined("a", 30));
  Write("new", 2, 600, Joined("a", 40));
  const TupleData data = Read(dir_ / "old" + "," + dir_ / "new");
  EXPECT_EQ(Kept(data), 40u);
}

TEST_F(SeveralLogsTest, AnEntryThatMatchesNothingIsAnError) {
  Write("a", 1, 60, Joined("a", 3));
  config::v1::TrainOptions options;
  options.set_tuples(dir_ / "a" + "," + dir_ / "none*");
  EXPECT_THAT(ReadTuples(options, {}), IsNotFound("none*"));
}

// A log that says that it is incomplete is refused, unless it is allowed.

class IncompleteLogTest : public testing::Test {
 protected:
  IncompleteLogTest() {
    SegmentWriter::Options options;
    options.dir = dir_.path();
    options.name = SegmentName(1, "tuples", 0);
    options.preallocate_bytes = 65536;
    options.header.set_format_version(1);
    options.header.set_kind(log::v1::SegmentHeader::TUPLES);
    auto writer = SegmentWriter::Create(options);
    EXPECT_OK(writer);
    Append(writer->get(), [](log::v1::LogRecord* record) {
      record->mutable_tuple()->mutable_decision()->set_decision_id("x");
    });
    // 2026-01-01 00:00:00 is 1767225600 s.
    AppendMark(writer->get(), 1767225600, 1767225660);
    AppendMark(writer->get(), 1767225540, 1767225550);
    EXPECT_OK((*writer)->Close());
  }

  template <typename Fill>
  static void Append(SegmentWriter* writer, Fill fill) {
    log::v1::LogRecord record;
    fill(&record);
    EXPECT_OK(writer->Append(record));
  }
  static void AppendMark(SegmentWriter* writer, int64_t first, int64_t last) {
    Append(writer, [&](log::v1::LogRecord* record) {
      log::v1::Incomplete& mark = *record->mutable_incomplete();
      mark.set_first_time_us(first * 1000000);
      mark.set_last_time_us(last * 1000000);
      mark.set_foreign_feedback(600);
      mark.set_unknown_feedback(17);
      mark.set_feedback(1000);
    });
  }
  absl::Status Scan(bool allow_incomplete) {
    num_tuples_ = 0;
    const auto log =
        TupleLog::Open(dir_.path(), {.allow_incomplete = allow_incomplete});
    EXPECT_OK(log);
    TupleCounts counts;
    return ScanTuples(
        *log,
        [this](const log::v1::BanditTuple&) {
          ++num_tuples_;
          return absl::OkStatus();
        },
        &counts);
  }

  const TempDir dir_;
  int num_tuples_ = 0;
};

TEST_F(IncompleteLogTest, IsRefusedWithReasonAndTimes) {
  const absl::Status status = Scan(false);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(),
              HasTexts("is incomplete: 1200 feedback of 2000 are for decisions "
                       "of servers whose spools were not read, 34 for unknown "
                       "ones, from 2025-12-31 23:59:00Z to 2026-01-01 "
                       "00:01:00Z",
                       "--allow_incomplete"));
}

TEST_F(IncompleteLogTest, IsReadIfThatIsAllowed) {
  EXPECT_OK(Scan(true));
  EXPECT_EQ(num_tuples_, 1);
}

}  // namespace
}  // namespace sortition
