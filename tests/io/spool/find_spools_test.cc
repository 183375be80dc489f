#include "io/spool/find_spools.h"

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

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
