// Pages of a segment are made before they are written.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "gtest/gtest.h"
#include "io/segments/segment_file.h"
#include "tests/io/segments/segment_testing.h"
#include "tests/io/spool/spool_writer_fixture.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

constexpr uint64_t kMebibyte = uint64_t{1} << 20;

int OpenFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  EXPECT_GE(fd, 0);
  return fd;
}

// Returns whether all pages of [begin, end) are in the page cache.
bool ArePresent(int fd, uint64_t begin, uint64_t end) {
  void* const map = mmap(nullptr, end, PROT_READ, MAP_SHARED, fd, 0);
  if (map == MAP_FAILED) return false;
  const absl::Cleanup unmapper = [&] { munmap(map, end); };
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages((end + page - 1) / page);
  if (mincore(map, end, pages.data()) != 0) return false;
  return std::all_of(pages.begin() + static_cast<ptrdiff_t>(begin / page),
                     pages.end(), [](unsigned char p) { return (p & 1) != 0; });
}

bool KernelMakesPages() {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* const map =
      mmap(nullptr, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const absl::Cleanup unmapper = [&] { munmap(map, page); };
  return madvise(map, page, MADV_POPULATE_READ) == 0;
}

class PagesAheadTest : public SpoolWriterTest {
 protected:
  void SetUp() override {
    if (!KernelMakesPages())
      GTEST_SKIP() << "skipped: the kernel is older than 5.14; update it";
  }
};

TEST_F(PagesAheadTest, PagesAreMadeSomeWayAhead) {
  const int fd = OpenFile(dir_ / "file");
  const absl::Cleanup closer = [fd] { close(fd); };
  ASSERT_EQ(ftruncate(fd, 64 * kMebibyte), 0);
  PagesAhead pages(fd, 64 * kMebibyte);
  EXPECT_TRUE(pages.IsDue(0));
  EXPECT_FALSE(ArePresent(fd, 0, kMebibyte));

  pages.Advance(0);
  EXPECT_TRUE(ArePresent(fd, 0, 8 * kMebibyte));
  // A segment that nobody fills takes little memory.
  EXPECT_FALSE(ArePresent(fd, 32 * kMebibyte, 33 * kMebibyte));
  EXPECT_FALSE(pages.IsDue(kMebibyte));
  EXPECT_TRUE(pages.IsDue(5 * kMebibyte));

  // The writer was faster than the pages.
  pages.Advance(50 * kMebibyte);
  EXPECT_FALSE(ArePresent(fd, 32 * kMebibyte, 33 * kMebibyte));
  EXPECT_TRUE(ArePresent(fd, 50 * kMebibyte, 58 * kMebibyte));
  // A record may end beyond what was allocated.
  PagesAhead others(fd, 64 * kMebibyte);
  others.Advance(65 * kMebibyte);
  EXPECT_FALSE(others.IsDue(65 * kMebibyte));
  pages.Advance(60 * kMebibyte);
  EXPECT_TRUE(ArePresent(fd, 60 * kMebibyte, 64 * kMebibyte));
  EXPECT_FALSE(pages.IsDue(64 * kMebibyte));
}

TEST_F(PagesAheadTest, AFileThatSomebodyCutsDoesNoHarm) {
  const int fd = OpenFile(dir_ / "file");
  const absl::Cleanup closer = [fd] { close(fd); };
  ASSERT_EQ(ftruncate(fd, 64 * kMebibyte), 0);
  PagesAhead pages(fd, 64 * kMebibyte);
  pages.Advance(0);
  ASSERT_EQ(ftruncate(fd, 0), 0);
  pages.Advance(8 * kMebibyte);
  EXPECT_FALSE(pages.IsDue(16 * kMebibyte));
}

TEST_F(PagesAheadTest, AFileWithoutBytesHasNoPages) {
  const int fd = OpenFile(dir_ / "file");
  const absl::Cleanup closer = [fd] { close(fd); };
  PagesAhead pages(fd, 0);
  pages.Advance(0);
  EXPECT_FALSE(pages.IsDue(0));
}

TEST_F(PagesAheadTest, ASpoolKeepsAheadOfItsWriter) {
  options_.set_segment_bytes(64 * kMebibyte);
  const auto writer = Open();
  const int fd = OpenFile(options_.dir() + "/" + Segments().back());
  const absl::Cleanup closer = [fd] { close(fd); };
  EXPECT_TRUE(ArePresent(fd, 0, 4 * kMebibyte));
  const std::vector<float> values = Values(kMebibyte / sizeof(float));
  std::vector<std::string> expected;
  while (writer->stats().bytes < 24 * kMebibyte) {
    expected.push_back(std::to_string(expected.size()));
    ASSERT_OK(writer->AppendDecision(SmallDecision(expected.back()), values));
  }
  const uint64_t end = writer->stats().bytes;
  EXPECT_TRUE(PollUntil([&] { return ArePresent(fd, end, end + kMebibyte); }));
  ASSERT_OK(writer->Close());
  EXPECT_EQ(Ids(), expected);
}

}  // namespace
}  // namespace sortition
