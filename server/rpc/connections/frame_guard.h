#pragma once
// Recognises clients that abuse HTTP/2, from the bytes that they send. gRPC
// 1.51 itself bounds neither calls that are cancelled at once (CVE-2023-44487)
// nor header blocks that never end.
#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "absl/strings/string_view.h"

namespace sortition {

enum class Abuse : uint8_t {
  kNone,
  kResets,         // More calls are cancelled than answered.
  kHeaderBlock,    // One header block is too long or comes in tiny pieces.
  kHeaderBytes,    // Many header blocks are longer than gRPC accepts.
  kControlFrames,  // Frames that belong to no call: SETTINGS, PING, ...
};
inline constexpr std::array kAbuses = {Abuse::kResets, Abuse::kHeaderBlock,
                                       Abuse::kHeaderBytes,
                                       Abuse::kControlFrames};

// Returns the value of the label `reason` of the metric, such as "resets".
const char* AbuseName(Abuse abuse);

// A quantity that grows with events and shrinks with time. Copyable; not
// thread-safe.
class LeakyBucket {
 public:
  explicit LeakyBucket(double per_second) : per_second_(per_second) {}

  // Adds `amount`, which may be negative, at the time `now_ns`. The level never
  // falls below 0. Returns the level.
  double Add(double amount, int64_t now_ns);
  double level() const { return level_; }

 private:
  double per_second_;
  double level_ = 0;
  int64_t time_ns_ = 0;
};

// The unpaid resets of all connections of a process together. While they exceed
// the budget, each connection may have only an eighth of its own limit, so that
// many connections cannot do what one may not. Thread-safe.
class SharedResets {
 public:
  // Adds a change of a connection's level. Returns true if the budget is
  // exceeded.
  bool Add(double change, int64_t now_ns);

  static constexpr double kLimit = 4096;
  static constexpr double kPerSecond = 1000;

 private:
  std::mutex mutex_;
  LeakyBucket unpaid_{kPerSecond};  // Guarded by `mutex_`.
};

// Follows the frames of one connection. Looks at frame headers (RFC 9113,
// section 4.1) and skips payloads, so the cost grows with the number of frames.
// Bytes that do not begin with the preface of HTTP/2 are not followed: gRPC
// refuses them, or they are TLS. Not thread-safe.
class FrameGuard {
 public:
  // `max_streams` is the number of calls that gRPC permits at once. A client
  // that has so many and cancels all of them is not abusive. `shared` must
  // outlive the guard.
  FrameGuard(uint32_t max_streams, SharedResets* shared);

  // Takes the next bytes that the client has sent, divided in any way. Returns
  // the reason to end the connection, from then on always the same.
  Abuse Read(absl::string_view bytes, int64_t now_ns);

  // True once the preface of HTTP/2 was read.
  bool has_preface() const { return state_ == State::kFrames; }

  // Cancelled calls. A RST_STREAM adds 1 and a new call pays back 0.5: a client
  // that cancels fewer than half of its calls has no limit, and one that
  // cancels each call at once gets twice as many as the level permits.
  static constexpr double kMinResetLimit = 512;
  static constexpr double kResetsPerSecond = 250;
  static constexpr double kCallPaysResets = 0.5;
  // Bytes of one header block with the headers of its frames. gRPC refuses
  // calls with more than 8 KiB of metadata; proxies pass up to 60 KiB on.
  static constexpr size_t kMaxBlockBytes = 64 << 10;
  // gRPC reads an unfinished block from its beginning whenever a piece of it
  // comes. This many bytes it may read so.
  static constexpr size_t kMaxRereadBytes = 4 << 20;
  // Bytes of header blocks beyond kFreeBlockBytes each.
  static constexpr size_t kFreeBlockBytes = 8 << 10;
  static constexpr double kHeaderBytesLimit = 1 << 20;
  static constexpr double kHeaderBytesPerSecond = 256 << 10;
  // Frames that belong to no call. Calls and messages pay for the frames that
  // come with them, such as pings that measure the bandwidth. A window update
  // costs a twentieth.
  static constexpr double kControlFramesLimit = 5000;
  static constexpr double kControlFramesPerSecond = 500;
  static constexpr double kCallPaysFrames = 2;
  static constexpr double kMessagePaysFrames = 1;
  static constexpr double kWindowUpdateFrames = 0.05;

 private:
  enum class State : uint8_t { kPreface, kFrames, kNotFollowed };

  // Reads the preface; returns the bytes behind it.
  absl::string_view ReadPreface(absl::string_view bytes);
  // Reads a part of a payload, not empty.
  void ReadPayload(size_t size);
  // `frame_` holds a whole frame header.
  void OnFrame(int64_t now_ns);
  void OnHeaders(uint32_t length, uint8_t flags, int64_t now_ns);
  void OnContinuation(uint32_t length, uint8_t flags, int64_t now_ns);
  // Adds bytes to the header block.
  void GrowBlock(size_t bytes, int64_t now_ns);
  // Charges gRPC's second look at an unfinished header block.
  void Reread();
  void CountReset(double amount, int64_t now_ns);
  void CountControl(double amount, int64_t now_ns);

  SharedResets* const shared_;
  const double reset_limit_;
  State state_ = State::kPreface;
  Abuse abuse_ = Abuse::kNone;
  uint8_t frame_[9] = {};
  uint8_t num_read_ = 0;    // Bytes of the preface or of `frame_`.
  uint32_t remaining_ = 0;  // Bytes of the payload that are still to come.
  uint32_t last_stream_ = 0;
  bool in_block_ = false;       // END_HEADERS is still to come,
  bool block_payload_ = false;  // or some payload of the block is.
  size_t block_bytes_ = 0;      // As announced by frame headers.
  size_t block_read_ = 0;
  size_t reread_bytes_ = 0;
  LeakyBucket resets_{kResetsPerSecond};
  LeakyBucket header_bytes_{kHeaderBytesPerSecond};
  LeakyBucket control_frames_{kControlFramesPerSecond};
};

}  // namespace sortition
