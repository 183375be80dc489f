// Copies of tuples: found in memory, and with a scratch file.
#include "io/segments/seen_tuples.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

// More than fit into memory.
constexpr uint32_t kMany = 600'000;

Hash128 KeyOf(uint32_t i) { return HashBytes(absl::StrCat(i)); }

TEST(CanHaveCopies, OnlySeveralDirectories) {
  EXPECT_FALSE(CanHaveCopies({}));
  EXPECT_FALSE(CanHaveCopies({"a/1.seg", "a/2.seg"}));
  EXPECT_TRUE(CanHaveCopies({"a/1.seg", "b/1.seg"}));
}

TEST(CopyKey, TellsPlacesPoliciesAndIdsApart) {
  log::v1::BanditTuple tuple;
  tuple.set_spool_writer("w");
  tuple.mutable_position()->set_offset(7);
  tuple.mutable_decision()->set_decision_id("a");
  log::v1::BanditTuple copy = tuple;
  copy.set_reward(1);
  EXPECT_EQ(CopyKey(copy), CopyKey(tuple));
  std::set<std::pair<uint64_t, uint64_t>> keys;
  const auto add = [&](const log::v1::BanditTuple& other) {
    keys.insert({CopyKey(other).low, CopyKey(other).high});
  };
  add(tuple);
  (copy = tuple).set_spool_writer("v");
  add(copy);
  (copy = tuple).mutable_position()->set_segment("s");
  add(copy);
  (copy = tuple).mutable_position()->set_offset(8);
  add(copy);
  (copy = tuple).mutable_decision()->set_decision_id("b");
  add(copy);
  (copy = tuple).mutable_decision()->set_model("m");
  add(copy);
  (copy = tuple).mutable_decision()->set_version(2);
  add(copy);
  EXPECT_EQ(keys.size(), 7u);
}

TEST(CopyFinder, NothingIsACopyInAnEmptyLog) {
  ASSERT_OK_AND_ASSIGN(const TupleCopies copies, CopyFinder("").Find());
  EXPECT_FALSE(copies.Contains(0, 0));
}

TEST(CopyFinder, TheFirstOfSeveralCountsWhateverTheirOrder) {
  CopyFinder finder("");
  // Segment 2 has the tuples of segment 0 backwards, and one of its own.
  for (uint32_t i = 0; i < 10; ++i) ASSERT_OK(finder.Add(KeyOf(i), 0, i));
  for (uint32_t i = 0; i < 10; ++i) {
    ASSERT_OK(finder.Add(KeyOf(9 - i), 2, i));
  }
  ASSERT_OK(finder.Add(KeyOf(77), 2, 10));
  ASSERT_OK(finder.Add(KeyOf(5), 3, 0));
  ASSERT_OK_AND_ASSIGN(const TupleCopies copies, finder.Find());
  for (uint32_t i = 0; i < 10; ++i) {
    EXPECT_FALSE(copies.Contains(0, i));
    EXPECT_TRUE(copies.Contains(2, i));
  }
  EXPECT_FALSE(copies.Contains(1, 0));
  EXPECT_FALSE(copies.Contains(2, 10));
  EXPECT_TRUE(copies.Contains(3, 0));
}

// Every third tuple of the first segment is in the second again, far behind.
TEST(CopyFinder, FindsCopiesThatDoNotFitIntoMemory) {
  const TempDir dir;
  CopyFinder finder(dir.path());
  for (uint32_t i = 0; i < kMany; ++i) ASSERT_OK(finder.Add(KeyOf(i), 0, i));
  for (uint32_t i = 0; i < kMany; ++i) {
    ASSERT_OK(finder.Add(KeyOf(i % 3 == 0 ? i : kMany + i), 1, i));
  }
  ASSERT_OK_AND_ASSIGN(const TupleCopies copies, finder.Find());
  for (uint32_t i = 0; i < kMany; ++i) {
    ASSERT_FALSE(copies.Contains(0, i)) << i;
    ASSERT_EQ(copies.Contains(1, i), i % 3 == 0) << i;
  }
}

TEST(CopyFinder, NamesADirectoryThatIsNotThere) {
  CopyFinder finder("/nowhere");
  absl::Status status;
  for (uint32_t i = 0; i < kMany && status.ok(); ++i) {
    status = finder.Add(KeyOf(i), 0, i);
  }
  EXPECT_THAT(status, IsNotFound("/nowhere"));
}

}  // namespace
}  // namespace sortition
