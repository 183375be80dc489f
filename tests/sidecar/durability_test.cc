// The order of syncs and removals, and a full disk.
#include <cerrno>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "io/segments/segment.h"
#include "sidecar/spools/record_wire.h"
#include "tests/sidecar/spool_testing.h"
#include "tests/testing/file_faults.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using namespace testing_sidecar;  // NOLINT: the fixture of this folder.

// Returns, by segment of the spool, how many of its decisions and feedback
// records are in the output.
using CountBySegment = std::map<std::string, int>;

CountBySegment CountRecords(const std::string& path) {
  CountBySegment counts;
  log::v1::SegmentHeader header;
  const auto take = [&](const RecordView& record) {
    const auto position = ViewPosition(record.bytes);
    if (position.ok()) ++counts[position->segment()];
  };
  EXPECT_OK(ReadSegment(path, &header, take));
  return counts;
}

int Sum(const std::map<std::string, CountBySegment>& by_file,
        const std::string& segment) {
  int sum = 0;
  for (const auto& [file, counts] : by_file) {
    const auto it = counts.find(segment);
    if (it != counts.end()) sum += it->second;
  }
  return sum;
}

// What was on the disk when segments of the spool were removed.
class Journal {
 public:
  explicit Journal(const std::string& tuples)
      : tuples_(tuples),
        listener_([this](const std::string& path) { NoteSync(path); },
                  [this](const std::string& path) { NoteRemoval(path); }) {}

  const CountBySegment& synced_when_removed() const {
    return synced_when_removed_;
  }

 private:
  void NoteSync(const std::string& path) {
    if (!absl::StartsWith(path, tuples_) || !absl::EndsWith(path, ".seg")) {
      return;
    }
    synced_by_file_[path] = CountRecords(path);
  }
  void NoteRemoval(const std::string& path) {
    if (!absl::EndsWith(path, ".seg")) return;
    const std::string segment = std::filesystem::path(path).filename().string();
    synced_when_removed_[segment] = Sum(synced_by_file_, segment);
  }

  const std::string tuples_;
  std::map<std::string, CountBySegment> synced_by_file_;
  CountBySegment synced_when_removed_;
  FileListener listener_;
};

// The writes to files whose path contains `path` fail as on a full disk.
FileFault::Options NoSpace(const std::string& path) {
  return {.call = FileCall::kWrite, .path = path, .error = ENOSPC};
}

TEST(DurabilityTest, NothingIsRemovedBeforeItsOutputIsOnTheDisk) {
  const TempDir dir(FastParent());
  auto options = Options(dir.path());
  // Syncs by time are rare, so that only the order in the code can save it.
  options.set_sync_interval_seconds(1);
  WriteSpool(options.spool(0), History(300, 9, 1000 * kSecond), 15);
  FakeClock clock{1000 * kSecond};
  Metrics metrics;
  ASSERT_OK_AND_ASSIGN(const auto pipeline,
                       Pipeline::Open(options, &metrics, clock.Get()));
  const Journal journal(options.tuples());
  RunToEnd(pipeline.get(), &clock);
  const CountBySegment removed = journal.synced_when_removed();
  ASSERT_OK(pipeline->Close());
  std::map<std::string, CountBySegment> written;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(options.tuples())) {
    const std::string path = entry.path().string();
    if (absl::EndsWith(path, ".seg")) written[path] = CountRecords(path);
  }
  EXPECT_GT(removed.size(), 20u);
  for (const auto& [segment, count] : removed) {
    EXPECT_EQ(count, Sum(written, segment)) << segment;
  }
}

// The disk is full during three out of ten polls.
TEST(DurabilityTest, WaitsWhileTheDiskIsFull) {
  const TempDir dir(FastParent());
  auto options = Options(dir.path());
  const auto history = History(200, 10, 1000 * kSecond);
  WriteSpool(options.spool(0), history, 15);
  FakeClock clock{1000 * kSecond};
  Metrics metrics;
  ASSERT_OK_AND_ASSIGN(const auto pipeline,
                       Pipeline::Open(options, &metrics, clock.Get()));
  for (int i = 0; i < 1000; ++i) {
    std::optional<FileFault> full;
    if (i % 10 < 3) full.emplace(NoSpace(options.tuples()));
    const auto is_busy = pipeline->Poll(20);
    ASSERT_OK(is_busy);
    if (!*is_busy) clock.now_us += kSecond;
  }
  ASSERT_OK(pipeline->Close());
  EXPECT_GT(pipeline->counts().full_disk_retries, 3u);
  const Expected expected = ExpectedOutput(history);
  const Expected output = Output(options.tuples());
  EXPECT_EQ(output.tuples, expected.tuples);
  EXPECT_EQ(output.late, expected.late);
}

// A full disk is reported at once and then once a minute, with what to do,
// until it has room again.
TEST(DurabilityTest, AFullDiskIsReportedOnceAMinute) {
  const TempDir dir(FastParent());
  auto options = Options(dir.path());
  WriteSpool(options.spool(0), History(50, 10, 1000 * kSecond), 15);
  FakeClock clock{2000 * kSecond};
  Metrics metrics;
  ASSERT_OK_AND_ASSIGN(const auto pipeline,
                       Pipeline::Open(options, &metrics, clock.Get()));
  const auto lines_of = [&](uint64_t max_steps) {
    testing::internal::CaptureStderr();
    EXPECT_OK(pipeline->Poll(max_steps));
    const std::string log = testing::internal::GetCapturedStderr();
    int lines = 0;
    for (const absl::string_view line : absl::StrSplit(log, '\n')) {
      if (!absl::StrContains(line, "disk of the tuples is full")) continue;
      EXPECT_TRUE(absl::StrContains(line, "keep_tuples_bytes"));
      ++lines;
    }
    return lines;
  };
  const FileFault full(NoSpace(options.tuples()));
  EXPECT_EQ(lines_of(100000), 1);
  // The clock moves a little at each look.
  const int64_t logged_us = clock.now_us;
  for (int minutes = 0; minutes < 3; ++minutes) {
    clock.now_us = logged_us + (60 * minutes + 30) * kSecond;
    EXPECT_EQ(lines_of(1), 0);
    clock.now_us = logged_us + (60 * minutes + 61 + minutes) * kSecond;
    EXPECT_EQ(lines_of(1), 1);
  }
}

// A tuple that waits for free space must not keep the segments of tuples
// written before it: on one disk their removal frees the space.
TEST(DurabilityTest, AFullDiskGetsBackWhatIsSafe) {
  const TempDir dir(FastParent());
  auto options = Options(dir.path());
  options.set_sync_interval_seconds(1000);
  WriteSpool(options.spool(0), History(200, 10, 1000 * kSecond), 15);
  FakeClock clock{1000 * kSecond};
  Metrics metrics;
  ASSERT_OK_AND_ASSIGN(const auto pipeline,
                       Pipeline::Open(options, &metrics, clock.Get()));
  ASSERT_OK(pipeline->Poll(400));
  ASSERT_GT(pipeline->counts().tuples, 50u);
  ASSERT_EQ(pipeline->counts().removed_segments, 0u);
  {
    // The names of segments begin with digits; ids are kept elsewhere.
    const FileFault full(NoSpace(options.tuples() + "/0"));
    clock.now_us += 2000 * kSecond;
    ASSERT_OK(pipeline->Poll(400));
  }
  EXPECT_GT(pipeline->counts().full_disk_retries, 0u);
  EXPECT_GT(pipeline->counts().removed_segments, 0u);
}

// All writes fail, but what the reserve holds can be used.
TEST(DurabilityTest, AFullDiskHasRoomForTheIdsOfWhatItRemoves) {
  const TempDir dir(FastParent());
  auto options = Options(dir.path());
  options.set_sync_interval_seconds(1000);
  WriteSpool(options.spool(0), History(200, 10, 1000 * kSecond), 15);
  FakeClock clock{1000 * kSecond};
  Metrics metrics;
  ASSERT_OK_AND_ASSIGN(const auto pipeline,
                       Pipeline::Open(options, &metrics, clock.Get()));
  ASSERT_OK(pipeline->Poll(400));
  const std::string reserve_path = options.tuples() + "/memory/reserve";
  ASSERT_TRUE(std::filesystem::exists(reserve_path));
  {
    const FileFault full(NoSpace(options.tuples()));
    clock.now_us += 2000 * kSecond;
    ASSERT_OK(pipeline->Poll(400));
    EXPECT_GT(full.num_failures(), 0);
  }
  EXPECT_GT(pipeline->counts().removed_segments, 0u);
  EXPECT_TRUE(std::filesystem::exists(reserve_path));
}

}  // namespace
}  // namespace sortition
