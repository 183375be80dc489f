#include "server/rpc/connections/frame_guard.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/testing/raw_http2.h"

namespace sortition {
namespace {

constexpr char kMethod[] = "/sortition.v1.Ranking/Rank";
constexpr uint32_t kMaxStreams = 256;  // So the limit of resets is 512.
constexpr int64_t kSecondNs = 1'000'000'000;

class FrameGuardTest : public testing::Test {
 protected:
  FrameGuardTest() { Send(Preface(65535)); }

  Abuse Send(const std::string& bytes) { return guard_.Read(bytes, now_ns_); }
  // Sends `count` calls from stream `first` on.
  Abuse SendCalls(int count) {
    Abuse abuse = Abuse::kNone;
    for (int i = 0; i < count; ++i)
      abuse = Send(BeginCall(NextStream(), kMethod));
    return abuse;
  }
  // Sends `count` calls, each of which is cancelled at once.
  Abuse SendCancelledCalls(int count) {
    Abuse abuse = Abuse::kNone;
    for (int i = 0; i < count; ++i) {
      const uint32_t stream = NextStream();
      abuse = Send(BeginCall(stream, kMethod) + Reset(stream));
    }
    return abuse;
  }
  Abuse SendFrames(int count, FrameType type, const std::string& payload) {
    Abuse abuse = Abuse::kNone;
    for (int i = 0; i < count; ++i) abuse = Send(Frame(type, 0, 0, payload));
    return abuse;
  }
  uint32_t NextStream() { return stream_ += 2; }
  void Wait(int64_t seconds) { now_ns_ += seconds * kSecondNs; }

  SharedResets shared_;
  FrameGuard guard_{kMaxStreams, &shared_};
  int64_t now_ns_ = kSecondNs;
  uint32_t stream_ = 0xffffffff;  // The next one is 1.
};

TEST_F(FrameGuardTest, CallsWithoutResetsHaveNoLimit) {
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_EQ(Send(Call(NextStream(), kMethod, "request")), Abuse::kNone);
  }
}

// The first reset costs 1, each later pair of a call and a reset 0.5, and the
// limit is 512.
TEST_F(FrameGuardTest, CallsThatAreCancelledAtOnceAreBounded) {
  EXPECT_EQ(SendCancelledCalls(1023), Abuse::kNone);
  EXPECT_EQ(SendCancelledCalls(1), Abuse::kResets);
  EXPECT_EQ(SendCalls(1), Abuse::kResets) << "abuse is final";
}

TEST_F(FrameGuardTest, ResetsAreForgottenWithTime) {
  EXPECT_EQ(SendCancelledCalls(1000), Abuse::kNone);
  Wait(4);  // 250 a second
  EXPECT_EQ(SendCancelledCalls(1000), Abuse::kNone);
}

// A gateway whose calls all pass their deadlines: as many as there may be.
TEST_F(FrameGuardTest, AllCallsAtOnceMayBeCancelled) {
  SendCalls(kMaxStreams);
  Abuse abuse = Abuse::kNone;
  for (uint32_t i = 0; i < kMaxStreams; ++i) abuse = Send(Reset(2 * i + 1));
  EXPECT_EQ(abuse, Abuse::kNone);
}

TEST_F(FrameGuardTest, HalfOfAllCallsMayBeCancelledForever) {
  for (int i = 0; i < 20'000; ++i) {
    ASSERT_EQ(SendCancelledCalls(1), Abuse::kNone) << i;
    ASSERT_EQ(SendCalls(1), Abuse::kNone) << i;
  }
}

// Each of 20 connections stays below its limit; together they exceed the budget
// of 4,096 with the ninth.
TEST_F(FrameGuardTest, ManyConnectionsShareABudget) {
  int num_abusive = 0;
  for (int i = 0; i < 20; ++i) {
    FrameGuard guard(kMaxStreams, &shared_);
    guard.Read(Preface(65535), now_ns_);
    Abuse abuse = Abuse::kNone;
    for (uint32_t k = 0; k < 1000; ++k) {
      const uint32_t stream = 2 * k + 1;
      abuse = guard.Read(BeginCall(stream, kMethod) + Reset(stream), now_ns_);
    }
    if (abuse == Abuse::kResets) ++num_abusive;
  }
  EXPECT_EQ(num_abusive, 20 - 8);
  // One that cancels little is not concerned.
  EXPECT_EQ(SendCancelledCalls(100), Abuse::kNone);
}

TEST_F(FrameGuardTest, AHeaderBlockIsBoundedBeforeItArrives) {
  const std::string payload(16'000, 'x');
  EXPECT_EQ(Send(Frame(FrameType::kHeaders, 0, 1, payload)), Abuse::kNone);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Send(Frame(FrameType::kContinuation, 0, 1, payload)),
              Abuse::kNone);
  }
  // 4 · 16,009 + 9 + 1,491 = 65,536 bytes are permitted; the frame header alone
  // tells.
  const std::string next =
      Frame(FrameType::kContinuation, 0, 1, std::string(1492, 'x'));
  EXPECT_EQ(Send(next.substr(0, 8)), Abuse::kNone);
  EXPECT_EQ(Send(next.substr(8, 1)), Abuse::kHeaderBlock);
}

TEST_F(FrameGuardTest, EmptyContinuationsAreBounded) {
  Send(Frame(FrameType::kHeaders, 0, 1, ""));
  Abuse abuse = Abuse::kNone;
  int count = 0;
  for (; abuse == Abuse::kNone; ++count) {
    abuse = Send(Frame(FrameType::kContinuation, 0, 1, ""));
  }
  EXPECT_EQ(abuse, Abuse::kHeaderBlock);
  EXPECT_EQ(count, 65536 / 9);  // With the frame of the headers one too many.
}

// gRPC would begin again with each byte: k bytes cost k (k + 1) / 2, which
// exceeds 4 MiB with the 2,896th.
TEST_F(FrameGuardTest, AHeaderBlockInTinyPiecesIsBounded) {
  Send(Frame(FrameType::kHeaders, 0, 1, std::string(16'000, 'x')).substr(0, 9));
  int count = 0;
  Abuse abuse = Abuse::kNone;
  for (; abuse == Abuse::kNone; ++count) abuse = Send("x");
  EXPECT_EQ(abuse, Abuse::kHeaderBlock);
  EXPECT_EQ(count, 2896);
}

TEST_F(FrameGuardTest, HonestHeadersMayComeByteByByte) {
  for (int i = 0; i < 1000; ++i) {
    for (const char byte : Call(NextStream(), kMethod, "request")) {
      ASSERT_EQ(Send(std::string(1, byte)), Abuse::kNone);
    }
  }
}

// Blocks of 60,000 bytes exceed the free 8,192 by 51,844 each with the headers
// of their four frames; 20 of them fit into a mebibyte.
TEST_F(FrameGuardTest, LongHeaderBlocksAreBoundedTogether) {
  const auto send_block = [this] {
    const uint32_t stream = NextStream();
    const std::string payload(15'000, 'x');
    Send(Frame(FrameType::kHeaders, 0, stream, payload) +
         Frame(FrameType::kContinuation, 0, stream, payload) +
         Frame(FrameType::kContinuation, 0, stream, payload));
    return Send(Frame(FrameType::kContinuation, kEndHeaders, stream, payload));
  };
  for (int i = 0; i < 20; ++i) ASSERT_EQ(send_block(), Abuse::kNone) << i;
  EXPECT_EQ(send_block(), Abuse::kHeaderBytes);
}

TEST_F(FrameGuardTest, BlocksThatGrpcAcceptsHaveNoLimit) {
  const std::string payload(8000, 'x');
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_EQ(
        Send(Frame(FrameType::kHeaders, kEndHeaders, NextStream(), payload)),
        Abuse::kNone);
  }
}

// The SETTINGS of the preface are the first of 5,000.
TEST_F(FrameGuardTest, FramesWithoutCallsAreBounded) {
  struct Flood {
    FrameType type;
    std::string payload;
  };
  for (const Flood& flood : {Flood{FrameType::kSettings, ""},
                             Flood{FrameType::kPing, std::string(8, '\0')},
                             Flood{FrameType::kPriority, std::string(5, '\0')},
                             Flood{FrameType::kData, ""},
                             Flood{static_cast<FrameType>(77), "unknown"}}) {
    FrameGuard guard(kMaxStreams, &shared_);
    guard.Read(Preface(65535), now_ns_);
    const std::string frame = Frame(flood.type, 0, 0, flood.payload);
    for (int i = 0; i < 4999; ++i) {
      ASSERT_EQ(guard.Read(frame, now_ns_), Abuse::kNone);
    }
    EXPECT_EQ(guard.Read(frame, now_ns_), Abuse::kControlFrames);
  }
}

TEST_F(FrameGuardTest, HeadersOfOldCallsAreBounded) {
  const std::string headers = BeginCall(NextStream(), kMethod);
  Abuse abuse = Abuse::kNone;
  for (int i = 0; i < 6000; ++i) abuse = Send(headers);
  EXPECT_EQ(abuse, Abuse::kControlFrames);
}

// Two pings and window updates for each call, as clients send that measure the
// bandwidth.
TEST_F(FrameGuardTest, PingsBesideCallsHaveNoLimit) {
  const std::string ping = Frame(FrameType::kPing, 0, 0, std::string(8, '\0'));
  const std::string update =
      Frame(FrameType::kWindowUpdate, 0, 0, std::string("\0\0\0\1", 4));
  for (int i = 0; i < 20'000; ++i) {
    ASSERT_EQ(Send(Call(NextStream(), kMethod, "request") + ping + ping +
                   update + update),
              Abuse::kNone);
  }
}

TEST_F(FrameGuardTest, WindowUpdatesAreBounded) {
  // (5,000 - 1) · 20
  EXPECT_EQ(SendFrames(99'000, FrameType::kWindowUpdate, "\1\1\1\1"),
            Abuse::kNone);
  EXPECT_EQ(SendFrames(1'001, FrameType::kWindowUpdate, "\1\1\1\1"),
            Abuse::kControlFrames);
}

// Bytes may be divided anywhere. The abuse, if any, is seen with the last one.
TEST_F(FrameGuardTest, ResultsDoNotDependOnPieces) {
  std::string bytes = Preface(65535);
  for (uint32_t i = 0; i < 600; ++i) {
    bytes += Call(2 * i + 1, kMethod, "request") +
             Frame(FrameType::kPing, 0, 0, std::string(8, '\0'));
  }
  for (uint32_t i = 0; i < 512; ++i) bytes += Reset(2 * i + 1);
  const std::string last = Reset(1199);
  for (const size_t step : {1, 2, 3, 7, 8, 9, 10, 11, 100, 1000, 100'000}) {
    SharedResets shared;
    FrameGuard guard(kMaxStreams, &shared);
    for (size_t i = 0; i < bytes.size(); i += step) {
      ASSERT_EQ(guard.Read(bytes.substr(i, step), 1), Abuse::kNone)
          << step << " " << i;
    }
    EXPECT_TRUE(guard.has_preface());
    EXPECT_EQ(guard.Read(last.substr(0, 8), 1), Abuse::kNone);
    EXPECT_EQ(guard.Read(last.substr(8), 1), Abuse::kResets);
  }
}

TEST_F(FrameGuardTest, OtherProtocolsAreNotFollowed) {
  for (const std::string& begin :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string("\x16\x03\x01", 3),
        Preface(0).substr(0, 10) + "x"}) {
    FrameGuard guard(kMaxStreams, &shared_);
    EXPECT_EQ(guard.Read(begin, 1), Abuse::kNone);
    EXPECT_FALSE(guard.has_preface());
    for (int i = 0; i < 10'000; ++i) {
      ASSERT_EQ(guard.Read(Reset(1), 1), Abuse::kNone);
    }
  }
}

TEST(LeakyBucketTest, LeaksWithTimeAndNeverBelowZero) {
  LeakyBucket bucket(10);
  EXPECT_EQ(bucket.Add(5, kSecondNs), 5);
  EXPECT_EQ(bucket.Add(0, kSecondNs + kSecondNs / 4), 2.5);
  EXPECT_EQ(bucket.Add(1, 3 * kSecondNs), 1);
  EXPECT_EQ(bucket.Add(-7, 3 * kSecondNs), 0);
  // A clock that goes back refills nothing.
  EXPECT_EQ(bucket.Add(3, kSecondNs), 3);
}

}  // namespace
}  // namespace sortition
