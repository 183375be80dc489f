#include "server/rpc/connections/frame_guard.h"

#include <algorithm>

namespace sortition {
namespace {

constexpr absl::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

// Types and flags of frames (RFC 9113, section 6).
constexpr uint8_t kDataFrame = 0;
constexpr uint8_t kHeadersFrame = 1;
constexpr uint8_t kResetFrame = 3;
constexpr uint8_t kWindowUpdateFrame = 8;
constexpr uint8_t kContinuationFrame = 9;
constexpr uint8_t kEndStreamFlag = 1;
constexpr uint8_t kEndHeadersFlag = 4;
constexpr size_t kFrameHeaderBytes = 9;

}  // namespace

const char* AbuseName(Abuse abuse) {
  switch (abuse) {
    case Abuse::kNone:
      return "none";
    case Abuse::kResets:
      return "resets";
    case Abuse::kHeaderBlock:
      return "header_block";
    case Abuse::kHeaderBytes:
      return "header_bytes";
    case Abuse::kControlFrames:
      break;
  }
  return "control_frames";
}

double LeakyBucket::Add(double amount, int64_t now_ns) {
  if (now_ns > time_ns_) {
    level_ -= 1e-9 * static_cast<double>(now_ns - time_ns_) * per_second_;
    level_ = std::max(level_, 0.0);
    time_ns_ = now_ns;
  }
  level_ = std::max(level_ + amount, 0.0);
  return level_;
}

bool SharedResets::Add(double change, int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  return unpaid_.Add(change, now_ns) > kLimit;
}

FrameGuard::FrameGuard(uint32_t max_streams, SharedResets* shared)
    : shared_(shared),
      reset_limit_(std::max(kMinResetLimit, 2.0 * max_streams)) {}

Abuse FrameGuard::Read(absl::string_view bytes, int64_t now_ns) {
  if (state_ == State::kPreface) bytes = ReadPreface(bytes);
  if (state_ != State::kFrames) return abuse_;
  while (!bytes.empty() && abuse_ == Abuse::kNone) {
    if (remaining_ > 0) {
      const size_t size = std::min<size_t>(remaining_, bytes.size());
      ReadPayload(size);
      bytes.remove_prefix(size);
      continue;
    }
    const size_t size =
        std::min<size_t>(kFrameHeaderBytes - num_read_, bytes.size());
    std::copy_n(bytes.data(), size, frame_ + num_read_);
    num_read_ = static_cast<uint8_t>(num_read_ + size);
    bytes.remove_prefix(size);
    if (num_read_ < kFrameHeaderBytes) break;
    num_read_ = 0;
    OnFrame(now_ns);
  }
  if (in_block_ || block_payload_) Reread();
  return abuse_;
}

absl::string_view FrameGuard::ReadPreface(absl::string_view bytes) {
  const absl::string_view wanted =
      kPreface.substr(num_read_, std::min(bytes.size(), kPreface.size()));
  if (bytes.substr(0, wanted.size()) != wanted) {
    state_ = State::kNotFollowed;
    return {};
  }
  num_read_ = static_cast<uint8_t>(num_read_ + wanted.size());
  if (num_read_ == kPreface.size()) {
    num_read_ = 0;
    state_ = State::kFrames;
  }
  return bytes.substr(wanted.size());
}

void FrameGuard::ReadPayload(size_t size) {
  remaining_ -= static_cast<uint32_t>(size);
  if (!block_payload_) return;
  block_read_ += size;
  if (remaining_ > 0) return;
  block_payload_ = false;
  // A frame that ends within the block ends a piece of it.
  if (in_block_) Reread();
}

void FrameGuard::OnFrame(int64_t now_ns) {
  const uint32_t length = uint32_t{frame_[0]} << 16 | uint32_t{frame_[1]} << 8 |
                          uint32_t{frame_[2]};
  const uint8_t flags = frame_[4];
  remaining_ = length;
  switch (frame_[3]) {
    case kHeadersFrame:
      OnHeaders(length, flags, now_ns);
      return;
    case kContinuationFrame:
      OnContinuation(length, flags, now_ns);
      return;
    case kDataFrame:
      if (length > 0) {
        CountControl(-kMessagePaysFrames, now_ns);
      } else if ((flags & kEndStreamFlag) == 0) {
        CountControl(1, now_ns);
      }
      return;
    case kResetFrame:
      CountReset(1, now_ns);
      return;
    case kWindowUpdateFrame:
      CountControl(kWindowUpdateFrames, now_ns);
      return;
    default:
      CountControl(1, now_ns);
  }
}

void FrameGuard::OnHeaders(uint32_t length, uint8_t flags, int64_t now_ns) {
  const uint32_t stream = uint32_t{frame_[5] & 0x7fu} << 24 |
                          uint32_t{frame_[6]} << 16 | uint32_t{frame_[7]} << 8 |
                          uint32_t{frame_[8]};
  if (stream > last_stream_) {
    last_stream_ = stream;
    CountReset(-kCallPaysResets, now_ns);
    CountControl(-kCallPaysFrames, now_ns);
  } else {
    CountControl(1, now_ns);  // A client of gRPC sends no trailers.
  }
  block_bytes_ = 0;
  block_read_ = 0;
  reread_bytes_ = 0;
  in_block_ = (flags & kEndHeadersFlag) == 0;
  block_payload_ = length > 0;
  GrowBlock(kFrameHeaderBytes + length, now_ns);
}

void FrameGuard::OnContinuation(uint32_t length, uint8_t flags,
                                int64_t now_ns) {
  // Without a block it is an error of the protocol, and gRPC ends the
  // connection.
  in_block_ = in_block_ && (flags & kEndHeadersFlag) == 0;
  block_payload_ = length > 0;
  GrowBlock(kFrameHeaderBytes + length, now_ns);
  if (length == 0 && in_block_) Reread();
}

void FrameGuard::GrowBlock(size_t bytes, int64_t now_ns) {
  const size_t before = std::max(block_bytes_, kFreeBlockBytes);
  block_bytes_ += bytes;
  if (block_bytes_ > kMaxBlockBytes) {
    abuse_ = Abuse::kHeaderBlock;
    return;
  }
  if (block_bytes_ <= before) return;
  const auto excess = static_cast<double>(block_bytes_ - before);
  if (header_bytes_.Add(excess, now_ns) > kHeaderBytesLimit) {
    abuse_ = Abuse::kHeaderBytes;
  }
}

void FrameGuard::Reread() {
  reread_bytes_ += block_read_;
  if (reread_bytes_ > kMaxRereadBytes && abuse_ == Abuse::kNone) {
    abuse_ = Abuse::kHeaderBlock;
  }
}

void FrameGuard::CountReset(double amount, int64_t now_ns) {
  if (amount < 0 && resets_.level() <= 0) return;
  resets_.Add(0, now_ns);
  const double before = resets_.level();
  const double after = resets_.Add(amount, now_ns);
  const bool is_exceeded = shared_->Add(after - before, now_ns);
  if (after > (is_exceeded ? reset_limit_ / 8 : reset_limit_)) {
    abuse_ = Abuse::kResets;
  }
}

void FrameGuard::CountControl(double amount, int64_t now_ns) {
  if (amount < 0 && control_frames_.level() <= 0) return;
  if (control_frames_.Add(amount, now_ns) > kControlFramesLimit) {
    abuse_ = Abuse::kControlFrames;
  }
}

}  // namespace sortition
