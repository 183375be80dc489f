#include "io/record_sorter.h"

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using testing::IsEmpty;
using Pairs = std::vector<std::pair<std::string, std::string>>;

// Keys that repeat and payloads of any bytes and up to 3,000 of them, of which
// the first say in which order they were added.
Pairs SomeRecords(int count) {
  std::mt19937 random(1);
  Pairs records;
  for (int i = 0; i < count; ++i) {
    std::string payload = absl::StrCat(i, "\n");
    payload.resize(payload.size() + random() % 3000,
                   static_cast<char>(random()));
    records.emplace_back(std::string(random() % 3, static_cast<char>(random())),
                         payload);
  }
  return records;
}

Pairs Sort(uint64_t memory_bytes, const Pairs& records,
           const std::string& scratch) {
  RecordSorter sorter(memory_bytes, scratch);
  for (const auto& [key, payload] : records) {
    EXPECT_OK(sorter.Add(key, payload));
  }
  Pairs sorted;
  EXPECT_OK(sorter.Drain([&](absl::string_view key, absl::string_view payload) {
    sorted.emplace_back(key, payload);
    return absl::OkStatus();
  }));
  return sorted;
}

// In memory, and in a few or in very many runs on the disk.
TEST(RecordSorterTest, SortsAsAStableSortWhateverTheMemory) {
  const TempDir dir;
  const Pairs records = SomeRecords(2000);
  Pairs expected = records;
  std::stable_sort(
      expected.begin(), expected.end(),
      [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const uint64_t memory : {1 << 30, 1 << 20, 1 << 14, 1}) {
    EXPECT_TRUE(Sort(memory, records, dir.path()) == expected) << memory;
  }
}

TEST(RecordSorterTest, HasNothingToSort) {
  const TempDir dir;
  EXPECT_THAT(Sort(100, {}, dir.path()), IsEmpty());
}

TEST(RecordSorterTest, AnErrorEndsIt) {
  const TempDir dir;
  for (const uint64_t memory : {1 << 30, 1}) {
    RecordSorter sorter(memory, dir.path());
    for (const auto& [key, payload] : SomeRecords(10)) {
      ASSERT_OK(sorter.Add(key, payload));
    }
    int calls = 0;
    EXPECT_THAT(sorter.Drain([&calls](absl::string_view, absl::string_view) {
      return ++calls == 4 ? absl::AbortedError("enough") : absl::OkStatus();
    }),
                StatusIs(absl::StatusCode::kAborted));
    EXPECT_EQ(calls, 4);
  }
  RecordSorter sorter(1, dir / "none");
  EXPECT_THAT(sorter.Add("a", "b"), StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace sortition
