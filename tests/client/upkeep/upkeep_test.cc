#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "client/upkeep/log_compact.h"
#include "client/upkeep/source_join.h"
#include "client/upkeep/upkeep_commands.h"
#include "io/clocks.h"
#include "io/files.h"
#include "io/segments/compressed_file.h"
#include "io/segments/segment_recovery.h"
#include "tests/client/upkeep/output_fixture.h"

namespace sortition {
namespace {

using absl::StatusCode;

class LogCompactTest : public OutputFixture {
 protected:
  LogCompactTest() { options_.set_out(root_ / "out"); }

  absl::StatusOr<CompactResult> Compact(const std::string& by) {
    options_.set_by(by);
    return CompactLog(options_, {root_.Sub("a"), root_.Sub("b")});
  }

  std::vector<std::string> Ids() {
    std::vector<std::string> ids;
    for (const auto& record : Read(options_.out())) {
      if (record.has_tuple()) {
        ids.push_back(record.tuple().decision().decision_id());
      }
    }
    return ids;
  }

  static std::multiset<std::string> Tuples(const std::string& dir) {
    std::multiset<std::string> tuples;
    for (const auto& record : Read(dir)) {
      if (record.has_tuple()) tuples.insert(record.SerializeAsString());
    }
    return tuples;
  }

  config::v1::LogCompactOptions options_;
};

TEST_F(LogCompactTest, OrdersByTimeOrByUnit) {
  Write(root_.Sub("a"), 1,
        {Tuple("3", 30, "u"), Tuple("1", 10), Tuple("5", 50, "ab")});
  Write(root_.Sub("b"), 2,
        {Tuple("4", 40, "u"), Tuple("2", 20, "ab"), Tuple("6", 60)});
  ASSERT_OK(Compact("time"));
  EXPECT_THAT(Ids(), ElementsAre("1", "2", "3", "4", "5", "6"));
  options_.set_out(root_ / "by_unit");
  ASSERT_OK_AND_ASSIGN(const CompactResult result, Compact("unit"));
  EXPECT_THAT(Ids(), ElementsAre("1", "6", "3", "4", "2", "5"));
  EXPECT_EQ(result.tuples, 6u);
  EXPECT_EQ(result.segments_read, 2u);
  EXPECT_EQ(result.segments_written, 1u);
}

// Many small segments, some of them compressed, in memory or through the disk.
TEST_F(LogCompactTest, HoldsTheSameTuplesByteForByte) {
  std::mt19937 random(2);
  std::multiset<std::string> expected;
  for (int segment = 0; segment < 40; ++segment) {
    const std::string dir = root_.Sub(segment % 2 == 0 ? "a" : "b");
    std::vector<log::v1::LogRecord> records;
    for (int i = 0; i < 50; ++i) {
      records.push_back(Tuple(absl::StrCat(segment, "-", i), random() % 1000,
                              absl::StrCat("u", random() % 7)));
      records.back().mutable_tuple()->mutable_decision()->set_degraded(
          std::string(random() % 3000, 'x'));
      expected.insert(records.back().SerializeAsString());
    }
    const std::string path = Write(dir, segment + 1, records);
    if (segment % 3 != 0) continue;
    ASSERT_OK(CompressFile(path, path + ".zst", [] { return false; }));
    std::filesystem::remove(path);
  }
  options_.set_segment_bytes(1 << 20);
  options_.set_scratch(root_.path());
  for (const uint64_t memory_mb : {1, 100}) {
    for (const std::string by : {"time", "unit"}) {
      options_.set_memory_mb(memory_mb);
      options_.set_out(root_ / absl::StrCat("out-", by, memory_mb));
      ASSERT_OK_AND_ASSIGN(const CompactResult result, Compact(by));
      EXPECT_TRUE(Tuples(options_.out()) == expected);
      // 3 MB of tuples.
      EXPECT_GE(result.segments_written, 3u);
      EXPECT_LE(result.segments_written, 5u);
    }
  }
}

TEST_F(LogCompactTest, MayCompressWhatItWrites) {
  std::vector<log::v1::LogRecord> records;
  for (int i = 0; i < 3000; ++i) records.push_back(Tuple(absl::StrCat(i), i));
  Write(root_.Sub("a"), 1, records);
  options_.set_compress(true);
  options_.set_segment_bytes(65536);
  ASSERT_OK_AND_ASSIGN(const CompactResult result, Compact("time"));
  EXPECT_GT(result.segments_written, 2u);
  for (const auto& file : std::filesystem::directory_iterator(options_.out())) {
    EXPECT_THAT(file.path().string(), testing::EndsWith(".seg.zst"));
  }
  EXPECT_TRUE(Tuples(options_.out()) == Tuples(root_ / "a"));
}

TEST_F(LogCompactTest, KeepsMarksAndSaysWhatItIs) {
  log::v1::LogRecord mark;
  mark.mutable_incomplete()->set_foreign_feedback(3);
  const std::string join =
      "tuples: \"t\" join { default_reward: 0.5 keep_probability: 0.5 }";
  Write(root_.Sub("a"), 1, {Tuple("1", 1), mark}, join);
  Write(root_.Sub("b"), 2, {Tuple("2", 2)},
        "tuples: \"other\" join { default_reward: 0.5 }");
  ASSERT_OK_AND_ASSIGN(const CompactResult result, Compact("time"));
  EXPECT_EQ(result.other_records, 1u);
  const auto records = Read(options_.out());
  ASSERT_EQ(records.size(), 5u);
  const log::v1::SegmentHeader& header = records[0].header();
  EXPECT_EQ(header.kind(), log::v1::SegmentHeader::TUPLES);
  EXPECT_EQ(header.writer_id(), "compact");
  EXPECT_THAT(header.options(), HasTexts("# log compact --by=time of 2",
                                         "\ntuples: \"other\" join {"));
  EXPECT_EQ(records[1].incomplete().foreign_feedback(), 3u);
  EXPECT_TRUE(records[4].has_footer());
  // What was compacted can be compacted again, beside its own kind.
  options_.set_out(root_ / "again");
  EXPECT_OK(CompactLog(options_, {root_ / "out", root_ / "a"}));
}

TEST_F(LogCompactTest, RefusesTuplesOfDifferentJoins) {
  const std::string first =
      Write(root_.Sub("a"), 1, {Tuple("1", 1)}, "tuples: \"t\"");
  const std::string second = Write(root_.Sub("b"), 2, {Tuple("2", 2)},
                                   "tuples: \"t\" join { MAX of 600 s }");
  EXPECT_THAT(Compact("time"),
              IsFailedPrecondition(first, second, "MAX of 600 s"));
  EXPECT_FALSE(std::filesystem::exists(options_.out()));
}

TEST_F(LogCompactTest, RefusesWhatIsNoOutput) {
  Write(root_.Sub("a"), 1, {}, "", log::v1::SegmentHeader::SPOOL);
  EXPECT_THAT(Compact("time"),
              IsFailedPrecondition("of kind SPOOL: must be TUPLES"));
  std::filesystem::remove_all(root_ / "a");
  EXPECT_THAT(Compact("time"), IsNotFound());
  std::filesystem::remove_all(root_ / "a");
  EXPECT_THAT(CompactLog(options_, {root_ / "a"}), IsNotFound());
  Write(root_.Sub("a"), 1, {Tuple("1", 1)});
  ASSERT_OK(WriteFile(root_.Sub("out") + "/there", ""));
  EXPECT_THAT(Compact("time"), IsFailedPrecondition("must be absent or empty"));
}

TEST_F(LogCompactTest, RefusesADirectoryInWhichASidecarWorks) {
  Write(root_.Sub("a"), 1, {Tuple("1", 1)});
  const std::string path = root_ / "a/sidecar.lock";
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  ASSERT_EQ(flock(fd, LOCK_EX | LOCK_NB), 0);
  EXPECT_THAT(Compact("time"), IsFailedPrecondition("a sidecar works on"));
  close(fd);
  EXPECT_OK(Compact("time"));
}

// A dead sidecar's last segment has no footer: its whole records count. Once it
// was recovered, its footer tells of the rest.
TEST_F(LogCompactTest, TakesTheWholeRecordsOfATornSegmentAndCountsTheRest) {
  std::unique_ptr<SegmentWriter> writer;
  const std::string path =
      Write(root_.Sub("a"), 1, {Tuple("1", 1), Tuple("2", 2)}, "",
            log::v1::SegmentHeader::TUPLES, &writer);
  writer.reset();
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 5);
  // A frame has 16 bytes more than its record.
  const uint64_t torn = Tuple("2", 2).ByteSizeLong() + 16 - 5;
  ASSERT_OK_AND_ASSIGN(CompactResult result, Compact("time"));
  EXPECT_THAT(Ids(), ElementsAre("1"));
  EXPECT_EQ(result.torn_bytes, torn);
  EXPECT_EQ(result.damaged_records, 0u);
  ASSERT_OK(RecoverSegment(path));
  options_.set_out(root_ / "recovered");
  ASSERT_OK_AND_ASSIGN(result, Compact("time"));
  EXPECT_EQ(result.torn_bytes, torn);
}

// What it writes must look no newer than what it read: readers take the join of
// the newest segment, and segments are pruned by their age.
TEST_F(LogCompactTest, NewSegmentsAreAsOldAsTheNewestOfTheOthers) {
  constexpr int64_t kNewest = 1700000000000000;
  std::vector<log::v1::LogRecord> records;
  for (int i = 0; i < 3000; ++i) records.push_back(Tuple(absl::StrCat(i), i));
  Write(root_.Sub("a"), kNewest, records);
  Write(root_.Sub("b"), kNewest - 1000, {Tuple("b", 1)});
  options_.set_segment_bytes(65536);
  ASSERT_OK_AND_ASSIGN(const CompactResult result, Compact("time"));
  ASSERT_GT(result.segments_written, 2u);
  int64_t next_us = kNewest;
  for (const auto& record : Read(options_.out())) {
    if (!record.has_header()) continue;
    EXPECT_EQ(record.header().created_time_us(), next_us++);
  }
  EXPECT_THAT(*ListSegments(options_.out()),
              testing::Contains(SegmentName(kNewest, "compact", 0)));
}

TEST_F(LogCompactTest, TakesACopyOfATupleOnce) {
  const auto copied = Tuple("1", 1);
  auto other = Tuple("1", 1);
  other.mutable_tuple()->set_spool_writer("another server");
  Write(root_.Sub("a"), 1, {copied, Tuple("2", 2)});
  Write(root_.Sub("b"), 2, {copied, other, Tuple("3", 3)});
  ASSERT_OK_AND_ASSIGN(const CompactResult result, Compact("time"));
  EXPECT_THAT(Ids(), ElementsAre("1", "1", "2", "3"));
  EXPECT_EQ(result.tuples, 4u);
  EXPECT_EQ(result.copies, 1u);
}

TEST_F(LogCompactTest, DamageIsAnErrorUnlessItMayBeLeftOut) {
  const std::string path =
      Write(root_.Sub("a"), 1, {Tuple("1", 1), Tuple("2", 2)});
  {
    // In the first tuple: behind the frame of the header.
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(60);
    file.put('?');
  }
  EXPECT_THAT(Compact("time"),
              StatusIs(StatusCode::kDataLoss, HasTexts(path, "--skip_damage")));
  EXPECT_FALSE(std::filesystem::exists(options_.out()));
  options_.set_skip_damage(true);
  ASSERT_OK_AND_ASSIGN(const CompactResult result, Compact("time"));
  EXPECT_EQ(result.damaged_records, 1u);
  EXPECT_THAT(Ids(), ElementsAre("2"));
}

TEST_F(LogCompactTest, TheCommandSaysWhatItDid) {
  Write(root_.Sub("a"), 1, {Tuple("1", 1)});
  std::ostringstream out;
  std::ostringstream error;
  CommandOutput output{out, error};
  options_.set_by("size");
  EXPECT_TRUE(IsUsageError(RunLogCompact(options_, {root_ / "a"}, &output)));
  options_.set_by("unit");
  ASSERT_OK(RunLogCompact(options_, {root_ / "a"}, &output));
  EXPECT_EQ(out.str(),
            "1 tuples and 0 other records of 1 segments, in 1 segments now; "
            "left out: 0 copies of tuples, 0 damaged records, 0 torn bytes\n");
}

constexpr int64_t kHourUs = int64_t{3600} * 1000000;

class LogPruneTest : public OutputFixture {
 protected:
  // Writes segments that began so many hours ago.
  void WriteHoursAgo(
      const std::string& dir, std::vector<int> hours,
      log::v1::SegmentHeader::Kind kind = log::v1::SegmentHeader::TUPLES) {
    for (const int ago : hours) {
      paths_.push_back(Write(root_.Sub(dir), now_us_ - ago * kHourUs,
                             {Tuple("1", 1)}, "", kind));
    }
  }

  absl::Status Prune() {
    out_.str("");
    CommandOutput output{out_, error_};
    return RunLogPrune(options_, {root_ / "a"}, &output);
  }

  // Which of paths_ are left.
  std::vector<size_t> Left() const {
    std::vector<size_t> left;
    for (size_t i = 0; i < paths_.size(); ++i) {
      if (std::filesystem::exists(paths_[i])) left.push_back(i);
    }
    return left;
  }

  const int64_t now_us_ = NowUs();
  std::vector<std::string> paths_;
  config::v1::LogPruneOptions options_;
  std::ostringstream out_;
  std::ostringstream error_;
};

// The second segment began 3 hours ago: since then the first is closed.
TEST_F(LogPruneTest, RemovesWhatWasClosedLongAgo) {
  WriteHoursAgo("a", {5, 3, 1});
  WriteHoursAgo("a/late", {9, 8, 0}, log::v1::SegmentHeader::LATE);
  options_.set_older_than_seconds(2 * 3600);
  options_.set_dry_run(true);
  ASSERT_OK(Prune());
  EXPECT_THAT(out_.str(), HasTexts(paths_[0], paths_[3], "2 segments, ",
                                   "would be removed"));
  EXPECT_EQ(Left().size(), 6u);
  options_.set_dry_run(false);
  ASSERT_OK(Prune());
  EXPECT_THAT(out_.str(), HasSubstr("bytes removed"));
  EXPECT_THAT(Left(), ElementsAre(1, 2, 4, 5));
}

// The second tuple segment was written from 9 to 3 hours ago. Late feedback of
// its tuples can be in all late segments but the first, which was followed when
// it began.
TEST_F(LogPruneTest, KeepsLateFeedbackOfTuplesThatStay) {
  WriteHoursAgo("a", {12, 9, 3, 1});
  WriteHoursAgo("a/late", {10, 9, 8, 7, 0}, log::v1::SegmentHeader::LATE);
  options_.set_older_than_seconds(4 * 3600);
  ASSERT_OK(Prune());
  EXPECT_THAT(Left(), ElementsAre(1, 2, 3, 5, 6, 7, 8));
  // Two hours later they go together.
  options_.set_older_than_seconds(2 * 3600);
  ASSERT_OK(Prune());
  EXPECT_THAT(Left(), ElementsAre(2, 3, 7, 8));
}

TEST_F(LogPruneTest, RemovesTheOldestUntilTheRestFits) {
  WriteHoursAgo("a", {5, 3, 2, 1});
  options_.set_to_bytes(std::filesystem::file_size(paths_[0]) * 2);
  ASSERT_OK(Prune());
  EXPECT_THAT(Left(), ElementsAre(2, 3));
  options_.set_to_bytes(1);
  ASSERT_OK(Prune());
  EXPECT_THAT(Left(), ElementsAre(3));
}

TEST_F(LogPruneTest, RemovesNothingOfASpool) {
  WriteHoursAgo("a", {5, 4});
  WriteHoursAgo("a", {3, 2, 1}, log::v1::SegmentHeader::SPOOL);
  options_.set_to_bytes(1);
  EXPECT_THAT(Prune(), IsFailedPrecondition(paths_[2], "TUPLES or LATE"));
  EXPECT_EQ(Left().size(), 5u);
}

TEST_F(LogPruneTest, NeedsALimit) {
  root_.Sub("a");
  EXPECT_TRUE(IsUsageError(Prune()));
  options_.set_to_bytes(1);
  EXPECT_OK(Prune());
  std::filesystem::remove_all(root_ / "a");
  EXPECT_THAT(Prune(), IsNotFound("a"));
}

// Defaults count as if they were written; what is not about rewards does not
// count, nor does an option of another release.
TEST(SourceJoinTest, OnlyTheMeaningOfRewardsCounts) {
  SourceJoin join;
  ASSERT_OK(join.Take("1", "tuples: \"a\" join { max_held: 7 } of_2030: 1"));
  ASSERT_OK(join.Take("2",
                      "tuples: \"b\" compress: ZSTD join { aggregation: SUM "
                      "keep_probability: 0.5 }"));
  EXPECT_EQ(join.options_text().substr(0, 11), "tuples: \"b\"");
  for (const char* other :
       {"tuples: \"a\" join { reward_wait_time_seconds: 5 }",
        "tuples: \"a\" join { default_reward: 1 }",
        "tuples: \"a\" join { only_if_shown: true }",
        "tuples: \"a\" join { reward_min: 0 }",
        "tuples: \"a\" join { reward_max: 1 }", "", "imported"}) {
    EXPECT_THAT(join.Take("3", other), IsFailedPrecondition()) << other;
  }
}

TEST(SourceJoinTest, OtherWritersAreComparedByTheirText) {
  SourceJoin join;
  ASSERT_OK(join.Take("1", "replays: 4"));
  EXPECT_OK(join.Take("2", "replays: 4"));
  EXPECT_THAT(join.Take("3", "replays: 5"), IsFailedPrecondition());
}

}  // namespace
}  // namespace sortition
