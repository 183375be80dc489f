// Brokers that lose their newest messages, and get others under their numbers.
#include <map>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sidecar/stream/stream_fixture.h"

namespace sortition::testing_stream {
namespace {

class StreamTailTest : public StreamTest {
 protected:
  // Publishes `count` records, a message each.
  void ShipRecords(TestSpool* spool, Shipper* shipper, int count) {
    for (int i = 0; i < count; ++i) {
      spool->Append();
      Ship(shipper);
    }
  }

  TestSpool a_{SpoolDir("a"), "a", 1};
  TestSpool b_{SpoolDir("b"), "b", 2};
};

// The numbers go on: the one whose messages are lost sees nothing odd in them.
TEST_F(StreamTailTest, ShipperNoticesThoughOthersPublishedInTheMeantime) {
  const auto shipper_a = NewShipper("a", /*deletes=*/true);
  const auto shipper_b = NewShipper("b");
  ShipRecords(&b_, shipper_b.get(), 1);
  ShipRecords(&a_, shipper_a.get(), 4);
  broker_.LoseNewest(2);
  ShipRecords(&b_, shipper_b.get(), 5);
  a_.Append();
  a_.Rotate();
  const std::map<std::string, std::string> segments = SegmentsOf(SpoolDir("a"));
  Ship(shipper_a.get());
  // It has removed the first segment.
  EXPECT_EQ(SegmentsOf(SpoolDir("a")).size(), 1u);
  const auto mirror = NewMirror();
  for (int i = 0; i < 3; ++i) {
    Take(mirror.get());
    now_us_ += kLongUs;
  }
  EXPECT_EQ(SegmentsOf(CopyDir("a")), segments);
  EXPECT_EQ(SegmentsOf(CopyDir("b")), SegmentsOf(SpoolDir("b")));
  EXPECT_EQ(Value("sortition_mirror_missing_total"), 0);
}

TEST_F(StreamTailTest, ANewShipperNoticesIt) {
  const auto old_shipper = NewShipper("a");
  for (int i = 0; i < 4; ++i) {
    // Its position goes to the disk with each state.
    now_us_ += kLongUs;
    a_.SayState({.alive_us = now_us_});
    ShipRecords(&a_, old_shipper.get(), 1);
  }
  broker_.LoseNewest(2);
  ShipRecords(&b_, NewShipper("b").get(), 5);
  ShipRecords(&a_, NewShipper("a").get(), 1);
  const auto mirror = NewMirror();
  for (int i = 0; i < 3; ++i) {
    Take(mirror.get());
    now_us_ += kLongUs;
  }
  EXPECT_EQ(SegmentsOf(CopyDir("a")), SegmentsOf(SpoolDir("a")));
  EXPECT_EQ(Value("sortition_mirror_missing_total"), 0);
}

// A nats-server answers long before it syncs.
TEST_F(StreamTailTest, LossOfWholeSegmentsIsMadeGoodFromWhatIsKept) {
  constexpr double kKeepSeconds = 150;
  const auto shipper = NewShipper("a", /*deletes=*/true, kKeepSeconds);
  ShipRecords(&b_, NewShipper("b").get(), 1);
  for (int i = 0; i < 5; ++i) {
    ShipRecords(&a_, shipper.get(), 2);
    a_.Rotate();
  }
  Ship(shipper.get());
  now_us_ += kLongUs;
  broker_.LoseNewest(6);
  ShipRecords(&b_, NewShipper("b").get(), 9);
  ShipRecords(&a_, shipper.get(), 1);
  const std::map<std::string, std::string> segments = SegmentsOf(SpoolDir("a"));
  EXPECT_EQ(segments.size(), 6u);
  const auto mirror = NewMirror();
  for (int i = 0; i < 3; ++i) {
    Take(mirror.get());
    now_us_ += kLongUs;
  }
  EXPECT_EQ(SegmentsOf(CopyDir("a")), segments);
  EXPECT_EQ(Value("sortition_mirror_missing_total"), 0);
}

TEST_F(StreamTailTest, PublishedSegmentsGoAfterTheirTimeAlsoAfterARestart) {
  constexpr double kKeepSeconds = 150;
  constexpr int64_t kKeepUs = 150'000'000;
  auto shipper = NewShipper("a", /*deletes=*/true, kKeepSeconds);
  a_.Append();
  a_.Rotate();
  Ship(shipper.get());
  now_us_ += kKeepUs / 2;
  a_.Append();
  a_.Rotate();
  Ship(shipper.get());
  now_us_ += kKeepUs / 2 - 1;
  ShipRecords(&a_, shipper.get(), 1);
  EXPECT_EQ(SegmentsOf(SpoolDir("a")).size(), 3u);
  now_us_ += 1000000;
  a_.SayState({.alive_us = now_us_});
  Ship(shipper.get());
  EXPECT_EQ(SegmentsOf(SpoolDir("a")).size(), 2u);
  shipper = NewShipper("a", /*deletes=*/true, kKeepSeconds);
  ShipRecords(&a_, shipper.get(), 1);
  EXPECT_EQ(SegmentsOf(SpoolDir("a")).size(), 2u);
  now_us_ += kKeepUs;
  a_.SayState({.alive_us = now_us_});
  Ship(shipper.get());
  EXPECT_EQ(SegmentsOf(SpoolDir("a")).size(), 1u);
}

TEST_F(StreamTailTest, KeptSegmentsAreBounded) {
  a_.Append();
  a_.Rotate();
  const uint64_t bytes = SegmentsOf(SpoolDir("a")).begin()->second.size();
  const auto shipper =
      NewShipper("a", /*deletes=*/true, /*keep_seconds=*/1e6, 3 * bytes / 2);
  Ship(shipper.get());
  EXPECT_EQ(SegmentsOf(SpoolDir("a")).size(), 2u);
  for (int i = 0; i < 10; ++i) a_.Append();
  a_.Rotate();
  Ship(shipper.get());
  EXPECT_EQ(SegmentsOf(SpoolDir("a")).size(), 1u);
}

// A mirror that removed a message says by that that it has it.
TEST_F(StreamTailTest, WhatAMirrorTookIsNotPublishedAgain) {
  const auto shipper = NewShipper("a");
  ShipRecords(&a_, shipper.get(), 4);
  const auto mirror = NewMirror(/*retain_seconds=*/0);
  Take(mirror.get());
  ShipRecords(&b_, NewShipper("b").get(), 1);
  now_us_ += kLongUs;
  Take(mirror.get());
  now_us_ += kLongUs;
  Take(mirror.get());
  ASSERT_EQ(*broker_stream_.NewestOf("s.a"), 0u);
  ShipRecords(&a_, shipper.get(), 1);
  ShipRecords(&a_, NewShipper("a").get(), 1);
  Take(mirror.get());
  EXPECT_EQ(SegmentsOf(CopyDir("a")), SegmentsOf(SpoolDir("a")));
  EXPECT_EQ(Value("sortition_ship_restarts_total"), 0);
}

TEST_F(StreamTailTest, MirrorReadsWhatCameInTheirPlace) {
  const auto shipper_a = NewShipper("a");
  const auto mirror = NewMirror(/*retain_seconds=*/0);
  ShipRecords(&b_, NewShipper("b").get(), 3);
  ShipRecords(&a_, shipper_a.get(), 3);
  Take(mirror.get());
  broker_.is_away = true;
  EXPECT_THAT(mirror->Poll(0), StatusIs(absl::StatusCode::kUnavailable));
  broker_.LoseNewest(3);
  broker_.is_away = false;
  ShipRecords(&a_, shipper_a.get(), 4);
  now_us_ += kLongUs;
  Take(mirror.get());
  EXPECT_EQ(SegmentsOf(CopyDir("a")), SegmentsOf(SpoolDir("a")));
}

// The message before the gap comes late, and a mirror dies in between.
TEST_F(StreamTailTest, ANewMirrorReadsWhatTheOneBeforeCouldNotTake) {
  ShipRecords(&a_, NewShipper("a").get(), 3);
  ShipRecords(&b_, NewShipper("b").get(), 3);
  const FakeBroker::Message late = broker_.messages[1];
  broker_.messages.erase(broker_.messages.begin() + 1);
  Take(NewMirror(/*retain_seconds=*/0).get());
  const auto mirror = NewMirror(/*retain_seconds=*/0);
  Take(mirror.get());
  now_us_ += kLongUs / 4;
  Take(mirror.get());
  broker_.messages.push_back(late);
  for (int i = 0; i < 4; ++i) {
    Take(mirror.get());
    now_us_ += kLongUs;
  }
  EXPECT_EQ(SegmentsOf(CopyDir("a")), SegmentsOf(SpoolDir("a")));
  EXPECT_EQ(Value("sortition_mirror_missing_total"), 0);
}

// The numbers of the old one mean nothing in it.
TEST_F(StreamTailTest, AStreamThatWasMadeAgainRetainsWhatItShould) {
  const auto shipper = NewShipper("a");
  const auto mirror = NewMirror(/*retain_seconds=*/100);
  ShipRecords(&a_, shipper.get(), 9);
  Take(mirror.get());
  const FakeBroker old = broker_;
  broker_ = FakeBroker();
  broker_.created_ns = 2;
  mirror_stream_.is_broken = true;
  EXPECT_THAT(mirror->Poll(0), StatusIs(absl::StatusCode::kUnavailable));
  broker_.messages.assign(old.messages.begin(), old.messages.begin() + 5);
  now_us_ += 90'000'000;
  Take(mirror.get());
  now_us_ += kLongUs;
  Take(mirror.get());
  EXPECT_EQ(broker_.first_sequence, 1u);
}

TEST_F(StreamTailTest, NobodyIsSilentIfABrokerDeliversNothing) {
  const auto shipper = NewShipper("a");
  const auto mirror = NewMirror();
  a_.SayState({.alive_us = now_us_});
  ShipRecords(&a_, shipper.get(), 2);
  Take(mirror.get());
  const int64_t seen_us = ReadWriterState(CopyDir("a"))->seen_us;
  mirror_stream_.is_mute = true;
  ShipRecords(&a_, shipper.get(), 2);
  now_us_ += 5'000'000'000;
  ASSERT_OK(mirror->Poll(0));
  EXPECT_EQ(ReadWriterState(CopyDir("a"))->seen_us, seen_us);
}

TEST_F(StreamTailTest, MirrorAsksAgainIfABrokerDeliversNothing) {
  const auto shipper = NewShipper("a");
  const auto mirror = NewMirror();
  ShipRecords(&a_, shipper.get(), 2);
  Take(mirror.get());
  mirror_stream_.is_mute = true;
  ShipRecords(&a_, shipper.get(), 2);
  for (int i = 0; i < 3; ++i) {
    now_us_ += kLongUs;
    Take(mirror.get());
  }
  EXPECT_EQ(SegmentsOf(CopyDir("a")), SegmentsOf(SpoolDir("a")));
}

}  // namespace
}  // namespace sortition::testing_stream
