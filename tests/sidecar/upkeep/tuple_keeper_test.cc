#include "sidecar/upkeep/tuple_keeper.h"

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/segments/compressed_file.h"
#include "sidecar/pipeline.h"
#include "tests/sidecar/pipeline_fixture.h"
#include "tests/testing/file_faults.h"

namespace sortition {
namespace {

using namespace testing_sidecar;  // NOLINT: the fixture of this folder.
using config::v1::SidecarOptions;

class TupleKeeperTest : public PipelineTest {
 protected:
  // Every record begins a new segment.
  TupleKeeperTest() { options_.set_segment_bytes(1); }

  size_t NumFiles(const std::string& ending) const {
    size_t count = 0;
    for (const auto& file :
         std::filesystem::directory_iterator(options_.tuples())) {
      count += absl::EndsWith(file.path().string(), ending) ? 1 : 0;
    }
    return count;
  }

  // Polls on until `condition` is true.
  template <typename Condition>
  bool PollUntil(Pipeline* pipeline, Condition condition) {
    return WaitUntil([&] {
      EXPECT_OK(pipeline->Poll(1));
      return condition();
    });
  }
};

TEST_F(TupleKeeperTest, CompressesAllButTheNewest) {
  const auto history = History(30, 1, kStartUs);
  WriteSpool(options_.spool(0), history, 50);
  options_.set_compress(SidecarOptions::ZSTD);
  const auto pipeline = Open();
  RunToEnd(pipeline.get(), &clock_);
  const size_t num_segments = Names(options_.tuples()).size();
  ASSERT_GT(num_segments, 20u);
  EXPECT_TRUE(PollUntil(pipeline.get(), [&] {
    return NumFiles(".zst") == num_segments - 1 && NumFiles(".seg") == 1 &&
           pipeline->counts().keeper.compressed_segments >= num_segments - 1;
  }));
  EXPECT_EQ(pipeline->counts().keeper.compressed_segments, num_segments - 1);
  EXPECT_EQ(pipeline->counts().keeper.failures, 0u);
  ASSERT_OK(pipeline->Close());
  ExpectSame(Output(options_.tuples()), ExpectedOutput(history));
}

// Killed after any number of steps, also while it compresses, the sidecar
// continues where it was.
TEST_F(TupleKeeperTest, ContinuesBehindCompressedSegments) {
  options_.set_compress(SidecarOptions::ZSTD);
  const std::string saved = dir_ / "saved";
  const auto history = History(48, 5, kStartUs);
  WriteSpool(saved, history, 9);
  const Expected expected = ExpectedOutput(history);
  bool has_died = true;
  size_t compressed = 0;
  for (uint64_t steps = 0; has_died; steps += 7) {
    SCOPED_TRACE(absl::StrCat("died after ", steps));
    StartAgain(saved);
    has_died = DieAfter(steps);
    if (std::filesystem::exists(options_.tuples())) {
      compressed += NumFiles(".zst");
    }
    Finish();
    ExpectSame(Output(options_.tuples()), expected);
  }
  EXPECT_GT(compressed, 0u);
}

// All segments are compressed, and the newest one is lost: what it held is
// written again.
TEST_F(TupleKeeperTest, ContinuesBehindACompressedNewestSegment) {
  options_.set_delete_spool(false);
  options_.set_compress(SidecarOptions::ZSTD);
  const auto history = History(30, 1, kStartUs);
  WriteSpool(options_.spool(0), history, 50);
  {
    const auto pipeline = Open();
    RunToEnd(pipeline.get(), &clock_);
    ASSERT_TRUE(
        PollUntil(pipeline.get(), [&] { return NumFiles(".seg") == 1; }));
  }
  std::filesystem::remove(options_.tuples() + "/" +
                          Names(options_.tuples()).back());
  EXPECT_EQ(NumFiles(".seg"), 0u);
  Finish();
  ExpectSame(Output(options_.tuples()), ExpectedOutput(history));
}

// A sidecar killed in the middle of a compression leaves a part of the file
// under a temporary name, or both files.
TEST_F(TupleKeeperTest, TidiesWhatADeadOneLeft) {
  options_.set_delete_spool(false);
  const auto history = History(30, 1, kStartUs);
  WriteSpool(options_.spool(0), history, 50);
  Finish();
  const auto names = Names(options_.tuples());
  const std::string first = options_.tuples() + "/" + names[0];
  const std::string second = options_.tuples() + "/" + names[1];
  ASSERT_OK(CompressFile(first, first + ".zst", [] { return false; }));
  std::filesystem::copy(first, second + ".zst.tmp");
  ExpectSame(Output(options_.tuples()), ExpectedOutput(history));
  options_.set_compress(SidecarOptions::ZSTD);
  const auto pipeline = Open();
  EXPECT_EQ(NumFiles(".tmp"), 0u);
  EXPECT_TRUE(PollUntil(pipeline.get(), [&] { return NumFiles(".seg") == 1; }));
  // Meanwhile the pipeline may have begun another one.
  EXPECT_GE(NumFiles(".zst"), names.size() - 1);
  ExpectSame(Output(options_.tuples()), ExpectedOutput(history));
}

// A directory in the place of the temporary file makes compression fail. It is
// tried again a minute later.
TEST_F(TupleKeeperTest, FailuresAreCountedAndTriedAgain) {
  options_.set_delete_spool(false);
  const auto history = History(30, 1, kStartUs);
  WriteSpool(options_.spool(0), history, 50);
  Finish();
  const std::string blocked =
      options_.tuples() + "/" + Names(options_.tuples())[3] + ".zst.tmp";
  std::filesystem::create_directories(blocked + "/file");
  options_.set_compress(SidecarOptions::ZSTD);
  const auto pipeline = Open();
  ASSERT_TRUE(PollUntil(
      pipeline.get(), [&] { return pipeline->counts().keeper.failures > 0; }));
  EXPECT_EQ(pipeline->counts().keeper.compressed_segments, 3u);
  std::filesystem::remove_all(blocked);
  ASSERT_TRUE(PollUntil(pipeline.get(), [&] { return NumFiles(".seg") == 1; }));
  ExpectSame(Output(options_.tuples()), ExpectedOutput(history));
}

// The newest segment was begun just before a power cut that took all of it. It
// does not say where to continue, so it must not count as the newest.
TEST_F(TupleKeeperTest, KeepsTheSegmentThatSaysWhereToContinue) {
  options_.set_delete_spool(false);
  options_.set_sync_interval_seconds(3600);
  const auto history = History(30, 1, kStartUs);
  WriteSpool(options_.spool(0), history, 50);
  const FakeDisk disk(options_.tuples());
  ASSERT_TRUE(DieAfter(100));
  disk.CutPower(options_.tuples());
  disk.CutPower(options_.tuples() + "/late");
  const size_t num_left = ReadTuples(options_.tuples()).size();
  ASSERT_GT(num_left, 5u);
  options_.set_sync_interval_seconds(0);
  options_.set_keep_tuples_bytes(1);
  {
    const auto pipeline = Open();
    // Has not written a tuple yet.
    ASSERT_OK(pipeline->Poll(1));
    ASSERT_TRUE(
        WaitUntil([&] { return ReadTuples(options_.tuples()).size() == 1; }));
  }
  options_.set_keep_tuples_bytes(0);
  Finish();
  EXPECT_EQ(ReadTuples(options_.tuples()).size() + num_left - 1,
            ExpectedOutput(history).tuples.size() + 1);  // And "end".
}

TEST_F(TupleKeeperTest, RemovesWhatIsTooOld) {
  WriteSpool(options_.spool(0), History(30, 1, kStartUs), 50);
  options_.set_keep_tuples_seconds(3600);
  const auto pipeline = Open();
  RunToEnd(pipeline.get(), &clock_);
  const std::vector<std::string> names = Names(options_.tuples());
  ASSERT_GT(names.size(), 20u);
  EXPECT_EQ(pipeline->counts().keeper.removed_segments, 0u);
  clock_.now_us += 4000 * kSecond;
  EXPECT_TRUE(PollUntil(pipeline.get(), [&] {
    return Names(options_.tuples()).size() == 1 &&
           Names(options_.tuples() + "/late").size() == 1;
  }));
  EXPECT_EQ(Names(options_.tuples()).front(), names.back());
  EXPECT_TRUE(PollUntil(pipeline.get(), [&] {
    return pipeline->counts().keeper.removed_segments >= names.size() - 1;
  }));
  // Names begin with the time in hexadecimal digits.
  EXPECT_GE(pipeline->counts().keeper.removed_began_us,
            std::stoll(names[names.size() - 2].substr(0, 16), nullptr, 16));
  EXPECT_LT(pipeline->counts().keeper.removed_began_us,
            clock_.now_us - 3600 * kSecond);
}

TEST_F(TupleKeeperTest, RemovesTheOldestBeyondTheBytesAndContinues) {
  const auto history = History(30, 1, kStartUs);
  WriteSpool(options_.spool(0), history, 50);
  const uint64_t limit = 20000;
  options_.set_keep_tuples_bytes(limit);
  {
    const auto pipeline = Open();
    RunToEnd(pipeline.get(), &clock_);
    ASSERT_TRUE(PollUntil(pipeline.get(), [&] {
      return pipeline->counts().keeper.removed_segments > 0;
    }));
    ASSERT_OK(pipeline->Close());
  }
  const auto left = ReadTuples(options_.tuples());
  ASSERT_GT(left.size(), 0u);
  Finish();
  EXPECT_LE(ReadTuples(options_.tuples()).size(), left.size());
}

}  // namespace
}  // namespace sortition
