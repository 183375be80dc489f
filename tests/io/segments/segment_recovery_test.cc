#include "io/segments/segment_recovery.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/segments/record_frame.h"
#include "io/segments/segment_file.h"
#include "io/segments/segment_writer.h"
#include "tests/io/segments/reading_reference.h"
#include "tests/io/segments/segment_testing.h"
#include "tests/testing/file_faults.h"
#include "tests/testing/patience.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

bool Always(absl::string_view) { return true; }
bool Never(absl::string_view) { return false; }

class RewriteSegmentTest : public testing::Test {
 protected:
  // Sets the payload of record `index` (0: the header) to zero, as a page that
  // was never written.
  void Zero(size_t index) {
    const Contents contents = ReadAll(path_);
    std::string bytes = ReadBytes(path_);
    const uint64_t begin = contents.offsets[index];
    const uint64_t end = contents.offsets[index + 1];
    std::fill(bytes.begin() + static_cast<ptrdiff_t>(begin),
              bytes.begin() + static_cast<ptrdiff_t>(end), '\0');
    WriteBytes(path_, bytes);
  }

  const TempDir dir_;
  const std::string path_ = dir_ / "1.seg";
};

TEST_F(RewriteSegmentTest, CutsAtTheFirstDamage) {
  {
    const auto writer = NewSegment(dir_.path(), 65536);
    for (const char* id : {"a", "b", "c", "d"}) {
      ASSERT_OK(writer->Append(FeedbackRecord(id)));
    }
  }
  const uint64_t whole = ReadAll(path_).offsets[3];
  Zero(3);  // "c".
  ASSERT_OK_AND_ASSIGN(const uint64_t cut, RewriteSegment(path_, &Always));
  EXPECT_GT(cut, 0u);
  const Contents contents = ReadAll(path_);
  EXPECT_THAT(contents.Ids(), ElementsAre("a", "b"));
  EXPECT_THAT(contents.corrupt_offsets, IsEmpty());
  EXPECT_EQ(contents.offsets.back(), whole);
  const log::v1::SegmentFooter& footer = contents.records.back().footer();
  EXPECT_EQ(footer.num_records(), 2u);
  EXPECT_EQ(footer.torn_bytes(), cut);
  EXPECT_TRUE(footer.recovered());
  EXPECT_TRUE(IsClosedSegment(path_));
}

TEST_F(RewriteSegmentTest, AFooterProvesNothingAboutWhatIsBeforeIt) {
  WriteClosedSegment(dir_.path(), {"a", "b", "c"});
  Zero(2);  // "b".
  ASSERT_OK_AND_ASSIGN(const uint64_t cut, RewriteSegment(path_, &Always));
  EXPECT_GT(cut, 0u);
  EXPECT_THAT(ReadAll(path_).Ids(), ElementsAre("a"));
}

TEST_F(RewriteSegmentTest, PassesOverDamageThatNobodyCanRedo) {
  WriteClosedSegment(dir_.path(), {"a", "b", "c"});
  std::string bytes = ReadBytes(path_);
  bytes[ReadAll(path_).offsets[2] + 20] ^= 1;  // "b".
  WriteBytes(path_, bytes);
  ASSERT_OK_AND_ASSIGN(const uint64_t cut, RewriteSegment(path_, &Never));
  EXPECT_EQ(cut, 0u);
  EXPECT_THAT(ReadAll(path_).Ids(), ElementsAre("a", "c"));
}

// The disk has no room for a copy.
TEST_F(RewriteSegmentTest, IsCutInPlaceOnAFullDisk) {
  {
    const auto writer = NewSegment(dir_.path(), 65536);
    for (const char* id : {"a", "b", "c"}) {
      ASSERT_OK(writer->Append(FeedbackRecord(id)));
    }
  }
  Zero(2);
  const FileFault full(
      {.call = FileCall::kWrite, .path = ".tmp", .error = ENOSPC});
  ASSERT_OK(RewriteSegment(path_, &Always));
  EXPECT_EQ(full.num_failures(), 1);
  EXPECT_THAT(ReadAll(path_).Ids(), ElementsAre("a"));
  EXPECT_FALSE(std::filesystem::exists(path_ + ".tmp"));
}

TEST_F(RewriteSegmentTest, LeavesAClosedSegmentAlone) {
  WriteClosedSegment(dir_.path(), {"a", "b"});
  const std::string before = ReadBytes(path_);
  EXPECT_TRUE(IsClosedSegment(path_));
  ASSERT_OK_AND_ASSIGN(const uint64_t cut, RewriteSegment(path_, &Always));
  EXPECT_EQ(cut, 0u);
  EXPECT_EQ(ReadBytes(path_), before);
}

TEST_F(RewriteSegmentTest, NothingButAHeaderIsNotClosed) {
  NewSegment(dir_.path(), 65536).reset();
  EXPECT_FALSE(IsClosedSegment(path_));
  EXPECT_FALSE(IsClosedSegment(dir_ / "none"));
  WriteBytes(dir_ / "empty.seg", "");
  EXPECT_FALSE(IsClosedSegment(dir_ / "empty.seg"));
}

// The payload before the footer spells a length that reaches to the end of the
// file.
TEST_F(RewriteSegmentTest, AFooterIsFoundBehindAnotherLengthThatFits) {
  const auto writer = NewSegment(dir_.path(), 65536);
  log::v1::LogRecord record;
  *record.mutable_footer() = MakeFooter(40, 1);
  // Behind the false head come "z", the CRC of this record, and the footer; the
  // last four bytes would be the CRC of the false payload.
  const FrameHead head = MakeFrameHead(1 + FrameBytes(record.ByteSizeLong()));
  const std::string payload = std::string(head.data(), head.size()) + "z";
  const absl::string_view piece = payload;
  ASSERT_OK(writer->Append({&piece, 1}));
  ASSERT_OK(writer->Close());
  EXPECT_TRUE(IsClosedSegment(path_));
}

// Thousands of segments, damaged at random: nothing damaged is returned, and
// everything intact that docs/log_format.md promises is.

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

// RFC 3720, B.4.
TEST(Crc32cTest, GivesTheVectorsOfTheRfc) {
  std::string ascending;
  std::string descending;
  for (int i = 0; i < 32; ++i) {
    ascending.push_back(static_cast<char>(i));
    descending.push_back(static_cast<char>(31 - i));
  }
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(Crc32c(ascending), 0x46dd794eu);
  EXPECT_EQ(Crc32c(descending), 0x113fdb5cu);
  EXPECT_EQ(Crc32c(""), 0u);
  // The check value of CRC catalogues.
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
}

TEST(Crc32cTest, PiecesGiveTheSameAsTheWhole) {
  std::string bytes(5000, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>(i * i >> 3);
  }
  const absl::string_view whole(bytes);
  for (size_t cut = 0; cut <= bytes.size(); cut += 7) {
    EXPECT_EQ(ExtendCrc32c(Crc32c(whole.substr(0, cut)), whole.substr(cut)),
              Crc32c(whole));
  }
}

// Computed from the definitions by a separate program, bit by bit: length,
// masked CRC of the length, payload, masked CRC of the payload.
TEST(RecordFrameTest, HasTheBytesOfTfrecord) {
  std::string frame;
  AppendFrame("foo", &frame);
  EXPECT_EQ(frame, std::string("\x03\x00\x00\x00\x00\x00\x00\x00"
                               "\xb0\x99\x49\x0e"
                               "foo"
                               "\x61\x8a\xbe\xfe",
                               19));
  frame.clear();
  AppendFrame("", &frame);
  EXPECT_EQ(frame, std::string("\x00\x00\x00\x00\x00\x00\x00\x00"
                               "\x29\x03\x98\x07"
                               "\xd8\xea\x82\xa2",
                               16));
}

TEST(RecordFrameTest, ZerosAreNoFrame) {
  // Otherwise preallocated space would read as empty records.
  uint64_t size = 0;
  EXPECT_FALSE(ParseFrameHead(std::string(12, '\0'), &size));
  EXPECT_FALSE(ParseFrameHead(std::string(11, '\0'), &size));
}

TEST(RecordFrameTest, TailOfPiecesIsTheTailOfTheWhole) {
  const absl::string_view pieces[] = {"fo", "", "o"};
  const absl::string_view whole("foo");
  EXPECT_EQ(MakeFrameTail(pieces), MakeFrameTail({&whole, 1}));
}

}  // namespace
}  // namespace sortition
