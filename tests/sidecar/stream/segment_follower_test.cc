#include "sidecar/stream/segment_follower.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/segments/segment_writer.h"
#include "sidecar/stream/stream_names.h"
#include "tests/sidecar/stream/stream_fixture.h"

namespace sortition::testing_stream {
namespace {

class SegmentFollowerTest : public StreamTest {
 protected:
  // Reads pieces until there is none, and adds them up by segment.
  void ReadAll(SegmentFollower* follower, uint64_t most_bytes,
               std::map<std::string, std::string>* segments) {
    while (true) {
      ASSERT_OK_AND_ASSIGN(const SegmentFollower::Piece piece,
                           follower->Next(most_bytes));
      if (piece.bytes.empty() && !piece.ends_segment) return;
      ASSERT_LE(piece.bytes.size(), most_bytes);
      std::string& bytes = (*segments)[piece.segment];
      ASSERT_EQ(piece.offset, bytes.size());
      bytes += piece.bytes;
    }
  }
};

TEST_F(SegmentFollowerTest, ReadsAllBytesInPiecesOfAnySize) {
  TestSpool spool(SpoolDir(), "server", 1);
  for (int i = 0; i < 40; ++i) {
    spool.Append();
    if (i % 15 == 14) spool.Rotate();
  }
  for (const uint64_t most : {1u, 7u, 1000u, 1000000u}) {
    SegmentFollower follower(SpoolDir());
    std::map<std::string, std::string> segments;
    ReadAll(&follower, most, &segments);
    EXPECT_EQ(segments, SegmentsOf(SpoolDir())) << most;
    EXPECT_TRUE(follower.is_caught_up());
    EXPECT_EQ(follower.RemainingBytes(), 0u);
  }
}

// Half a record may be cut off later: it must not be passed on.
TEST_F(SegmentFollowerTest, PassesOnNoTornTail) {
  TestSpool spool(SpoolDir(), "server", 2);
  spool.Append();
  spool.Append();
  const std::string name = ListSegments(SpoolDir())->front();
  const std::string path = SpoolDir() + "/" + name;
  spool.Rotate(/*dies=*/true);
  // The server dies in the middle of its second record.
  std::string bytes = SegmentsOf(SpoolDir())[name];
  bytes.resize(bytes.size() - 5);
  ASSERT_OK(WriteFile(path, bytes));
  SegmentFollower follower(SpoolDir());
  std::map<std::string, std::string> segments;
  ReadAll(&follower, 100, &segments);
  EXPECT_EQ(segments, SegmentsOf(SpoolDir()));
  EXPECT_NE(segments[name].substr(0, bytes.size()), bytes);
}

TEST_F(SegmentFollowerTest, PassesOnDamageAsItIs) {
  TestSpool spool(SpoolDir(), "server", 3);
  for (int i = 0; i < 5; ++i) spool.Append();
  const std::string name = ListSegments(SpoolDir())->front();
  spool.Rotate();
  std::string bytes = SegmentsOf(SpoolDir())[name];
  bytes[bytes.find("d2")] ^= 1;
  ASSERT_OK(WriteFile(SpoolDir() + "/" + name, bytes));
  SegmentFollower follower(SpoolDir());
  std::map<std::string, std::string> segments;
  ReadAll(&follower, 64, &segments);
  EXPECT_EQ(segments[name], bytes);
}

// A power cut took bytes that had been published: the segment ends there.
TEST_F(SegmentFollowerTest, EndsASegmentThatIsShorterThanWhatWasPublished) {
  TestSpool spool(SpoolDir(), "server", 4);
  spool.Append();
  const std::string name = ListSegments(SpoolDir())->front();
  spool.Rotate(/*dies=*/true);
  SegmentFollower follower(SpoolDir());
  follower.GoTo(name, 70000, false);
  ASSERT_OK_AND_ASSIGN(const SegmentFollower::Piece piece, follower.Next(100));
  EXPECT_EQ(piece.offset, 70000u);
  EXPECT_EQ(piece.bytes, "");
  EXPECT_TRUE(piece.ends_segment);
}

TEST_F(SegmentFollowerTest, IsNotCaughtUpWhileALaterSegmentHasRecords) {
  TestSpool spool(SpoolDir(), "server", 5);
  spool.Append();
  SegmentFollower follower(SpoolDir());
  ASSERT_OK(follower.Next(1000000));
  EXPECT_TRUE(follower.is_caught_up());
  // The writer has begun the next segment before it closes this one.
  const auto next = testing_sidecar::NewSegment(SpoolDir(), 5000, 9);
  ASSERT_OK(follower.Next(1000000));
  EXPECT_TRUE(follower.is_caught_up());
  ASSERT_OK(next->Append(testing_sidecar::DecisionRecord("d", 1)));
  ASSERT_OK(follower.Next(1000000));
  EXPECT_FALSE(follower.is_caught_up());
  EXPECT_GT(follower.RemainingBytes(), 0u);
}

TEST(StreamNamesTest, WriterOfSegment) {
  EXPECT_EQ(WriterOfSegment(SegmentName(5, "a-b.c", 7)), "a-b.c");
  EXPECT_EQ(WriterOfSegment("0000000000000005-a-000000.tmp"), "");
  EXPECT_EQ(WriterOfSegment("0000000000000005-000000.seg"), "");
  EXPECT_EQ(WriterOfSegment("000000000000000x-a-000000.seg"), "");
  EXPECT_EQ(WriterOfSegment(".seg"), "");
}

}  // namespace
}  // namespace sortition::testing_stream
