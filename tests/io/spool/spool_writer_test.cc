#include "io/spool/spool_writer.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/segments/record_frame.h"
#include "io/spool/find_spools.h"
#include "tests/io/segments/segment_testing.h"
#include "tests/io/spool/spool_writer_fixture.h"
#include "tests/testing/file_faults.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using config::v1::SpoolOptions;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST_F(SpoolWriterTest, DecisionsHaveTheBytesOfTheLibrary) {
  const auto writer = Open();
  for (const size_t size : {0, 1, 31, 32, 6, 200000}) {
    const std::vector<float> values = Values(size);
    const log::v1::Decision decision = SmallDecision(absl::StrCat(size));
    const uint64_t before = writer->stats().bytes;
    ASSERT_OK(writer->AppendDecision(decision, values));
    log::v1::LogRecord expected;
    *expected.mutable_decision() = decision;
    expected.mutable_decision()->mutable_dense_values()->Assign(values.begin(),
                                                                values.end());
    const log::v1::LogRecord record = [&] {
      for (const auto& r : Records()) {
        if (r.decision().decision_id() == absl::StrCat(size)) return r;
      }
      return log::v1::LogRecord();
    }();
    EXPECT_TRUE(record.SerializeAsString() == expected.SerializeAsString());
    EXPECT_EQ(writer->stats().bytes - before,
              FrameBytes(expected.ByteSizeLong()));
  }
  // All fields but `dense_values` are small, and some features are sparse.
  log::v1::Decision sparse = SmallDecision("sparse");
  sparse.mutable_sparse()->add_row_offsets(0);
  sparse.mutable_sparse()->add_values(0.5f);
  ASSERT_OK(writer->AppendDecision(sparse, {}));
  EXPECT_EQ(Records().back().decision().SerializeAsString(),
            sparse.SerializeAsString());
}

TEST_F(SpoolWriterTest, RotatesBySize) {
  const auto writer = Open();
  // 8000 bytes of values and fewer than 150 others each: eight fit into 65536.
  const std::vector<float> values = Values(2000);
  std::vector<std::string> expected;
  for (int i = 0; i < 50; ++i) {
    expected.push_back(absl::StrCat(i));
    ASSERT_OK(writer->AppendDecision(SmallDecision(expected.back()), values));
  }
  ASSERT_OK(writer->Close());
  EXPECT_EQ(Ids(), expected);
  const std::vector<std::string> names = Segments();
  EXPECT_EQ(names.size(), 7u);  // ⌈50 / 8⌉
  EXPECT_EQ(writer->stats().segments, 7u);
  uint64_t sequence = 0;
  std::set<std::string> incarnations;
  for (const std::string& name : names) {
    const std::string path = options_.dir() + "/" + name;
    EXPECT_LE(std::filesystem::file_size(path), 65536u + 100);
    const Contents contents = ReadAll(path);
    const log::v1::SegmentHeader& header = contents.records.front().header();
    EXPECT_EQ(header.first_sequence(), sequence);
    EXPECT_EQ(header.kind(), log::v1::SegmentHeader::SPOOL);
    EXPECT_EQ(header.options(), "the options");
    EXPECT_THAT(header.incarnation(), SizeIs(16));
    incarnations.insert(header.incarnation());
    sequence += contents.Ids().size();
    EXPECT_EQ(contents.records.back().footer().last_sequence(), sequence - 1);
  }
  EXPECT_THAT(incarnations, SizeIs(1));
}

TEST_F(SpoolWriterTest, RotatesByAgeWithoutTraffic) {
  options_.set_segment_seconds(0.05);
  const auto writer = Open();
  ASSERT_OK(writer->AppendDecision(SmallDecision("a"), {}));
  const std::string first = options_.dir() + "/" + Segments().front();
  EXPECT_TRUE(
      PollUntil([&] { return ReadAll(first).records.back().has_footer(); }));
  EXPECT_THAT(ReadAll(first).Ids(), ElementsAre("a"));
  // The next segment has no record, so its age does not close it.
  const int syncs = events_.num_syncs();
  EXPECT_TRUE(PollUntil([&] { return events_.num_syncs() > syncs + 10; }));
  EXPECT_THAT(Segments(), SizeIs(2));
}

TEST_F(SpoolWriterTest, TakesARecordLargerThanASegment) {
  const auto writer = Open();
  const std::vector<float> values = Values(100000);
  for (const char* id : {"a", "b", "c"}) {
    ASSERT_OK(writer->AppendDecision(SmallDecision(id), values));
  }
  ASSERT_OK(writer->Close());
  EXPECT_THAT(Ids(), ElementsAre("a", "b", "c"));
  EXPECT_THAT(Segments(), SizeIs(3));
}

TEST_F(SpoolWriterTest, FourThreadsLoseNothing) {
  const auto writer = Open();
  constexpr int kThreads = 4;
  constexpr int kPerThread = 2000;
  const std::vector<float> values = Values(100);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kPerThread; ++i) {
        const std::string id = absl::StrCat(t, ":", i);
        if (i % 2 == 0) {
          EXPECT_OK(writer->AppendDecision(SmallDecision(id), values));
        } else {
          const log::v1::LogRecord pair[] = {FeedbackRecord(id),
                                             FeedbackRecord(id + "b")};
          EXPECT_OK(writer->Append(pair));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(writer->stats().records, kThreads * kPerThread * 3u / 2);
  ASSERT_OK(writer->Close());
  const std::vector<std::string> ids = Ids();
  EXPECT_THAT(ids, SizeIs(kThreads * kPerThread * 3 / 2));
  // Each thread's records keep their order, and batches are contiguous.
  std::vector<int> next(kThreads, 0);
  for (size_t k = 0; k < ids.size(); ++k) {
    const size_t t = static_cast<size_t>(ids[k][0] - '0');
    ASSERT_EQ(ids[k], absl::StrCat(t, ":", next[t]));
    if (next[t]++ % 2 == 1) {
      ++k;
      ASSERT_EQ(ids[k], ids[k - 1] + "b");
    }
  }
}

TEST_F(SpoolWriterTest, OneWriterPerDirectory) {
  auto writer = Open();
  EXPECT_THAT(SpoolWriter::Open(options_, ""),
              IsFailedPrecondition(options_.dir()));
  writer.reset();
  EXPECT_OK(SpoolWriter::Open(options_, ""));
}

TEST_F(SpoolWriterTest, ClosedMeansClosed) {
  const auto writer = Open();
  ASSERT_OK(writer->Close());
  ASSERT_OK(writer->Close());
  EXPECT_THAT(writer->AppendDecision(SmallDecision("a"), {}),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  const log::v1::LogRecord record = FeedbackRecord("f");
  EXPECT_THAT(writer->Append({&record, 1}),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  // No preallocated file is left.
  for (const auto& entry :
       std::filesystem::directory_iterator(options_.dir())) {
    EXPECT_NE(entry.path().extension(), ".tmp");
  }
}

// A sidecar that publishes the spool keeps its position there.
TEST_F(SpoolWriterTest, RemovesWhatADeadWriterPreparedAndNothingOfOthers) {
  std::filesystem::create_directories(options_.dir());
  WriteBytes(options_.dir() + "/.prepared-abcdef.tmp", "x");
  WriteBytes(options_.dir() + "/.published.7.tmp", "x");
  const auto writer = Open();
  EXPECT_FALSE(
      std::filesystem::exists(options_.dir() + "/.prepared-abcdef.tmp"));
  EXPECT_TRUE(std::filesystem::exists(options_.dir() + "/.published.7.tmp"));
}

TEST_F(SpoolWriterTest, NamesSortInTheOrderOfWritingWhateverTheClockDoes) {
  // A segment that was written when the clock was far ahead is still there.
  const std::string old = SegmentName(int64_t{1} << 60, "server", 7);
  std::filesystem::create_directories(options_.dir());
  WriteBytes(options_.dir() + "/" + old, "");
  ASSERT_OK(Open()->Close());
  std::vector<std::string> names = Segments();
  ASSERT_THAT(names, SizeIs(2));
  EXPECT_EQ(names[0], old);
  // The segments are read and removed.
  for (const std::string& name : names) {
    std::filesystem::remove(options_.dir() + "/" + name);
  }
  ASSERT_OK(Open()->Close());
  ASSERT_THAT(Segments(), SizeIs(1));
  EXPECT_GT(Segments()[0], names[1]);
}

TEST_F(SpoolWriterTest, RefusesAWriterIdThatIsNoPartOfAName) {
  for (const std::string& id :
       {std::string(), std::string("a/b"), std::string(65, 'x')}) {
    options_.set_writer_id(id);
    EXPECT_THAT(SpoolWriter::Open(options_, ""),
                IsInvalidArgument("spool.writer_id"));
  }
}

TEST_F(SpoolWriterTest, RefusesALimitWithoutRoomForTwoSegments) {
  options_.set_max_bytes(131071);
  EXPECT_THAT(SpoolWriter::Open(options_, ""),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "spool.max_bytes = 131071: must be at least 131072, "
                       "twice spool.segment_bytes = 65536"));
  EXPECT_FALSE(std::filesystem::exists(options_.dir()));
  options_.set_max_bytes(131072);
  EXPECT_OK(Open()->Close());
}

// Records that a spool takes only where they harm nobody.

std::vector<log::v1::LogRecord> View(const std::string& id, int size = 1) {
  std::vector<log::v1::LogRecord> records(1);
  log::v1::ShadowView& view = *records[0].mutable_shadow_view();
  view.set_decision_id(id);
  for (int i = 0; i < size; ++i) view.add_mode(i);
  return records;
}

class SpoolExtrasTest : public SpoolWriterTest {
 protected:
  // One letter for each record: d decision, v view, g gap.
  std::string Kinds() {
    std::string kinds;
    for (const log::v1::LogRecord& record : Records()) {
      if (record.has_header() || record.has_footer()) continue;
      kinds += record.has_decision()      ? 'd'
               : record.has_shadow_view() ? 'v'
               : record.has_gap()         ? 'g'
                                          : '?';
    }
    return kinds;
  }
};

TEST_F(SpoolExtrasTest, AreBehindWhatWasAppendedBefore) {
  const auto writer = Open();
  ASSERT_OK(writer->AppendDecision(SmallDecision("a"), Values(3)));
  EXPECT_TRUE(writer->TryAppend(View("a")));
  ASSERT_OK(writer->AppendDecision(SmallDecision("b"), Values(3)));
  EXPECT_EQ(writer->stats().records, 3u);
  ASSERT_OK(writer->Close());
  EXPECT_FALSE(writer->TryAppend(View("b")));
  EXPECT_EQ(Kinds(), "dvd");
}

TEST_F(SpoolExtrasTest, RotateSegmentsAsOthersDo) {
  const auto writer = Open();
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(writer->TryAppend(View(absl::StrCat(i), 2000)));
  }
  ASSERT_OK(writer->Close());
  EXPECT_GT(Segments().size(), 2u);
  EXPECT_EQ(Kinds(), std::string(100, 'v'));
}

// Half of the room is left to what must not be lost.
TEST_F(SpoolExtrasTest, EndWhereTheSpoolIsHalfFull) {
  for (const auto when_full : {SpoolOptions::REFUSE, SpoolOptions::COUNT}) {
    options_.set_dir(dir_ / absl::StrCat("spool-", when_full));
    options_.set_max_bytes(262144);
    options_.set_when_full(when_full);
    const auto writer = Open();
    int taken = 0;
    while (writer->TryAppend(View("a", 500))) ++taken;
    EXPECT_GT(taken, 50);
    EXPECT_LE(writer->stats().spool_bytes, 131072u);
    for (int i = 0; i < 10; ++i) {
      ASSERT_OK(writer->AppendDecision(SmallDecision("d"), Values(2000)));
    }
    EXPECT_FALSE(writer->TryAppend(View("a")));
    EXPECT_EQ(writer->stats().refused, 0u);
    EXPECT_EQ(writer->stats().lost, 0u);
    ASSERT_OK(writer->Close());
    // No gap: nothing is missing.
    EXPECT_EQ(Kinds(), std::string(static_cast<size_t>(taken), 'v') +
                           std::string(10, 'd'));
  }
}

// What is to be saved goes first, and the views of that time are no gap.
TEST_F(SpoolExtrasTest, AreNotTakenWhileTheDiskFails) {
  options_.set_when_full(SpoolOptions::COUNT);
  options_.set_max_bytes(200000);
  const auto writer = Open();
  const std::vector<float> values = Values(2000);
  while (writer->stats().lost == 0) {
    ASSERT_OK(writer->AppendDecision(SmallDecision("d"), values));
  }
  const uint64_t lost = writer->stats().lost;
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(writer->TryAppend(View("d")));
  EXPECT_EQ(writer->stats().lost, lost);
  ASSERT_OK(writer->Close());
}

// Nobody waits for the disk, also where answers do.
TEST_F(SpoolExtrasTest, WaitForNoDisk) {
  options_.set_durability(SpoolOptions::POWER);
  options_.set_sync_interval_seconds(3600);
  const auto writer = Open();
  const SyncStall stall;
  EXPECT_TRUE(writer->TryAppend(View("a")));
  EXPECT_EQ(writer->stats().waiting, 0u);
}

TEST(FindSpoolsTest, FindsDirectoriesWithALockOrASegment) {
  const TempDir dir;
  for (const char* name : {"b", "a", "empty", "other"}) {
    std::filesystem::create_directory(dir / name);
  }
  std::ofstream(dir / "a/.writer.lock") << "\n";
  std::ofstream(dir / "b/0000000000000001-b-000000.seg") << "\n";
  std::ofstream(dir / "other/file") << "\n";
  ASSERT_OK_AND_ASSIGN(const auto spools, FindSpools(dir / "*"));
  EXPECT_THAT(spools, ElementsAre(dir / "a", dir / "b"));
  ASSERT_OK_AND_ASSIGN(const auto none, FindSpools(dir / "nothing*"));
  EXPECT_THAT(none, IsEmpty());
}

TEST(FindSpoolsTest, OnlyAStarMakesAPattern) {
  EXPECT_TRUE(IsSpoolPattern("/spools/*"));
  EXPECT_FALSE(IsSpoolPattern("/spools/[a]"));
}

}  // namespace
}  // namespace sortition
