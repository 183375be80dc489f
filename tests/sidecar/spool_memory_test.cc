#include "sidecar/spool_memory.h"

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sidecar/spool_testing.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using testing_sidecar::TempDir;

std::vector<int64_t> Times(
    const absl::StatusOr<std::vector<RememberedId>>& ids) {
  EXPECT_OK(ids);
  std::vector<int64_t> times;
  for (const RememberedId& id : *ids) times.push_back(id.time_us);
  return times;
}

TEST(SpoolMemoryTest, LoadsWhatWasAddedInOrderOfSegments) {
  TempDir dir;
  SpoolMemory memory(dir / "memory");
  ASSERT_OK(memory.Load({}));
  ASSERT_OK(memory.Add("2.seg", {{{5, 6}, 70, 9, true}}));
  ASSERT_OK(
      memory.Add("1.seg", {{{1, 2}, 30, 8, false}, {{3, 4}, 40, 8, true}}));
  const auto ids = SpoolMemory(dir / "memory").Load({});
  EXPECT_THAT(Times(ids), testing::ElementsAre(30, 40, 70));
  EXPECT_EQ((*ids)[1].hash, (Hash128{3, 4}));
  EXPECT_TRUE((*ids)[1].is_feedback);
  EXPECT_FALSE((*ids)[0].is_feedback);
  EXPECT_EQ((*ids)[0].segment, 0u);
}

// Died after Add(), before the segment was removed: it will be read again.
TEST(SpoolMemoryTest, WhatIsInTheSpoolIsNotRemembered) {
  TempDir dir;
  SpoolMemory memory(dir.path());
  ASSERT_OK(memory.Add("1.seg", {{{1, 2}, 30, 1, false}}));
  ASSERT_OK(memory.Add("2.seg", {{{3, 4}, 40, 2, false}}));
  EXPECT_THAT(Times(SpoolMemory(dir.path()).Load({"2.seg", "3.seg"})),
              testing::ElementsAre(30));
  EXPECT_FALSE(std::filesystem::exists(dir / "2.seg.ids"));
}

TEST(SpoolMemoryTest, DropsFilesWithoutAnIdOfThatTimeOrLater) {
  TempDir dir;
  SpoolMemory memory(dir.path());
  ASSERT_OK(
      memory.Add("1.seg", {{{1, 2}, 50, 1, false}, {{3, 4}, 40, 1, false}}));
  ASSERT_OK(memory.Add("2.seg", {{{5, 6}, 60, 2, false}}));
  ASSERT_OK(memory.DropBefore(50));
  EXPECT_EQ(Times(SpoolMemory(dir.path()).Load({})).size(), 3u);
  ASSERT_OK(memory.DropBefore(51));
  EXPECT_THAT(Times(SpoolMemory(dir.path()).Load({})),
              testing::ElementsAre(60));
}

TEST(SpoolMemoryTest, PassesOverADamagedFile) {
  TempDir dir;
  SpoolMemory memory(dir.path());
  ASSERT_OK(memory.Add("1.seg", {{{1, 2}, 50, 1, false}}));
  ASSERT_OK(memory.Add("2.seg", {{{3, 4}, 60, 2, false}}));
  std::fstream file(dir / "1.seg.ids",
                    std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(12);
  file.put(9);
  file.close();
  EXPECT_THAT(Times(SpoolMemory(dir.path()).Load({})),
              testing::ElementsAre(60));
}

}  // namespace
}  // namespace sortition
