#include "io/memory_release.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace sortition {
namespace {

TEST(MemoryReleaseTest, GivesBackWholePagesAndNothingElse) {
  constexpr size_t kBytes = size_t{20} << 20;
  constexpr size_t kBegin = 100;
  constexpr size_t kSize = (size_t{10} << 20) + 12345;
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::vector<uint8_t> bytes(kBytes, 1);
  ReleasePages(bytes.data() + kBegin, kSize);
  const auto begin = bytes.begin() + kBegin;
  const auto end = begin + static_cast<std::ptrdiff_t>(kSize);
  EXPECT_EQ(std::count(bytes.begin(), begin, 1),
            std::distance(bytes.begin(), begin));
  EXPECT_EQ(std::count(end, bytes.end(), 1), std::distance(end, bytes.end()));
  // Pages are 0 when they are read again. The first and the last one, of which
  // the block has a part, stay.
  const auto kept = static_cast<size_t>(std::count(begin, end, 1));
  EXPECT_GT(kept, 0u);
  EXPECT_LE(kept, 2 * page);
}

TEST(MemoryReleaseTest, LeavesSmallBlocksAlone) {
  std::vector<uint8_t> bytes(size_t{1} << 20, 1);
  ReleasePages(bytes.data(), bytes.size());
  EXPECT_EQ(static_cast<size_t>(std::count(bytes.begin(), bytes.end(), 1)),
            bytes.size());
}

}  // namespace
}  // namespace sortition
