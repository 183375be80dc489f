#include "io/files.h"

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
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
  EXPECT_THAT(ReadFile(dir / "none"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(dir / "none")));
  EXPECT_THAT(WriteFile(dir / "none/a", ""),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(dir / "none/a")));
  // A directory opens but does not read; a rename onto it fails and cleans up.
  EXPECT_THAT(ReadFile(dir.path()),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr(dir.path())));
  std::filesystem::create_directory(dir / "sub");
  EXPECT_FALSE(WriteFile(dir / "sub", "x").ok());
  const auto entries = std::filesystem::directory_iterator(dir.path());
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 1);
}

}  // namespace
}  // namespace sortition
