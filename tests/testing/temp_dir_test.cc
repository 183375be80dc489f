#include "tests/testing/temp_dir.h"

#include <filesystem>
#include <string>

#include "gtest/gtest.h"

namespace sortition {
namespace {

TEST(TempDirTest, IsRemovedWithItsFiles) {
  std::string path;
  {
    const TempDir directory;
    path = directory.path();
    EXPECT_TRUE(std::filesystem::is_directory(directory.Sub("outer/inner")));
    EXPECT_TRUE(std::filesystem::exists(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(TempDirTest, LiesInItsParentAndIsNew) {
  const TempDir parent;
  const TempDir first(parent.path());
  const TempDir second(parent.path());
  EXPECT_NE(first.path(), second.path());
  EXPECT_EQ(std::filesystem::path(first.path()).parent_path(), parent.path());
}

}  // namespace
}  // namespace sortition
