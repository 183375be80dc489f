// Thousands of segments, damaged at random: nothing damaged is returned, and
// everything intact that docs/log_format.md promises is.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "io/segments/segment_writer.h"
#include "tests/io/segments/reading_reference.h"
#include "tests/io/segments/segment_testing.h"
#include "tests/testing/patience.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using Kind = ReadStep::Kind;

// One intact frame of the undamaged segment.
struct Original {
  uint64_t offset = 0;
  std::string payload;
  uint64_t end() const { return offset + payload.size() + 16; }
};

class SegmentDamageTest : public testing::Test {
 protected:
  size_t Below(size_t bound) { return random_() % bound; }

  std::string RandomBytes(size_t size) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random_());
    return bytes;
  }

  // Writes a segment that is closed, or preallocated and abandoned. Payloads
  // are random, empty or zeros; some spell a frame, as a client's could.
  void WriteSegment() {
    std::filesystem::remove(path_);
    const auto writer = NewSegment(dir_.path(), 4096 * Below(12));
    for (size_t n = 2 + Below(30); n > 0; --n) {
      std::string bytes = RandomBytes(Below(4) == 0 ? Below(3000) : Below(60));
      if (Below(8) == 0) bytes.assign(bytes.size(), '\0');
      if (Below(8) == 0) bytes += ReferenceFrame("forged") + RandomBytes(9);
      log::v1::LogRecord record;
      record.mutable_decision()->set_decision_id(absl::StrCat("d", n));
      auto* const values = record.mutable_decision()->mutable_dense_values();
      values->Resize(static_cast<int>(bytes.size() / 4), 0);
      if (!values->empty()) {
        std::memcpy(values->mutable_data(), bytes.data(), bytes.size() / 4 * 4);
      }
      ASSERT_OK(writer->Append(record));
    }
    if (Below(2) == 0) {
      ASSERT_OK(writer->Close());
    }
    intact_ = ReadBytes(path_);
    originals_.clear();
    payloads_.clear();
    for (const ReadStep& step : ReferenceRead(intact_)) {
      if (step.kind != Kind::kRecord) continue;
      originals_.push_back({step.offset, step.bytes});
      payloads_.insert(step.bytes);
    }
  }

  void Flip() {
    for (size_t n = 1 + Below(8); n > 0 && !damaged_.empty(); --n) {
      damaged_[Below(damaged_.size())] ^= static_cast<char>(1 << Below(8));
    }
  }
  void ZeroPage() {
    const size_t page = Below(2) == 0 ? 512 : 4096;
    const size_t begin = Below(damaged_.size() / page + 1) * page;
    const size_t end = std::min(damaged_.size(), begin + page);
    std::fill(damaged_.begin() + static_cast<ptrdiff_t>(begin),
              damaged_.begin() + static_cast<ptrdiff_t>(end), '\0');
  }
  void Truncate() { damaged_.resize(Below(damaged_.size() + 1)); }
  void AddGarbage() { damaged_ += RandomBytes(1 + Below(5000)); }
  // Overwrites a block with another one, or exchanges two.
  void MoveBlock() {
    const size_t block = size_t{1} << (4 + Below(9));
    if (damaged_.size() < 2 * block) return;
    const size_t from = Below(damaged_.size() / block) * block;
    const size_t to = Below(damaged_.size() / block) * block;
    const std::string moved = damaged_.substr(from, block);
    if (Below(2) == 0) damaged_.replace(from, block, damaged_, to, block);
    damaged_.replace(to, block, moved);
    has_moved_ = true;
  }

  void Damage() {
    damaged_ = intact_;
    has_moved_ = false;
    for (size_t n = 1 + Below(3); n > 0; --n) {
      switch (Below(5)) {
        case 0:
          Flip();
          break;
        case 1:
          ZeroPage();
          break;
        case 2:
          Truncate();
          break;
        case 3:
          AddGarbage();
          break;
        case 4:
          MoveBlock();
          break;
      }
    }
  }

  bool IsUnchanged(uint64_t begin, uint64_t end) const {
    return end <= damaged_.size() &&
           damaged_.compare(begin, end - begin, intact_, begin, end - begin) ==
               0;
  }

  // A record is one of the originals, byte for byte, or was spelt by a payload
  // whose place was not known: a length was damaged after the last intact
  // frame.
  void ExpectOriginal(const ReadStep& step) {
    if (payloads_.contains(step.bytes)) return;
    ASSERT_EQ(step.bytes, "forged");
    ++num_forged_;
    if (has_moved_) return;
    bool is_place_known = true;
    for (const Original& original : originals_) {
      if (original.offset > step.offset) break;
      is_place_known = IsUnchanged(original.offset, original.end()) ||
                       (is_place_known &&
                        IsUnchanged(original.offset, original.offset + 12));
    }
    ASSERT_FALSE(is_place_known);
  }

  // Frames that stand where they stood are found, up to zeros in place of a
  // frame. Moved lengths may cover others.
  void ExpectIntactOnesIn(const std::vector<ReadStep>& steps) {
    if (has_moved_) return;
    std::set<uint64_t> found;
    for (const ReadStep& step : steps) {
      if (step.kind == Kind::kRecord) found.insert(step.offset);
    }
    const bool is_ended_by_zeros = steps.back().kind == Kind::kEnd;
    for (const Original& original : originals_) {
      if (!IsUnchanged(original.offset, original.end())) continue;
      if (is_ended_by_zeros && original.offset >= steps.back().offset) break;
      ASSERT_TRUE(found.contains(original.offset))
          << "lost the record at " << original.offset;
      ++num_found_;
    }
  }

  const TempDir dir_{FastParent()};
  const std::string path_ = dir_ / "1.seg";
  std::mt19937_64 random_{7};
  std::string intact_;
  std::vector<Original> originals_;
  std::set<std::string> payloads_;
  std::string damaged_;
  bool has_moved_ = false;
  size_t num_found_ = 0;
  size_t num_forged_ = 0;
  size_t num_corrupt_ = 0;
};

TEST_F(SegmentDamageTest, IntactRecordsAreFoundAndNoOthers) {
  const int segments = IsLongRun() ? 100000 : 2000;
  for (int i = 0; i < segments; ++i) {
    SCOPED_TRACE(absl::StrCat("segment ", i));
    if (i % 10 == 0) WriteSegment();
    Damage();
    WriteBytes(path_, damaged_);
    const std::vector<ReadStep> steps = ReadSteps(path_);
    ASSERT_EQ(steps, ReferenceRead(damaged_));
    for (const ReadStep& step : steps) {
      if (step.kind == Kind::kRecord) ExpectOriginal(step);
      if (step.kind == Kind::kCorrupt) ++num_corrupt_;
    }
    ExpectIntactOnesIn(steps);
    CheckRecovery(damaged_, path_);
    if (HasFailure()) return;
  }
  // The damage is worth the name, and does not hit everything.
  EXPECT_GT(num_found_, 2u * static_cast<size_t>(segments));
  EXPECT_GT(num_corrupt_, static_cast<size_t>(segments) / 4);
  EXPECT_GT(num_forged_, 0u);
}

}  // namespace
}  // namespace sortition
