#include "io/segments/segment.h"

#include <fstream>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/segments/record_frame.h"
#include "tests/io/segments/segment_testing.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Outcome = SegmentReader::Outcome;

std::string FrameOf(const log::v1::LogRecord& record) {
  std::string frame;
  AppendFrame(record.SerializeAsString(), &frame);
  return frame;
}

class SegmentTest : public testing::Test {
 protected:
  // Overwrites `bytes` at `offset`.
  void Patch(uint64_t offset, const std::string& bytes) {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(offset));
    file << bytes;
  }

  const TempDir dir_;
  const std::string path_ = dir_ / "1.seg";
};

TEST_F(SegmentTest, ReadsHeaderRecordsAndFooterInOrder) {
  WriteClosedSegment(dir_.path(), {"a", "b"});
  const Contents contents = ReadAll(path_);
  ASSERT_THAT(contents.records, SizeIs(4));
  EXPECT_EQ(contents.records[0].header().writer_id(), "w");
  EXPECT_THAT(contents.Ids(), ElementsAre("a", "b"));
  EXPECT_EQ(contents.records[3].footer().num_records(), 2u);
  EXPECT_EQ(contents.end, Outcome::kEnd);
}

// Record 0 is the header, 1 to 5 are feedback, 6 is the footer.
// Every reader refuses it: the trainer, `sortition log`, the sidecar.
TEST_F(SegmentTest, ALaterFormatIsRefusedByItsVersion) {
  SegmentWriter::Options options;
  options.dir = dir_.path();
  options.name = "2.seg";
  options.header.set_format_version(kLogFormatVersion + 1);
  ASSERT_OK_AND_ASSIGN(const auto writer, SegmentWriter::Create(options));
  ASSERT_OK_AND_ASSIGN(const auto reader, SegmentReader::Open(dir_ / "2.seg"));
  absl::string_view payload;
  uint64_t offset = 0;
  EXPECT_THAT(reader->Next(&payload, &offset),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       testing::AllOf(
                           testing::HasSubstr("2.seg"),
                           testing::HasSubstr("format_version 2 is not in"))));
}

TEST_F(SegmentTest, AFlippedByteCostsNoOtherRecord) {
  WriteClosedSegment(dir_.path(), {"a", "b", "c", "d", "e"});
  const Contents whole = ReadAll(path_);
  const std::string bytes = ReadBytes(path_);
  ASSERT_THAT(whole.offsets, SizeIs(7));
  size_t damaged = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (damaged < 6 && i >= whole.offsets[damaged + 1]) ++damaged;
    for (const int flip : {1 << (i % 8), 0xff}) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      WriteBytes(path_, changed);
      const Contents contents = ReadAll(path_);
      std::vector<uint64_t> expected = whole.offsets;
      expected.erase(expected.begin() + static_cast<int64_t>(damaged));
      ASSERT_EQ(contents.offsets, expected) << "byte " << i;
      if (damaged < 6) {
        const uint64_t offset = whole.offsets[damaged];
        ASSERT_THAT(contents.corrupt_offsets, ElementsAre(offset));
        ASSERT_EQ(contents.corrupt_bytes, whole.offsets[damaged + 1] - offset);
        ASSERT_EQ(contents.end, Outcome::kEnd);
      } else {
        // Nothing follows to show that it is damaged, not unfinished.
        ASSERT_THAT(contents.corrupt_offsets, IsEmpty());
        ASSERT_EQ(contents.end, Outcome::kIncomplete);
      }
    }
  }
  EXPECT_EQ(damaged, 6u);
}

TEST_F(SegmentTest, TruncatedAnywhereGivesTheWholeRecordsBefore) {
  WriteClosedSegment(dir_.path(), {"a", "b", "c"});
  const Contents whole = ReadAll(path_);
  const std::string bytes = ReadBytes(path_);
  std::vector<uint64_t> ends(whole.offsets.begin() + 1, whole.offsets.end());
  ends.push_back(bytes.size());
  for (size_t size = 0; size <= bytes.size(); ++size) {
    for (const bool has_zeros_behind : {false, true}) {
      std::string cut = bytes.substr(0, size);
      if (has_zeros_behind) cut.append(3000, '\0');
      WriteBytes(path_, cut);
      const Contents contents = ReadAll(path_);
      // Zeros that were cut, as at the end of a checksum, come back with these.
      size_t kept = size;
      while (has_zeros_behind && kept < bytes.size() && bytes[kept] == 0) {
        ++kept;
      }
      size_t expected = 0;
      while (expected < ends.size() && ends[expected] <= kept) ++expected;
      ASSERT_THAT(contents.offsets, SizeIs(expected)) << size;
      ASSERT_THAT(contents.corrupt_offsets, IsEmpty()) << size;
      const bool is_boundary =
          kept == 0 || (expected > 0 && ends[expected - 1] == kept);
      ASSERT_EQ(contents.end,
                is_boundary ? Outcome::kEnd : Outcome::kIncomplete)
          << size;
    }
  }
}

TEST_F(SegmentTest, SeesGrowthAndClosing) {
  const auto writer = NewSegment(dir_.path(), 1 << 16);
  ASSERT_OK_AND_ASSIGN(const auto reader, SegmentReader::Open(path_));
  EXPECT_THAT(ReadAll(reader.get()).records, SizeIs(1));
  // Writes through the preallocated space and far beyond it.
  for (int i = 0; i < 3000; ++i) {
    const std::string id = absl::StrCat(i, std::string(i % 90, 'x'));
    ASSERT_OK(writer->Append(FeedbackRecord(id)));
    const Contents contents = ReadAll(reader.get());
    ASSERT_THAT(contents.Ids(), ElementsAre(id));
    ASSERT_EQ(contents.end, Outcome::kEnd);
  }
  EXPECT_GT(writer->bytes(), 2u << 16);
  ASSERT_OK(writer->Close());
  const Contents last = ReadAll(reader.get());
  ASSERT_THAT(last.records, SizeIs(1));
  EXPECT_EQ(last.records[0].footer().num_records(), 3000u);
  EXPECT_EQ(ReadAll(reader.get()).end, Outcome::kEnd);
}

TEST_F(SegmentTest, AWriteInProgressIsIncompleteUntilItIsWhole) {
  const auto writer = NewSegment(dir_.path(), 1 << 16);
  const uint64_t begin = writer->bytes();
  ASSERT_OK_AND_ASSIGN(const auto reader, SegmentReader::Open(path_));
  ReadAll(reader.get());
  const std::string frame = FrameOf(FeedbackRecord("slow"));
  for (size_t size = 1; size < frame.size(); ++size) {
    Patch(begin, frame.substr(0, size));
    const Contents contents = ReadAll(reader.get());
    ASSERT_THAT(contents.records, IsEmpty());
    ASSERT_THAT(contents.corrupt_offsets, IsEmpty());
    // The tail's last byte may be 0, like the space behind it.
    ASSERT_EQ(contents.end, Outcome::kIncomplete);
  }
  Patch(begin, frame);
  EXPECT_THAT(ReadAll(reader.get()).Ids(), ElementsAre("slow"));
}

// Clients that send features choose the bytes of a payload.
TEST_F(SegmentTest, NeverTakesAFrameFromInsideAPayload) {
  const std::string forged = FrameOf(FeedbackRecord("forged"));
  const auto writer = NewSegment(dir_.path(), 1 << 16);
  const uint64_t begin = writer->bytes();
  ASSERT_OK(writer->Append(FeedbackRecord("x" + forged + forged + "y")));
  const std::string frame =
      ReadBytes(path_).substr(begin, writer->bytes() - begin);
  // In progress: everything but the end is there.
  Patch(begin + frame.size() - 8, std::string(8, '\0'));
  Contents contents = ReadAll(path_);
  EXPECT_THAT(contents.Ids(), IsEmpty());
  EXPECT_THAT(contents.corrupt_offsets, IsEmpty());
  EXPECT_EQ(contents.end, Outcome::kIncomplete);
  // Damaged: another record follows.
  ASSERT_OK(writer->Append(FeedbackRecord("next")));
  contents = ReadAll(path_);
  EXPECT_THAT(contents.Ids(), ElementsAre("next"));
  EXPECT_THAT(contents.corrupt_offsets, ElementsAre(begin));
  EXPECT_EQ(contents.corrupt_bytes, frame.size());
  // Cut: the file ends inside the payload.
  WriteBytes(path_, ReadBytes(path_).substr(0, begin + frame.size() - 5));
  contents = ReadAll(path_);
  EXPECT_THAT(contents.Ids(), IsEmpty());
  EXPECT_EQ(contents.end, Outcome::kIncomplete);
}

// Both lengths are known, so neither payload is searched.
TEST_F(SegmentTest, StepsOverTwoDamagedFramesInARow) {
  const std::string forged = FrameOf(FeedbackRecord("forged"));
  const auto writer = NewSegment(dir_.path(), 1 << 16);
  const uint64_t first = writer->bytes();
  ASSERT_OK(writer->Append(FeedbackRecord("x" + forged)));
  const uint64_t second = writer->bytes();
  ASSERT_OK(writer->Append(FeedbackRecord("y" + forged)));
  const uint64_t third = writer->bytes();
  ASSERT_OK(writer->Append(FeedbackRecord("next")));
  Patch(second - 1, "?");
  Patch(third - 1, "?");
  const Contents contents = ReadAll(path_);
  EXPECT_THAT(contents.Ids(), ElementsAre("next"));
  EXPECT_THAT(contents.corrupt_offsets, ElementsAre(first));
  EXPECT_EQ(contents.corrupt_bytes, third - first);
}

TEST_F(SegmentTest, LengthsThatNoFileHoldsAreRefused) {
  for (const uint64_t size :
       {~uint64_t{0}, ~uint64_t{0} - 15, uint64_t{1} << 63, uint64_t{1} << 40,
        uint64_t{1000}}) {
    const FrameHead head = MakeFrameHead(size);
    WriteBytes(path_, std::string(head.data(), head.size()) + "short");
    const Contents contents = ReadAll(path_);
    EXPECT_THAT(contents.offsets, IsEmpty()) << size;
    EXPECT_EQ(contents.end, Outcome::kIncomplete) << size;
  }
}

// Sizes around the reader's chunks of 16 KiB to 1 MiB.
TEST_F(SegmentTest, ReadsRecordsOfAllSizes) {
  const auto writer = NewSegment(dir_.path(), 0);
  std::vector<std::string> ids;
  for (const size_t size : {1, 16000, 16384, 50000, 200000, 1048570, 1048576,
                            3000000, 2, 999999, 3}) {
    ids.push_back(std::string(size, 'a'));
    ASSERT_OK(writer->Append(FeedbackRecord(ids.back())));
  }
  EXPECT_TRUE(ReadAll(path_).Ids() == ids);
}

TEST_F(SegmentTest, FindsTheNextRecordBehindALongDamage) {
  // There is no intact head in 2.5 MiB; the damage ends across a chunk's
  // border.
  const auto writer = NewSegment(dir_.path(), 0);
  const uint64_t begin = writer->bytes();
  ASSERT_OK(writer->Append(FeedbackRecord(std::string((5 << 19) + 3, 'z'))));
  const uint64_t next = writer->bytes();
  ASSERT_OK(writer->Append(FeedbackRecord("next")));
  Patch(begin, "?");
  const Contents contents = ReadAll(path_);
  EXPECT_THAT(contents.Ids(), ElementsAre("next"));
  EXPECT_THAT(contents.corrupt_offsets, ElementsAre(begin));
  EXPECT_EQ(contents.corrupt_bytes, next - begin);
}

TEST_F(SegmentTest, FindsARecordThatComesAfterVainSearches) {
  const auto writer = NewSegment(dir_.path(), 1 << 16);
  ASSERT_OK(writer->Append(FeedbackRecord("damaged")));
  const uint64_t end = writer->bytes();
  Patch(end - 40, "?????");
  ASSERT_OK_AND_ASSIGN(const auto reader, SegmentReader::Open(path_));
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(ReadAll(reader.get()).end, Outcome::kIncomplete);
  }
  ASSERT_OK(writer->Append(FeedbackRecord("next")));
  // Searches happen at tries 1, 2, 4, 8.
  std::vector<std::string> ids;
  for (int i = 0; i < 3 && ids.empty(); ++i) ids = ReadAll(reader.get()).Ids();
  EXPECT_THAT(ids, ElementsAre("next"));
}

TEST_F(SegmentTest, SeekContinuesAtAnOffset) {
  WriteClosedSegment(dir_.path(), {"a", "b", "c"});
  const Contents whole = ReadAll(path_);
  ASSERT_OK_AND_ASSIGN(const auto reader, SegmentReader::Open(path_));
  reader->Seek(whole.offsets[2]);
  EXPECT_EQ(reader->offset(), whole.offsets[2]);
  EXPECT_THAT(ReadAll(reader.get()).Ids(), ElementsAre("b", "c"));
  reader->Seek(whole.offsets[1]);
  EXPECT_THAT(ReadAll(reader.get()).Ids(), ElementsAre("a", "b", "c"));
}

TEST_F(SegmentTest, ListsSegmentsByNameWithoutTemporaryFiles) {
  for (const char* name : {"2.seg", "10.seg", "1.seg", ".x.tmp", "3.seg.tmp"}) {
    WriteBytes(dir_ / name, "");
  }
  ASSERT_OK_AND_ASSIGN(const auto names, ListSegments(dir_.path()));
  EXPECT_THAT(names, ElementsAre("1.seg", "10.seg", "2.seg"));
  EXPECT_THAT(ListSegments(dir_ / "none"),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(SegmentReader::Open(dir_ / "none.seg"),
              StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace sortition
