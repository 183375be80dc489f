// Segments that are removed from a spool before they were joined are missing,
// also where no process was there to see it.
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/segments/segment_writer.h"
#include "sidecar/spools/spool_progress.h"
#include "tests/sidecar/pipeline_fixture.h"

namespace sortition {
namespace {

using namespace testing_sidecar;  // NOLINT: the fixture of this folder.
using log::v1::SegmentHeader;
using log::v1::SpoolProgress;
using testing::SizeIs;

constexpr int kPerSegment = 4;

class RemovedRecordsTest : public PipelineTest {
 protected:
  // Returns the header of a server's segment that begins at decision `first` of
  // its incarnation.
  static SegmentHeader Header(const std::string& incarnation, int first) {
    SegmentHeader header;
    header.set_format_version(1);
    header.set_kind(SegmentHeader::SPOOL);
    header.set_writer_id("server");
    header.set_incarnation(incarnation);
    header.set_first_sequence(static_cast<uint64_t>(first));
    return header;
  }

  // Writes segments with decisions that are `seconds` apart, and in the end one
  // with a decision long after them.
  void WriteSegments(int num_segments, double seconds,
                     const std::string& incarnation = "one") {
    int64_t last_us = start_us_;
    for (int segment = 0; segment <= num_segments; ++segment) {
      const bool is_end = segment == num_segments;
      SegmentWriter::Options options;
      options.dir = options_.spool(0);
      options.header = Header(incarnation, segment * kPerSegment);
      std::unique_ptr<SegmentWriter> writer;
      for (int i = 0; i < (is_end ? 1 : kPerSegment); ++i) {
        const int number = segment * kPerSegment + i;
        const int64_t time_us =
            is_end ? last_us + 100 * kSecond
                   : start_us_ + static_cast<int64_t>(number * seconds * 1e6);
        last_us = time_us;
        if (i == 0) {
          options.name =
              SegmentName(time_us, "server", static_cast<uint64_t>(segment));
          options.header.set_created_time_us(time_us);
          writer = *SegmentWriter::Create(options);
        }
        ASSERT_OK(writer->Append(DecisionRecord(
            is_end ? "end" : incarnation + std::to_string(number), time_us)));
      }
      ASSERT_OK(writer->Close(/*is_last=*/is_end));
    }
  }

  // Runs a pipeline until it waits, and kills it.
  void RunAndDie() {
    const auto pipeline = Open();
    while (*pipeline->Poll(1000)) {
    }
    ASSERT_OK(pipeline->Poll(0));  // Housekeeping.
  }
  // Runs a pipeline to the end. Returns how many records it missed.
  uint64_t FinishAndCountMissing() {
    const auto pipeline = Open();
    RunToEnd(pipeline.get(), &clock_);
    EXPECT_OK(pipeline->Close());
    return pipeline->counts().tail.missing_records;
  }
  void Remove(size_t count) {
    const std::vector<std::string> names = Spool();
    for (size_t i = 0; i < count; ++i) {
      std::filesystem::remove(options_.spool(0) + "/" + names.at(i));
    }
  }
  // Returns how many tuples are censored because records are missing.
  int NumCensored() const {
    int count = 0;
    for (const auto& tuple : ReadTuples(options_.tuples())) {
      for (const int reason : tuple.censored()) {
        count += reason == log::v1::MISSING ? 1 : 0;
      }
    }
    return count;
  }

  int64_t start_us_ = kStartUs;  // Time of the first decision.
};

// All windows are open when the sidecar dies: nothing was written but where it
// began.
TEST_F(RemovedRecordsTest, WhatWasReadAndNotWrittenIsMissing) {
  WriteSegments(5, 0.1);
  std::filesystem::remove(options_.spool(0) + "/" + Spool().back());
  clock_.now_us = kStartUs + kSecond;
  RunAndDie();
  Remove(2);
  EXPECT_EQ(FinishAndCountMissing(), 2u * kPerSegment);
  EXPECT_THAT(ReadTuples(options_.tuples()), SizeIs(3 * kPerSegment));
  EXPECT_GE(NumCensored(), 1);
}

// The first segments are done, and removed by the sidecar. Those behind them
// are removed by somebody else. Decisions behind the hole whose window meets it
// are censored: those up to its end, and those before it that have no tuple
// yet.
TEST_F(RemovedRecordsTest, WhatIsBehindTheLastProgressIsMissing) {
  WriteSegments(12, 1);
  const std::vector<std::string> all = Spool();
  std::filesystem::create_directories(dir_ / "later");
  for (size_t i = 6; i < all.size(); ++i) {
    std::filesystem::rename(options_.spool(0) + "/" + all[i],
                            dir_ / "later/" + all[i]);
  }
  clock_.now_us = kStartUs + 23 * kSecond;
  RunAndDie();
  const size_t left = Spool().size();
  ASSERT_LT(left, 6u);
  ASSERT_GT(left, 1u);
  for (size_t i = 6; i < all.size(); ++i) {
    std::filesystem::rename(dir_ / "later/" + all[i],
                            options_.spool(0) + "/" + all[i]);
  }
  Remove(left);
  EXPECT_EQ(FinishAndCountMissing(), left * kPerSegment);
  EXPECT_GE(NumCensored(), 1);
}

// A backup has the tuples of an earlier time than the spool.
TEST_F(RemovedRecordsTest, TuplesThatAreOlderThanTheirSpoolMissRecords) {
  WriteSegments(12, 1);
  const std::string newest = Spool().back();
  std::filesystem::rename(options_.spool(0) + "/" + newest, dir_ / newest);
  clock_.now_us = kStartUs + 5 * kSecond;
  RunAndDie();
  const std::string backup = dir_ / "backup";
  std::filesystem::copy(options_.tuples(), backup,
                        std::filesystem::copy_options::recursive);
  const size_t before = Spool().size();
  std::filesystem::rename(dir_ / newest, options_.spool(0) + "/" + newest);
  {
    const auto pipeline = Open();
    RunToEnd(pipeline.get(), &clock_);
  }
  const size_t removed = before + 1 - Spool().size();
  ASSERT_GT(removed, 0u);
  std::filesystem::remove_all(options_.tuples());
  std::filesystem::rename(backup, options_.tuples());
  EXPECT_EQ(FinishAndCountMissing(), removed * kPerSegment);
}

TEST_F(RemovedRecordsTest, NothingIsMissingAfterAnyDeath) {
  WriteSegments(8, 1);
  const std::string saved = dir_ / "saved";
  std::filesystem::copy(options_.spool(0), saved);
  for (uint64_t steps = 1; DieAfter(steps); steps += 3) {
    EXPECT_EQ(FinishAndCountMissing(), 0u) << steps;
    EXPECT_EQ(NumCensored(), 0);
    StartAgain(saved);
  }
}

// A crash after the progress was written leaves the segment, and a backup of
// the spool may be older than the tuples.
TEST_F(RemovedRecordsTest, OlderSegmentsThanThoseThatAreNeededAreNoHole) {
  WriteSegments(8, 1);
  const std::string saved = dir_ / "saved";
  std::filesystem::copy(options_.spool(0), saved);
  Finish();
  std::filesystem::remove_all(options_.spool(0));
  std::filesystem::copy(saved, options_.spool(0));
  EXPECT_EQ(FinishAndCountMissing(), 0u);
  EXPECT_THAT(ReadTuples(options_.tuples()), SizeIs(8 * kPerSegment + 1));
}

// A folder of tuples of an older release does not tell how far the spool is
// done: it is continued, and nothing is missing.
TEST_F(RemovedRecordsTest, AFolderWithoutProgressIsContinued) {
  WriteSegments(4, 1);
  const std::vector<std::string> names = Spool();
  {
    std::filesystem::create_directories(options_.tuples());
    SegmentWriter::Options old;
    old.dir = options_.tuples();
    old.name = SegmentName(kStartUs, "tuples", 0);
    old.header.set_format_version(1);
    old.header.set_kind(SegmentHeader::TUPLES);
    old.header.set_writer_id("tuples");
    old.header.mutable_resume()->set_segment(names[2]);
    auto writer = *SegmentWriter::Create(old);
    ASSERT_OK(writer->Close());
  }
  Remove(2);
  EXPECT_EQ(FinishAndCountMissing(), 0u);
  EXPECT_THAT(ReadTuples(options_.tuples()), SizeIs(2 * kPerSegment + 1));
  // From now on it does.
  std::filesystem::remove_all(options_.spool(0));
  std::filesystem::create_directories(options_.spool(0));
  start_us_ += 1000 * kSecond;
  WriteSegments(1, 1, "two");
  EXPECT_GE(FinishAndCountMissing(), 1u);
}

// Where the sidecar removes nothing, somebody else may remove what is done.
TEST_F(RemovedRecordsTest, WhatIsDoneMayGoWhereNothingIsDeleted) {
  options_.set_delete_spool(false);
  WriteSegments(8, 1);
  Finish();
  ASSERT_THAT(Spool(), SizeIs(9));
  Remove(8);
  EXPECT_EQ(FinishAndCountMissing(), 0u);
  EXPECT_THAT(ReadTuples(options_.tuples()), SizeIs(8 * kPerSegment + 1));
}

SpoolProgress Progress(const std::string& done, const std::string& next,
                       uint64_t next_sequence, bool must_go_on) {
  SpoolProgress progress;
  progress.set_done_segment(done);
  progress.set_next_segment(next);
  progress.set_incarnation("one");
  progress.set_next_sequence(next_sequence);
  progress.set_must_go_on(must_go_on);
  return progress;
}

TEST(FindMissingRecordsTest, ComparesNamesIncarnationsAndNumbers) {
  SegmentHeader one;
  one.set_incarnation("one");
  one.set_first_sequence(30);
  SegmentHeader two;
  two.set_incarnation("two");
  // The next segment is there, or an older one.
  EXPECT_FALSE(FindMissingRecords(Progress("a", "b", 10, true), "b", one));
  EXPECT_FALSE(FindMissingRecords(Progress("a", "b", 10, true), "a", one));
  // Gone are records 10 to 29, exactly; or a segment without records.
  auto missing = FindMissingRecords(Progress("a", "b", 10, true), "c", one);
  ASSERT_TRUE(missing.has_value());
  EXPECT_EQ(missing->count, 20u);
  EXPECT_TRUE(missing->is_exact);
  EXPECT_FALSE(FindMissingRecords(Progress("a", "b", 30, true), "c", one));
  // Gone is the rest of an incarnation; its number of records is not known.
  missing = FindMissingRecords(Progress("a", "b", 10, true), "c", two);
  ASSERT_TRUE(missing.has_value());
  EXPECT_EQ(missing->count, 1u);
  EXPECT_FALSE(missing->is_exact);
  EXPECT_TRUE(FindMissingRecords(Progress("a", "", 10, true), "c", two));
  // The writer ended with the last segment that is done, or died.
  EXPECT_FALSE(FindMissingRecords(Progress("a", "", 10, false), "c", two));
  two.set_first_sequence(7);
  missing = FindMissingRecords(Progress("a", "", 10, false), "c", two);
  ASSERT_TRUE(missing.has_value());
  EXPECT_EQ(missing->count, 7u);
}

}  // namespace
}  // namespace sortition
