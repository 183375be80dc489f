// Streams that lose what they had taken.
#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sidecar/stream/stream_fixture.h"

namespace sortition::testing_stream {
namespace {

// A broker of one replica loses its newest messages with its power. The shipper
// notices by the numbers of the next ones.
TEST_F(StreamTest, WhatTheBrokerLosesIsPublishedAgain) {
  for (const bool is_read_before : {false, true}) {
    for (const size_t lost : {1u, 3u, 100u}) {
      const std::string writer =
          absl::StrCat("w", is_read_before ? 1 : 0, "-", lost);
      TestSpool spool(SpoolDir(writer), writer, 1);
      broker_.messages.clear();
      broker_.first_sequence = 1;
      ++broker_.created_ns;
      const auto shipper = NewShipper(writer);
      const auto mirror = NewMirror();
      for (int i = 0; i < 10; ++i) {
        spool.Append();
        if (i == 5) spool.Rotate();
        Ship(shipper.get());
        if (is_read_before) Take(mirror.get());
      }
      broker_.LoseNewest(lost);
      for (int i = 0; i < 4; ++i) {
        spool.Append();
        now_us_ += kLongUs;
        Ship(shipper.get());
        Take(mirror.get());
      }
      EXPECT_EQ(SegmentsOf(CopyDir(writer)), SegmentsOf(SpoolDir(writer)))
          << writer;
    }
  }
  EXPECT_EQ(Value("sortition_mirror_missing_total"), 0);
  EXPECT_GE(Value("sortition_ship_restarts_total"), 6);
}

TEST_F(StreamTest, AnotherStreamOfTheNameGetsTheWholeSpool) {
  TestSpool spool(SpoolDir(), "server", 2);
  auto shipper = NewShipper();
  spool.Append();
  spool.Rotate();
  spool.Append();
  Ship(shipper.get());
  broker_ = FakeBroker();
  broker_.created_ns = 77;
  shipper = NewShipper();
  Ship(shipper.get());
  const auto mirror = NewMirror();
  Take(mirror.get());
  EXPECT_EQ(SegmentsOf(CopyDir()), SegmentsOf(SpoolDir()));
}

// Somebody removed a message that was not read, and the spool has gone on.
TEST_F(StreamTest, LossForGoodEndsASegmentAndNothingElse) {
  TestSpool spool(SpoolDir(), "server", 3);
  const auto shipper = NewShipper();
  for (int i = 0; i < 6; ++i) {
    spool.Append();
    if (i == 3) spool.Rotate();
    Ship(shipper.get());
  }
  // The second message is bytes in the middle of the first segment.
  const uint64_t kept = SegmentsOf(SpoolDir()).begin()->second.find("d1");
  broker_.messages.erase(broker_.messages.begin() + 1);
  const auto mirror = NewMirror();
  // Read, again, and once more.
  for (int i = 0; i < 6; ++i) {
    Take(mirror.get());
    EXPECT_EQ(Value("sortition_mirror_restarts_total"), i < 1   ? 0
                                                        : i < 3 ? 1
                                                                : 2)
        << i;
    EXPECT_EQ(Value("sortition_mirror_missing_total"), i < 4 ? 0 : 1) << i;
    now_us_ += kLongUs;
  }
  const auto copies = SegmentsOf(CopyDir());
  const auto originals = SegmentsOf(SpoolDir());
  ASSERT_EQ(copies.size(), 2u);
  EXPECT_LT(copies.begin()->second.size(), kept);
  EXPECT_EQ(originals.begin()->second.substr(0, copies.begin()->second.size()),
            copies.begin()->second);
  EXPECT_EQ(copies.rbegin()->second, originals.rbegin()->second);
}

// A new mirror of a stream that has let go of its beginning takes what is
// whole.
TEST_F(StreamTest, NewMirrorBeginsAtTheFirstWholeSegment) {
  TestSpool spool(SpoolDir(), "server", 4);
  const auto shipper = NewShipper();
  for (int i = 0; i < 6; ++i) {
    spool.Append();
    if (i == 3) spool.Rotate();
    Ship(shipper.get());
  }
  broker_.messages.erase(broker_.messages.begin());
  broker_.first_sequence = 2;
  const auto mirror = NewMirror();
  for (int i = 0; i < 6; ++i) {
    Take(mirror.get());
    now_us_ += kLongUs;
  }
  const auto copies = SegmentsOf(CopyDir());
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(*copies.begin(), *SegmentsOf(SpoolDir()).rbegin());
}

// Names become paths.
TEST_F(StreamTest, MessagesWithForeignNamesAreSkipped) {
  const auto publish = [&](const std::string& writer,
                           const std::string& segment) {
    log::v1::StreamMessage message;
    message.set_writer_id(writer);
    message.set_segment(segment);
    message.set_data("data");
    broker_.messages.push_back(
        {"", message.SerializeAsString(), "s." + writer});
  };
  publish("..", "0000000000000001-..-000000.seg");
  publish("a/b", "0000000000000001-a/b-000000.seg");
  publish("a", "../0000000000000001-a-000000.seg");
  publish("a", "0000000000000001-b-000000.seg");
  publish("a", "0000000000000001-a-000000.tmp");
  publish("", "");
  broker_.messages.push_back({"", "\xff\xff nonsense", "s.a"});
  publish("a", "0000000000000001-a-000000.seg");
  const auto mirror = NewMirror();
  Take(mirror.get());
  ASSERT_OK_AND_ASSIGN(const auto names, ListDirectory(MirrorDir()));
  EXPECT_THAT(names, testing::UnorderedElementsAre(".position", "a"));
  EXPECT_EQ(SegmentsOf(CopyDir("a")).size(), 1u);
  EXPECT_EQ(ListDirectory(directory_.path())->size(), 1u);
}

}  // namespace
}  // namespace sortition::testing_stream
