#include "io/files.h"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/clocks.h"
#include "io/scratch_file.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using testing::HasSubstr;

TEST(FilesTest, ReadsBackWhatWasWritten) {
  const TempDir dir;
  // Longer than one read, with a zero byte.
  std::string contents(200000, 'x');
  contents[70000] = '\0';
  ASSERT_OK(WriteFile(dir / "a", contents));
  ASSERT_OK_AND_ASSIGN(const std::string read, ReadFile(dir / "a"));
  EXPECT_EQ(read, contents);
}

TEST(FilesTest, ReplacesAndLeavesNothingBehind) {
  const TempDir dir;
  ASSERT_OK(WriteFile(dir / "a", "long contents"));
  ASSERT_OK(WriteFile(dir / "a", "short"));
  ASSERT_OK_AND_ASSIGN(const std::string read, ReadFile(dir / "a"));
  EXPECT_EQ(read, "short");
  const auto entries = std::filesystem::directory_iterator(dir.path());
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 1);
}

TEST(FilesTest, ErrorsNameThePath) {
  const TempDir dir;
  EXPECT_THAT(ReadFile(dir / "none"), IsNotFound(dir / "none"));
  EXPECT_THAT(WriteFile(dir / "none/a", ""), IsNotFound(dir / "none/a"));
  // A directory opens but does not read; a rename onto it fails and cleans up.
  EXPECT_THAT(ReadFile(dir.path()), IsUnavailable(dir.path()));
  std::filesystem::create_directory(dir / "sub");
  EXPECT_FALSE(WriteFile(dir / "sub", "x").ok());
  const auto entries = std::filesystem::directory_iterator(dir.path());
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 1);
}

absl::StatusOr<uint64_t> Append(ScratchFile* file, absl::string_view bytes) {
  return file->Append({&bytes, 1});
}

std::string ReadAt(const ScratchFile& file, uint64_t offset, size_t size) {
  std::string bytes(size, '?');
  EXPECT_OK(file.Read(offset, bytes.data(), size));
  return bytes;
}

TEST(ScratchFileTest, HasNoNameEvenWhileItIsUsed) {
  const TempDir dir;
  ASSERT_OK_AND_ASSIGN(const auto file, ScratchFile::Create(dir.path(), 100));
  ASSERT_OK(Append(file.get(), "abc"));
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
  EXPECT_EQ(file->dir(), dir.path());
}

TEST(ScratchFileTest, ReadsWhatWasAppendedInPieces) {
  const TempDir dir;
  ASSERT_OK_AND_ASSIGN(const auto file, ScratchFile::Create(dir.path(), 100));
  const std::vector<absl::string_view> pieces = {"ab", "", "c"};
  ASSERT_OK_AND_ASSIGN(const uint64_t first, file->Append(pieces));
  ASSERT_OK_AND_ASSIGN(const uint64_t second, Append(file.get(), "defg"));
  EXPECT_EQ(first, 0);
  EXPECT_EQ(second, 3);
  EXPECT_EQ(file->bytes(), 7);
  EXPECT_EQ(ReadAt(*file, 0, 7), "abcdefg");
  EXPECT_EQ(ReadAt(*file, 4, 2), "ef");
  char byte = 0;
  EXPECT_THAT(file->Read(7, &byte, 1),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr(dir.path())));
}

TEST(ScratchFileTest, OverTheLimitNothingIsAppended) {
  const TempDir dir;
  ASSERT_OK_AND_ASSIGN(const auto file, ScratchFile::Create(dir.path(), 5));
  ASSERT_OK(Append(file.get(), "abc"));
  EXPECT_THAT(Append(file.get(), "def"),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("3 more would exceed its limit of 5")));
  ASSERT_OK(Append(file.get(), "de"));
  EXPECT_EQ(ReadAt(*file, 0, 5), "abcde");
}

TEST(ScratchFileTest, AWriteThatFailsHalfWayLeavesTheFileAsItWas) {
  const TempDir dir;
  ASSERT_OK_AND_ASSIGN(const auto file, ScratchFile::Create(dir.path(), 1000));
  ASSERT_OK(Append(file.get(), "abc"));
  // Files may have at most 10 bytes: 7 of 20 are written, then there is an
  // error, as on a full disk.
  signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit small{10, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto appended = Append(file.get(), std::string(20, 'x'));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  EXPECT_THAT(appended, StatusIs(absl::StatusCode::kResourceExhausted,
                                 HasSubstr(dir.path())));
  EXPECT_EQ(file->bytes(), 3);
  ASSERT_OK_AND_ASSIGN(const uint64_t next, Append(file.get(), "de"));
  EXPECT_EQ(next, 3);
  EXPECT_EQ(ReadAt(*file, 0, 5), "abcde");
}

TEST(ScratchFileTest, LeavesRoomOnTheDiskForOthers) {
  const TempDir dir;
  if (unshare(CLONE_NEWNS) != 0 ||
      mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("tmpfs", dir.path().c_str(), "tmpfs", 0, "size=1m") != 0) {
    GTEST_SKIP()
        << "skipped: may not mount a small disk; ./dev test io as root";
  }
  {
    ASSERT_OK_AND_ASSIGN(const auto file,
                         ScratchFile::Create(dir.path(), uint64_t{1} << 30));
    EXPECT_TRUE(file->in_memory());
    EXPECT_THAT(Append(file.get(), "abc"),
                StatusIs(absl::StatusCode::kResourceExhausted,
                         HasSubstr("bytes free, must have")));
    EXPECT_EQ(file->bytes(), 0);
  }
  umount2(dir.path().c_str(), MNT_DETACH);
}

TEST(ScratchFileTest, ClosesGapsInPlace) {
  const TempDir dir;
  ASSERT_OK_AND_ASSIGN(const auto file,
                       ScratchFile::Create(dir.path(), 10 << 20));
  // Moves more bytes than one buffer holds, and onto overlapping ones: byte i
  // is i modulo 251.
  std::string bytes(3 << 20, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>(i % 251);
  }
  ASSERT_OK(Append(file.get(), "gap"));
  ASSERT_OK(Append(file.get(), bytes));
  ASSERT_OK(file->MoveDown(3, 0, bytes.size()));
  ASSERT_OK(file->Truncate(bytes.size()));
  EXPECT_EQ(file->bytes(), bytes.size());
  EXPECT_EQ(ReadAt(*file, 0, bytes.size()), bytes);
  ASSERT_OK_AND_ASSIGN(const uint64_t next, Append(file.get(), "x"));
  EXPECT_EQ(next, bytes.size());
}

TEST(ScratchFileTest, AMissingDirectoryIsNamed) {
  EXPECT_THAT(ScratchFile::Create("/nonexistent/scratch", 1),
              IsNotFound("/nonexistent/scratch"));
}

constexpr int64_t kSecond = 1000000;
constexpr int64_t kBase = 1'700'000'000 * kSecond;

class ClockStepsTest : public testing::Test {
 protected:
  // Looks `seconds` after the last look, at a clock that was set forward by
  // `step` seconds in between.
  std::optional<ClockStep> Pass(double seconds, double step = 0) {
    steady_us_ += static_cast<int64_t>(seconds * kSecond);
    now_us_ += static_cast<int64_t>((seconds + step) * kSecond);
    return steps_.Look(now_us_, steady_us_);
  }

  ClockSteps steps_;
  int64_t steady_us_ = 7 * kSecond;
  int64_t now_us_ = kBase;
};

TEST_F(ClockStepsTest, OrdinaryTimeHasNone) {
  EXPECT_EQ(Pass(0), std::nullopt);
  EXPECT_EQ(Pass(0.001), std::nullopt);
  EXPECT_EQ(Pass(3600), std::nullopt);
  // A slewed clock is 0.9 s off after every hour.
  for (int hour = 0; hour < 10; ++hour)
    EXPECT_EQ(Pass(3600, 0.9), std::nullopt);
}

TEST_F(ClockStepsTest, ForwardContainsStampsOfBothSides) {
  Pass(0);
  const auto step = Pass(2, 100);
  ASSERT_TRUE(step.has_value());
  // The last look was at 0; the clock says 102 now.
  EXPECT_LE(step->first_us, kBase);
  EXPECT_EQ(step->last_us, kBase + 102 * kSecond);
  EXPECT_EQ(Pass(2), std::nullopt);
}

TEST_F(ClockStepsTest, BackwardContainsStampsOfBothSides) {
  Pass(0);
  const auto step = Pass(2, -100);
  ASSERT_TRUE(step.has_value());
  // It was set at 0 to -100, or at 2 to -98, or in between.
  EXPECT_EQ(step->first_us, kBase - 100 * kSecond);
  EXPECT_EQ(step->last_us, kBase + 2 * kSecond);
}

}  // namespace
}  // namespace sortition
