#include "io/segments/segment_writer.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/segments/record_frame.h"
#include "io/segments/segment_recovery.h"
#include "tests/io/segments/segment_testing.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class SegmentWriterTest : public testing::Test {
 protected:
  // Leaves "a", "b" and `torn` bytes of a third record, as a writer that died
  // would.
  void WriteTorn(uint64_t torn) {
    auto writer = NewSegment(dir_.path(), 1 << 16);
    ASSERT_OK(writer->Append(FeedbackRecord("a")));
    ASSERT_OK(writer->Append(FeedbackRecord("b")));
    end_ = writer->bytes();
    ASSERT_OK(writer->Append(FeedbackRecord("torn")));
    const uint64_t torn_end = writer->bytes();
    writer.reset();
    std::string bytes = ReadBytes(path_);
    bytes.replace(end_ + torn, torn_end - end_ - torn, torn_end - end_ - torn,
                  '\0');
    WriteBytes(path_, bytes);
  }

  const TempDir dir_;
  const std::string path_ = dir_ / "1.seg";
  uint64_t end_ = 0;
};

TEST_F(SegmentWriterTest, IsPreallocatedAndCutAtItsEnd) {
  const auto writer = NewSegment(dir_.path(), 1 << 16);
  EXPECT_EQ(std::filesystem::file_size(path_), 1u << 16);
  ASSERT_OK(writer->Append(FeedbackRecord("a")));
  EXPECT_EQ(std::filesystem::file_size(path_), 1u << 16);
  EXPECT_EQ(writer->num_records(), 1u);
  ASSERT_OK(writer->Close());
  EXPECT_EQ(std::filesystem::file_size(path_), writer->bytes());
  const Contents contents = ReadAll(path_);
  ASSERT_THAT(contents.records, SizeIs(3));
  EXPECT_EQ(contents.offsets[1],
            FrameBytes(contents.records[0].ByteSizeLong()));
  const log::v1::SegmentFooter& footer = contents.records[2].footer();
  EXPECT_EQ(footer.num_records(), 1u);
  EXPECT_EQ(footer.last_sequence(), 40u);  // The header begins with 40.
  EXPECT_GT(footer.closed_time_us(), 0);
  EXPECT_FALSE(footer.recovered());
  EXPECT_THAT(writer->Append(FeedbackRecord("b")),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_OK(writer->Close());
}

// The example of docs/log_format.md, computed from the definitions by a
// separate program.
TEST_F(SegmentWriterTest, WritesTheBytesOfTheDocumentedExample) {
  SegmentWriter::Options options;
  options.dir = dir_.path();
  options.name = "1.seg";
  options.preallocate_bytes = 4096;
  options.header.set_format_version(1);
  options.header.set_kind(log::v1::SegmentHeader::SPOOL);
  options.header.set_writer_id("server");
  options.header.set_incarnation("00112233");
  ASSERT_OK_AND_ASSIGN(const auto writer, SegmentWriter::Create(options));
  log::v1::LogRecord record;
  record.mutable_feedback()->set_feedback_id("f1");
  record.mutable_feedback()->set_decision_id("d1");
  record.mutable_feedback()->set_time_us(1000000);
  record.mutable_feedback()->set_reward(1);
  ASSERT_OK(writer->Append(record));
  EXPECT_EQ(absl::BytesToHexString(ReadBytes(path_).substr(0, 0x53)),
            "1800000000000000a37f4b22"
            "0a16080110011a06736572766572"
            "22083030313132323333"
            "eda94d8c"
            "1700000000000000e7cef81e"
            "2a150a02663112026431"
            "18c0843d"
            "21000000000000f03f"
            "970079c5"
            "00000000");
}

// Who may read a log is up to the umask of the operator.
TEST_F(SegmentWriterTest, KeepsToTheUmask) {
  for (const mode_t mask : {022, 027, 077}) {
    const mode_t before = umask(mask);
    const auto writer = NewSegment(dir_.path(), 0);
    umask(before);
    struct stat info = {};
    ASSERT_EQ(stat(path_.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0644 & ~mask);
  }
}

TEST_F(SegmentWriterTest, GathersPiecesIntoOneFrame) {
  const auto writer = NewSegment(dir_.path(), 0);
  const uint64_t begin = writer->bytes();
  const absl::string_view pieces[] = {"one ", "", "record"};
  ASSERT_OK(writer->Append(pieces));
  std::string expected;
  AppendFrame("one record", &expected);
  EXPECT_EQ(ReadBytes(path_).substr(begin), expected);
  const absl::string_view frames[] = {expected, expected};
  ASSERT_OK(writer->AppendFrames(frames, 2));
  EXPECT_EQ(ReadBytes(path_).substr(begin), expected + expected + expected);
  EXPECT_EQ(writer->num_records(), 3u);
  EXPECT_EQ(writer->bytes(), begin + 3 * expected.size());
}

TEST_F(SegmentWriterTest, GrowsBeyondItsPreallocation) {
  const auto writer = NewSegment(dir_.path(), 4096);
  ASSERT_OK(writer->Append(FeedbackRecord(std::string(100000, 'x'))));
  ASSERT_OK(writer->Append(FeedbackRecord("b")));
  ASSERT_OK(writer->Close());
  EXPECT_THAT(ReadAll(path_).Ids(), ElementsAre(SizeIs(100000), "b"));
}

TEST_F(SegmentWriterTest, IsLiveUntilClosedOrDropped) {
  auto writer = NewSegment(dir_.path(), 0);
  EXPECT_EQ(*SegmentHasLiveWriter(path_), true);
  EXPECT_THAT(RecoverSegment(path_), IsFailedPrecondition(path_));
  ASSERT_OK(writer->Close());
  EXPECT_EQ(*SegmentHasLiveWriter(path_), false);
  auto dropped = NewSegment(dir_.path(), 0, "2.seg");
  EXPECT_EQ(*SegmentHasLiveWriter(dir_ / "2.seg"), true);
  dropped.reset();
  EXPECT_EQ(*SegmentHasLiveWriter(dir_ / "2.seg"), false);
  EXPECT_THAT(SegmentHasLiveWriter(dir_ / "none"),
              StatusIs(absl::StatusCode::kNotFound));
}

// Every length of the torn record, from nothing to all but one byte.
TEST_F(SegmentWriterTest, RecoveryCutsAndCountsTheTornTail) {
  const uint64_t size = FrameBytes(FeedbackRecord("torn").ByteSizeLong());
  for (uint64_t torn = 0; torn < size; ++torn) {
    WriteTorn(torn);
    const std::string bytes = ReadBytes(path_);
    // The bytes written, without zeros at the end.
    const uint64_t expected = bytes.find_last_not_of('\0') + 1 - end_;
    ASSERT_OK_AND_ASSIGN(const auto footer, RecoverSegment(path_));
    EXPECT_TRUE(footer.recovered());
    EXPECT_EQ(footer.torn_bytes(), expected) << torn;
    EXPECT_EQ(footer.num_records(), 2u);
    EXPECT_EQ(footer.last_sequence(), 41u);
    const Contents contents = ReadAll(path_);
    EXPECT_THAT(contents.Ids(), ElementsAre("a", "b"));
    EXPECT_THAT(contents.corrupt_offsets, IsEmpty());
    EXPECT_EQ(contents.records.back().footer().SerializeAsString(),
              footer.SerializeAsString());
    EXPECT_EQ(std::filesystem::file_size(path_),
              end_ + FrameBytes(contents.records.back().ByteSizeLong()));
  }
}

TEST_F(SegmentWriterTest, RecoveryLeavesAClosedSegmentAsItIs) {
  WriteClosedSegment(dir_.path(), {"a"});
  const std::string closed = ReadBytes(path_);
  ASSERT_OK_AND_ASSIGN(const auto footer, RecoverSegment(path_));
  EXPECT_FALSE(footer.recovered());
  EXPECT_EQ(ReadBytes(path_), closed);
  WriteTorn(20);
  ASSERT_OK(RecoverSegment(path_));
  const std::string recovered = ReadBytes(path_);
  ASSERT_OK_AND_ASSIGN(const auto again, RecoverSegment(path_));
  EXPECT_GT(again.torn_bytes(), 0u);
  EXPECT_EQ(ReadBytes(path_), recovered);
}

TEST_F(SegmentWriterTest, RecoveryKeepsRecordsBehindADamagedOne) {
  WriteTorn(20);
  std::string bytes = ReadBytes(path_);
  const uint64_t a = ReadAll(path_).offsets[1];
  bytes[a + kFrameHeadBytes + 3] ^= 1;
  WriteBytes(path_, bytes);
  ASSERT_OK_AND_ASSIGN(const auto footer, RecoverSegment(path_));
  EXPECT_EQ(footer.num_records(), 1u);
  const Contents contents = ReadAll(path_);
  EXPECT_THAT(contents.Ids(), ElementsAre("b"));
  EXPECT_THAT(contents.corrupt_offsets, ElementsAre(a));
}

// A power cut may lose a page and keep the one behind it.
TEST_F(SegmentWriterTest, ZerosInPlaceOfAFrameEndTheSegment) {
  WriteTorn(0);
  std::string bytes = ReadBytes(path_);
  const std::vector<uint64_t> offsets = ReadAll(path_).offsets;
  ASSERT_THAT(offsets, SizeIs(3));
  bytes.replace(offsets[1], offsets[2] - offsets[1], offsets[2] - offsets[1],
                '\0');
  WriteBytes(path_, bytes);
  ASSERT_OK_AND_ASSIGN(const auto footer, RecoverSegment(path_));
  EXPECT_EQ(footer.num_records(), 0u);
  // Up to the end of "b", whose checksum does not end in 0.
  EXPECT_EQ(footer.torn_bytes(), end_ - offsets[1]);
  EXPECT_THAT(ReadAll(path_).records, SizeIs(2));
}

TEST_F(SegmentWriterTest, AnEmptySegmentHasNoLastSequence) {
  auto writer = NewSegment(dir_.path(), 4096);
  writer.reset();
  ASSERT_OK_AND_ASSIGN(const auto footer, RecoverSegment(path_));
  EXPECT_EQ(footer.num_records(), 0u);
  EXPECT_EQ(footer.last_sequence(), 0u);
  EXPECT_EQ(footer.torn_bytes(), 0u);
}

// A limit on file size makes writes fail as a full disk does: first a short
// write, then an error.
TEST_F(SegmentWriterTest, AFailedAppendLeavesNothing) {
  signal(SIGXFSZ, SIG_IGN);
  const auto writer = NewSegment(dir_.path(), 4096);
  ASSERT_OK(writer->Append(FeedbackRecord("a")));
  ASSERT_OK_AND_ASSIGN(const auto reader, SegmentReader::Open(path_));
  ReadAll(reader.get());
  const uint64_t bytes = writer->bytes();
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  rlimit small = limit;
  small.rlim_cur = 8192;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const absl::Status status =
      writer->Append(FeedbackRecord(std::string(20000, 'x')));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr(path_)));
  EXPECT_EQ(writer->bytes(), bytes);
  EXPECT_EQ(ReadAll(reader.get()).end, SegmentReader::Outcome::kEnd);
  ASSERT_OK(writer->Append(FeedbackRecord("b")));
  EXPECT_THAT(ReadAll(reader.get()).Ids(), ElementsAre("b"));
  ASSERT_OK(writer->Close());
  EXPECT_THAT(ReadAll(path_).Ids(), ElementsAre("a", "b"));
}

// A reader that follows may have read them before the write failed.
TEST_F(SegmentWriterTest, WholeFramesOfAFailedBatchStay) {
  signal(SIGXFSZ, SIG_IGN);
  const auto writer = NewSegment(dir_.path(), 4096);
  ASSERT_OK_AND_ASSIGN(const auto reader, SegmentReader::Open(path_));
  ReadAll(reader.get());
  std::string frames;
  for (const std::string& id : {std::string("a"), std::string("b"),
                                std::string(20000, 'x'), std::string("c")}) {
    AppendFrame(FeedbackRecord(id).SerializeAsString(), &frames);
  }
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  rlimit small = limit;
  small.rlim_cur = 8192;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  // Frames are cut in the middle, and pieces end inside frames.
  const absl::string_view bytes(frames);
  const absl::string_view pieces[] = {bytes.substr(0, 5), bytes.substr(5)};
  const absl::Status status = writer->AppendFrames(pieces, 4);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(writer->num_records(), 2u);
  EXPECT_THAT(ReadAll(reader.get()).Ids(), ElementsAre("a", "b"));
  ASSERT_OK(writer->Append(FeedbackRecord("d")));
  const Contents rest = ReadAll(reader.get());
  EXPECT_THAT(rest.Ids(), ElementsAre("d"));
  EXPECT_EQ(rest.end, SegmentReader::Outcome::kEnd);
  ASSERT_OK(writer->Close());
  EXPECT_EQ(ReadAll(path_).records.back().footer().num_records(), 3u);
}

// A power cut may lose bytes that a reader has already read.
TEST_F(SegmentWriterTest, AReaderBehindTheEndFindsTheEnd) {
  for (const uint64_t place : {10, 30, 10000}) {
    WriteTorn(20);
    ASSERT_OK(RecoverSegment(path_));
    ASSERT_OK_AND_ASSIGN(const auto reader, SegmentReader::Open(path_));
    reader->Seek(end_ + place);  // Inside the footer or behind it.
    const Contents contents = ReadAll(reader.get());
    EXPECT_THAT(contents.records, IsEmpty());
    EXPECT_EQ(contents.corrupt_bytes, 0u);
  }
}

TEST_F(SegmentWriterTest, SyncsWhileAnotherThreadAppends) {
  const auto writer = NewSegment(dir_.path(), 1 << 16);
  std::atomic<bool> is_done{false};
  std::thread syncer([&] {
    while (!is_done) EXPECT_OK(writer->Sync());
  });
  for (int i = 0; i < 2000; ++i) {
    EXPECT_OK(writer->Append(FeedbackRecord(absl::StrCat(i))));
  }
  is_done = true;
  syncer.join();
  ASSERT_OK(writer->Close());
  EXPECT_THAT(ReadAll(path_).Ids(), SizeIs(2000));
}

TEST_F(SegmentWriterTest, APreparedFileBecomesTheSegmentOrIsRemoved) {
  ASSERT_OK_AND_ASSIGN(auto prepared,
                       PreparedSegment::Create(dir_.path(), 8192));
  ASSERT_OK_AND_ASSIGN(const auto names, ListSegments(dir_.path()));
  EXPECT_THAT(names, IsEmpty());
  SegmentWriter::Options options;
  options.dir = dir_.path();
  options.name = "1.seg";
  options.header = SpoolHeader();
  ASSERT_OK_AND_ASSIGN(const auto writer,
                       SegmentWriter::Create(options, std::move(prepared)));
  EXPECT_EQ(std::filesystem::file_size(path_), 8192u);
  EXPECT_EQ(*SegmentHasLiveWriter(path_), true);
  ASSERT_OK_AND_ASSIGN(prepared, PreparedSegment::Create(dir_.path(), 0));
  prepared.reset();
  for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
    EXPECT_EQ(entry.path().filename(), "1.seg");
  }
}

TEST_F(SegmentWriterTest, CreateNamesAMissingDirectory) {
  EXPECT_THAT(PreparedSegment::Create(dir_ / "none", 0),
              IsNotFound(dir_ / "none"));
}

TEST(SegmentNameTest, SortsByTimeThenCounter) {
  EXPECT_EQ(SegmentName(0x5f3a, "server", 12),
            "0000000000005f3a-server-000012.seg");
  EXPECT_LT(SegmentName(9, "w", 0), SegmentName(10, "w", 0));
  EXPECT_LT(SegmentName(10, "w", 9), SegmentName(10, "w", 10));
}

}  // namespace
}  // namespace sortition
