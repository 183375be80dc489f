#include "io/segments/segment_recovery.h"

#include <cerrno>
#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/segments/record_frame.h"
#include "io/segments/segment_file.h"
#include "tests/io/segments/segment_testing.h"
#include "tests/testing/file_faults.h"
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

}  // namespace
}  // namespace sortition
