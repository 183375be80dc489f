// The order of fdatasync(2) and unlink(2), and a full disk: these functions and
// pwritev(2) are replaced in this program.
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "io/segments/segment.h"
#include "sidecar/record_wire.h"
#include "tests/sidecar/spool_testing.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using namespace testing_sidecar;  // NOLINT: the fixture of this folder.

// Returns, by segment of the spool, how many of its decisions and feedback
// records are in the output.
using CountBySegment = std::map<std::string, int>;

struct Journal {
  std::string tuples_dir;  // Empty: nothing is recorded.
  std::map<std::string, CountBySegment> synced_by_file;
  CountBySegment synced_when_removed;
};
Journal* journal = nullptr;

// If set, writes below this directory fail as on a full disk.
std::string* full_dir = nullptr;
// Whether write(2) fails there, too, so that only reserved space is left.
bool only_reserve = false;

std::string PathOf(int fd) {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd),
                                       error)
      .string();
}

bool IsFull(int fd) {
  return full_dir != nullptr && absl::StartsWith(PathOf(fd), *full_dir);
}

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

void NoteSync(int fd) {
  if (journal == nullptr) return;
  const std::string path = PathOf(fd);
  if (!absl::StartsWith(path, journal->tuples_dir) ||
      !absl::EndsWith(path, ".seg")) {
    return;
  }
  journal->synced_by_file[path] = CountRecords(path);
}

void NoteRemoval(const std::string& path) {
  if (journal == nullptr || !absl::EndsWith(path, ".seg")) return;
  const std::string segment = std::filesystem::path(path).filename().string();
  journal->synced_when_removed[segment] = Sum(journal->synced_by_file, segment);
}

TEST(DurabilityTest, NothingIsRemovedBeforeItsOutputIsOnTheDisk) {
  const TempDir dir(FastParent());
  auto options = Options(dir.path());
  // Syncs by time are rare, so that only the order in the code can save it.
  options.set_sync_interval_seconds(1);
  WriteSpool(options.spool(), History(300, 9, 1000 * kSecond), 15);
  FakeClock clock{1000 * kSecond};
  Metrics metrics;
  Journal notes{options.tuples(), {}, {}};
  {
    ASSERT_OK_AND_ASSIGN(const auto pipeline,
                         Pipeline::Open(options, &metrics, clock.Get()));
    journal = &notes;
    RunToEnd(pipeline.get(), &clock);
    journal = nullptr;
    ASSERT_OK(pipeline->Close());
  }
  std::map<std::string, CountBySegment> written;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(options.tuples())) {
    const std::string path = entry.path().string();
    if (absl::EndsWith(path, ".seg")) written[path] = CountRecords(path);
  }
  EXPECT_GT(notes.synced_when_removed.size(), 20u);
  for (const auto& [segment, count] : notes.synced_when_removed) {
    EXPECT_EQ(count, Sum(written, segment)) << segment;
  }
}

// The disk is full during three out of ten polls.
TEST(DurabilityTest, WaitsWhileTheDiskIsFull) {
  const TempDir dir(FastParent());
  auto options = Options(dir.path());
  const auto history = History(200, 10, 1000 * kSecond);
  WriteSpool(options.spool(), history, 15);
  FakeClock clock{1000 * kSecond};
  Metrics metrics;
  ASSERT_OK_AND_ASSIGN(const auto pipeline,
                       Pipeline::Open(options, &metrics, clock.Get()));
  std::string full = options.tuples();
  for (int i = 0; i < 1000; ++i) {
    full_dir = i % 10 < 3 ? &full : nullptr;
    const auto is_busy = pipeline->Poll(20);
    ASSERT_OK(is_busy);
    if (!*is_busy) clock.now_us += kSecond;
  }
  full_dir = nullptr;
  ASSERT_OK(pipeline->Close());
  EXPECT_GT(pipeline->counts().full_disk_retries, 3u);
  const Expected expected = ExpectedOutput(history);
  const Expected output = Output(options.tuples());
  EXPECT_EQ(output.tuples, expected.tuples);
  EXPECT_EQ(output.late, expected.late);
}

// A tuple that waits for free space must not keep the segments of tuples
// written before it: on one disk their removal frees the space.
TEST(DurabilityTest, AFullDiskGetsBackWhatIsSafe) {
  const TempDir dir(FastParent());
  auto options = Options(dir.path());
  options.set_sync_interval_seconds(1000);
  WriteSpool(options.spool(), History(200, 10, 1000 * kSecond), 15);
  FakeClock clock{1000 * kSecond};
  Metrics metrics;
  ASSERT_OK_AND_ASSIGN(const auto pipeline,
                       Pipeline::Open(options, &metrics, clock.Get()));
  ASSERT_OK(pipeline->Poll(400));
  ASSERT_GT(pipeline->counts().tuples, 50u);
  ASSERT_EQ(pipeline->counts().removed_segments, 0u);
  std::string full = options.tuples();
  full_dir = &full;
  clock.now_us += 2000 * kSecond;
  ASSERT_OK(pipeline->Poll(400));
  full_dir = nullptr;
  EXPECT_GT(pipeline->counts().full_disk_retries, 0u);
  EXPECT_GT(pipeline->counts().removed_segments, 0u);
}

// All writes fail, except that what the reserve holds can be used.
TEST(DurabilityTest, AFullDiskHasRoomForTheIdsOfWhatItRemoves) {
  const TempDir dir(FastParent());
  auto options = Options(dir.path());
  options.set_sync_interval_seconds(1000);
  WriteSpool(options.spool(), History(200, 10, 1000 * kSecond), 15);
  FakeClock clock{1000 * kSecond};
  Metrics metrics;
  ASSERT_OK_AND_ASSIGN(const auto pipeline,
                       Pipeline::Open(options, &metrics, clock.Get()));
  ASSERT_OK(pipeline->Poll(400));
  const std::string reserve_path = options.tuples() + "/memory/reserve";
  ASSERT_TRUE(std::filesystem::exists(reserve_path));
  std::string full = options.tuples();
  full_dir = &full;
  only_reserve = true;
  clock.now_us += 2000 * kSecond;
  ASSERT_OK(pipeline->Poll(400));
  full_dir = nullptr;
  only_reserve = false;
  EXPECT_GT(pipeline->counts().removed_segments, 0u);
  EXPECT_TRUE(std::filesystem::exists(reserve_path));
}

}  // namespace
}  // namespace sortition

extern "C" ssize_t write(int fd, const void* bytes, size_t size) {
  if (sortition::only_reserve && sortition::IsFull(fd)) {
    errno = ENOSPC;
    return -1;
  }
  return syscall(SYS_write, fd, bytes, size);
}

extern "C" ssize_t pwritev(int fd, const iovec* pieces, int count,
                           off_t offset) {
  if (sortition::IsFull(fd)) {
    errno = ENOSPC;
    return -1;
  }
  return syscall(SYS_pwritev, fd, pieces, count, offset, 0);
}

extern "C" int fdatasync(int fd) {
  const int result = static_cast<int>(syscall(SYS_fdatasync, fd));
  if (result == 0) sortition::NoteSync(fd);
  return result;
}

extern "C" int unlink(const char* path) noexcept {
  sortition::NoteRemoval(path);
  return static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}
