// A spool that goes through a stream comes out byte for byte, whatever fails in
// between.
#include <filesystem>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/segments/segment_recovery.h"
#include "tests/sidecar/stream/stream_fixture.h"

namespace sortition::testing_stream {
namespace {

using Fault = FakeStream::Fault;

TEST_F(StreamTest, MirrorHasTheBytesOfTheSpool) {
  TestSpool spool(SpoolDir(), "server", 1);
  const auto shipper = NewShipper();
  const auto mirror = NewMirror();
  for (int i = 0; i < 300; ++i) {
    spool.Append();
    if (i % 40 == 39) spool.Rotate();
    if (i % 7 == 0) Ship(shipper.get());
    if (i % 11 == 0) Take(mirror.get());
  }
  Ship(shipper.get());
  Take(mirror.get());
  EXPECT_EQ(SegmentsOf(CopyDir()), SegmentsOf(SpoolDir()));
  EXPECT_EQ(SegmentsOf(CopyDir()).size(), 8u);
}

// What is still written must look so: a follower would recover it otherwise.
TEST_F(StreamTest, OpenSegmentOfTheCopyHasALiveWriter) {
  TestSpool spool(SpoolDir(), "server", 1);
  spool.Append();
  spool.Rotate();
  spool.Append();
  const auto shipper = NewShipper();
  auto mirror = NewMirror();
  Ship(shipper.get());
  Take(mirror.get());
  const auto is_live = [&](const std::string& name) {
    return SegmentHasLiveWriter(CopyDir() + "/" + name).value();
  };
  ASSERT_OK_AND_ASSIGN(const auto names, ListSegments(CopyDir()));
  ASSERT_EQ(names.size(), 2u);
  EXPECT_FALSE(is_live(names[0]));
  EXPECT_TRUE(is_live(names[1]));
  mirror.reset();
  EXPECT_FALSE(is_live(names[1]));
  mirror = NewMirror();
  EXPECT_TRUE(is_live(names[1]));
}

// Each seed is another history of appends, rotations, deaths of the server, of
// the shipper and of the mirror, lost messages and lost answers. With odd seeds
// the broker also loses its newest messages, and others get their numbers.
class RandomFaultsTest : public StreamTest,
                         public testing::WithParamInterface<uint32_t> {};

TEST_P(RandomFaultsTest, MirrorHasTheBytesOfTheSpool) {
  std::mt19937 random(GetParam());
  const auto one_in = [&](uint32_t n) { return random() % n == 0; };
  broker_stream_.next_fault = [&] {
    return one_in(6)   ? Fault::kNotStored
           : one_in(6) ? Fault::kAnswerLost
                       : Fault::kNone;
  };
  broker_stream_.max_message_bytes = 8192 + 50 + random() % 3000;
  TestSpool spool(SpoolDir(), "server", GetParam());
  auto shipper = NewShipper();
  TestSpool other(SpoolDir("other"), "other", GetParam() + 1000);
  const auto other_shipper = NewShipper("other");
  auto mirror = NewMirror();
  for (int step = 0; step < 600; ++step) {
    if (one_in(4)) other.Append();
    if (one_in(4)) other_shipper->Poll().IgnoreError();
    if (GetParam() % 2 == 1 && one_in(80)) {
      broker_.LoseNewest(random() % 6);
      mirror_stream_.is_broken = true;
    }
    now_us_ += 50000;
    if (one_in(2)) spool.Append();
    if (one_in(40)) spool.Rotate(one_in(3));
    if (one_in(2)) shipper->Poll().IgnoreError();
    if (one_in(3)) mirror->Poll(0).IgnoreError();
    if (one_in(30)) shipper = NewShipper();
    if (one_in(90)) {
      std::filesystem::remove(SpoolDir() + "/.published");
      shipper = NewShipper();
    }
    if (one_in(30)) {
      mirror.reset();
      mirror = NewMirror();
    }
    if (one_in(60)) {
      mirror.reset();
      std::filesystem::remove(MirrorDir() + "/.position");
      mirror = NewMirror();
    }
    if (one_in(10)) mirror_stream_.Redeliver(1 + random() % 50);
  }
  broker_stream_.next_fault = [] { return Fault::kNone; };
  mirror->Poll(0).IgnoreError();  // The broker may have just been away.
  // Reads again what came behind a gap.
  for (int i = 0; i < 6; ++i) {
    spool.Append();
    other.Append();
    Ship(shipper.get());
    Ship(other_shipper.get());
    Take(mirror.get());
    now_us_ += 11'000'000;
  }
  EXPECT_EQ(SegmentsOf(CopyDir()), SegmentsOf(SpoolDir()));
  EXPECT_EQ(SegmentsOf(CopyDir("other")), SegmentsOf(SpoolDir("other")));
  EXPECT_EQ(Value("sortition_mirror_missing_total"), 0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomFaultsTest, testing::Range(0u, 60u));

// A mirror whose disk holds less than its position, or more, is filled again.
TEST_F(StreamTest, MirrorCutsWhatWasNotSynced) {
  TestSpool spool(SpoolDir(), "server", 2);
  const auto shipper = NewShipper();
  for (int i = 0; i < 20; ++i) spool.Append();
  Ship(shipper.get());
  auto mirror = NewMirror();
  Take(mirror.get());
  mirror.reset();
  // Bytes that a power cut left behind the position, and a later segment.
  const std::string segment = ListSegments(CopyDir())->front();
  std::filesystem::resize_file(
      CopyDir() + "/" + segment,
      std::filesystem::file_size(CopyDir() + "/" + segment) + 5000);
  ASSERT_OK(WriteFile(CopyDir() + "/f" + segment.substr(1), "not synced"));
  mirror = NewMirror();
  spool.Append();
  spool.Rotate();
  Ship(shipper.get());
  Take(mirror.get());
  EXPECT_EQ(SegmentsOf(CopyDir()), SegmentsOf(SpoolDir()));
}

TEST_F(StreamTest, SegmentThatWasRemovedDoesNotComeBack) {
  TestSpool spool(SpoolDir(), "server", 3);
  const auto shipper = NewShipper();
  auto mirror = NewMirror();
  for (int i = 0; i < 3; ++i) {
    spool.Append();
    spool.Rotate();
  }
  Ship(shipper.get());
  Take(mirror.get());
  ASSERT_OK_AND_ASSIGN(const auto names, ListSegments(CopyDir()));
  std::filesystem::remove(CopyDir() + "/" + names[0]);
  std::filesystem::remove(CopyDir() + "/" + names[1]);
  const std::vector<std::string> rest(names.begin() + 2, names.end());
  mirror_stream_.Redeliver(1);
  Take(mirror.get());
  EXPECT_EQ(ListSegments(CopyDir()).value(), rest);
  // Also where the position was lost, and all of the stream is read again.
  mirror.reset();
  std::filesystem::remove(MirrorDir() + "/.position");
  mirror = NewMirror();
  Take(mirror.get());
  EXPECT_EQ(ListSegments(CopyDir()).value(), rest);
}

TEST_F(StreamTest, SpoolKeepsWhatAFullStreamRefuses) {
  TestSpool spool(SpoolDir(), "server", 4);
  const auto shipper = NewShipper("server", true);
  for (int i = 0; i < 100; ++i) {
    spool.Append();
    if (i % 10 == 9) spool.Rotate();
  }
  const auto all = SegmentsOf(SpoolDir());
  broker_.max_bytes = 60000;
  while (shipper->Poll().ok()) {
  }
  // Together they still have everything.
  const auto kept = SegmentsOf(SpoolDir());
  EXPECT_GT(kept.size(), 1u);
  EXPECT_LT(kept.size(), all.size());
  const auto mirror = NewMirror(3600);
  for (int i = 0; i < 1000 && !shipper->is_drained(); ++i) {
    now_us_ += 10'000'000;
    ASSERT_OK(mirror->Poll(0));
    shipper->Poll().IgnoreError();
  }
  EXPECT_TRUE(shipper->is_drained());
  Take(mirror.get());
  EXPECT_EQ(SegmentsOf(CopyDir()), all);
  EXPECT_EQ(ListSegments(SpoolDir())->size(), 1u);
  EXPECT_GT(Value("sortition_mirror_removed_total"), 0);
}

TEST_F(StreamTest, SpoolKeepsItsNewestSegmentAndAllThatWasNotTaken) {
  TestSpool spool(SpoolDir(), "server", 5);
  const auto shipper = NewShipper("server", true);
  spool.Append();
  spool.Rotate();
  spool.Append();
  spool.Rotate();
  broker_.is_away = true;
  EXPECT_THAT(shipper->Poll(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(ListSegments(SpoolDir())->size(), 3u);
  broker_.is_away = false;
  Ship(shipper.get());
  EXPECT_EQ(ListSegments(SpoolDir())->size(), 1u);
  spool.Close();
  Ship(shipper.get());
  EXPECT_EQ(ListSegments(SpoolDir())->size(), 1u);
}

TEST_F(StreamTest, WritersHaveCopiesOfTheirOwn) {
  TestSpool a(SpoolDir("a"), "a", 6);
  TestSpool b(SpoolDir("b-1.x"), "b-1.x", 7);
  const auto ship_a = NewShipper("a");
  const auto ship_b = NewShipper("b-1.x");
  const auto mirror = NewMirror();
  for (int i = 0; i < 50; ++i) {
    a.Append();
    b.Append();
    if (i % 20 == 0) a.Rotate();
    if (i % 9 == 0) b.Rotate();
    Ship(ship_a.get());
    Ship(ship_b.get());
    Take(mirror.get());
  }
  EXPECT_EQ(SegmentsOf(CopyDir("a")), SegmentsOf(SpoolDir("a")));
  EXPECT_EQ(SegmentsOf(CopyDir("b-1.x")), SegmentsOf(SpoolDir("b-1.x")));
}

}  // namespace
}  // namespace sortition::testing_stream
