// What followers of a copy hear of the writer is never ahead of its records.
#include <filesystem>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sidecar/join/joiner.h"
#include "sidecar/spools/loss_watch.h"
#include "tests/sidecar/stream/stream_fixture.h"

namespace sortition::testing_stream {
namespace {

constexpr int64_t kForEver = std::numeric_limits<int64_t>::max();

uint64_t BytesOf(const std::string& dir) {
  uint64_t bytes = 0;
  for (const auto& [name, contents] : SegmentsOf(dir)) bytes += contents.size();
  return bytes;
}

TEST_F(StreamTest, NewCopyHoldsItsFollowers) {
  TestSpool spool(SpoolDir(), "server", 1);
  spool.Append();
  // Without a state: an older server.
  const auto shipper = NewShipper();
  Ship(shipper.get());
  // What it knew of the time is lost, the bytes are not.
  log::v1::StreamMessage message;
  ASSERT_TRUE(message.ParseFromString(broker_.messages[0].data));
  message.clear_seen_us();
  broker_.messages[0].data = message.SerializeAsString();
  const auto mirror = NewMirror();
  Take(mirror.get());
  ASSERT_OK_AND_ASSIGN(const WriterState state, ReadWriterState(CopyDir()));
  EXPECT_EQ(state.seen_us, 1);
  EXPECT_EQ(state.alive_us, 1);
}

TEST_F(StreamTest, StateComesAfterAllRecordsBeforeIt) {
  std::mt19937 random(7);
  TestSpool spool(SpoolDir(), "server", 2);
  // Enough to catch up now and then, and not always.
  broker_stream_.max_message_bytes = 20000;
  const auto shipper = NewShipper();
  auto mirror = NewMirror();
  // Time of each append, and the bytes that there were after it.
  std::map<int64_t, uint64_t> history;
  int num_states = 0;
  int64_t last_seen_us = 0;
  for (int step = 0; step < 1000; ++step) {
    now_us_ += 100000;
    if (random() % 2 == 0) {
      spool.Append();
      history[now_us_] = BytesOf(SpoolDir());
    }
    if (random() % 60 == 0) spool.Rotate();
    spool.SayState({.alive_us = now_us_});
    now_us_ += 1000;
    if (random() % 2 == 0) {
      ASSERT_OK(shipper->Poll());
    }
    if (random() % 4 == 0) {
      ASSERT_OK(mirror->Poll(0));
    }
    if (random() % 100 == 0) mirror_stream_.Redeliver(1);
    if (random() % 100 == 0) {
      mirror.reset();
      mirror = NewMirror();
    }
    if (!std::filesystem::exists(CopyDir())) continue;
    ASSERT_OK_AND_ASSIGN(const WriterState state, ReadWriterState(CopyDir()));
    ASSERT_GE(state.seen_us, last_seen_us);
    num_states += state.seen_us > last_seen_us ? 1 : 0;
    last_seen_us = state.seen_us;
    auto appended = history.upper_bound(state.seen_us);
    if (appended == history.begin()) continue;
    ASSERT_GE(BytesOf(CopyDir()), std::prev(appended)->second) << step;
  }
  EXPECT_GT(num_states, 20);
}

TEST_F(StreamTest, AWriterThatHasEndedHoldsNobody) {
  TestSpool spool(SpoolDir(), "server", 3);
  spool.Append();
  spool.Close();
  spool.SayState({.alive_us = now_us_, .is_closed = true});
  const auto shipper = NewShipper();
  Ship(shipper.get());
  const auto mirror = NewMirror();
  Take(mirror.get());
  EXPECT_EQ(ReadWriterState(CopyDir())->seen_us, kForEver);
}

// Nobody waits for ever for a machine that is gone; but a broker that is away
// says nothing about the machine.
TEST_F(StreamTest, SilenceCountsWhileTheStreamCanBeRead) {
  TestSpool spool(SpoolDir(), "server", 4);
  spool.Append();
  spool.SayState({.alive_us = now_us_});
  const auto shipper = NewShipper();
  Ship(shipper.get());
  const auto mirror = NewMirror();
  Take(mirror.get());
  const int64_t seen_us = ReadWriterState(CopyDir())->seen_us;
  constexpr int64_t kHourUs = 3'600'000'000;
  broker_.is_away = true;
  now_us_ += 5 * kHourUs;
  EXPECT_THAT(mirror->Poll(0), StatusIs(absl::StatusCode::kUnavailable));
  broker_.is_away = false;
  now_us_ += kHourUs - 1000000;
  Take(mirror.get());
  EXPECT_EQ(ReadWriterState(CopyDir())->seen_us, seen_us);
  now_us_ += 1000000;
  Take(mirror.get());
  EXPECT_EQ(ReadWriterState(CopyDir())->seen_us, kForEver);
  // It is back.
  Ship(shipper.get());
  Take(mirror.get());
  EXPECT_EQ(ReadWriterState(CopyDir())->seen_us, now_us_);
}

// What it said before says nothing new: nobody waits for it again.
TEST_F(StreamTest, AWriterThatWasGivenUpStaysSo) {
  TestSpool spool(SpoolDir(), "server", 5);
  spool.Append();
  spool.SayState({.alive_us = now_us_});
  Ship(NewShipper().get());
  const int64_t said_us = now_us_;
  auto mirror = NewMirror();
  Take(mirror.get());
  now_us_ += 4'000'000'000;
  Take(mirror.get());
  ASSERT_EQ(ReadWriterState(CopyDir())->seen_us, kForEver);
  for (const bool restarts : {false, true}) {
    if (restarts) {
      mirror.reset();
      mirror = NewMirror();
    }
    ++broker_.created_ns;
    mirror_stream_.is_broken = true;
    mirror->Poll(0).IgnoreError();
    Take(mirror.get());
    EXPECT_EQ(ReadWriterState(CopyDir())->seen_us, kForEver);
    EXPECT_EQ(ReadWriterState(CopyDir())->alive_us, said_us);
  }
}

// An hour passes at the follower; the copy has come to time 20 s.
TEST(LossWatchOfACopyTest, GoesByTheTimeOfTheCopy) {
  constexpr int64_t kSecond = 1000000;
  config::v1::SidecarOptions options;
  Joiner joiner(options.join());
  LossWatch watch(options, /*spool=*/0, std::nullopt, &joiner);
  const int64_t now_us = 3600 * kSecond;
  WriterState state = {.alive_us = 19 * kSecond, .seen_us = 20 * kSecond};
  EXPECT_EQ(watch.TakeState(state, now_us), 19 * kSecond);
  // The writer was silent for more than max_away_seconds of that time.
  state.alive_us = 14 * kSecond;
  EXPECT_EQ(watch.TakeState(state, now_us), 20 * kSecond);
}

}  // namespace
}  // namespace sortition::testing_stream
