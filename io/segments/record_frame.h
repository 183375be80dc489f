#pragma once
// TFRecord frames: u64 length, u32 masked CRC-32C of the length, payload, u32
// masked CRC-32C of the payload; all little-endian.
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "absl/strings/string_view.h"
#include "io/segments/crc32c.h"

namespace sortition {

static_assert(std::endian::native == std::endian::little,
              "frames are written in the machine's byte order");

inline constexpr uint64_t kFrameHeadBytes = 12;
inline constexpr uint64_t kFrameTailBytes = 4;

inline uint64_t FrameBytes(uint64_t payload_bytes) {
  return kFrameHeadBytes + payload_bytes + kFrameTailBytes;
}

using FrameHead = std::array<char, kFrameHeadBytes>;
using FrameTail = std::array<char, kFrameTailBytes>;

inline FrameHead MakeFrameHead(uint64_t payload_bytes) {
  FrameHead head;
  std::memcpy(head.data(), &payload_bytes, 8);
  const uint32_t crc = MaskCrc(Crc32c(absl::string_view(head.data(), 8)));
  std::memcpy(head.data() + 8, &crc, 4);
  return head;
}

inline FrameTail MakeFrameTail(std::span<const absl::string_view> pieces) {
  uint32_t crc = 0;
  for (const absl::string_view piece : pieces) crc = ExtendCrc32c(crc, piece);
  crc = MaskCrc(crc);
  FrameTail tail;
  std::memcpy(tail.data(), &crc, 4);
  return tail;
}

// Returns true and sets the length of the payload if `head` is intact.
inline bool ParseFrameHead(absl::string_view head, uint64_t* payload_bytes) {
  if (head.size() < kFrameHeadBytes) return false;
  uint32_t crc;
  std::memcpy(payload_bytes, head.data(), 8);
  std::memcpy(&crc, head.data() + 8, 4);
  return crc == MaskCrc(Crc32c(head.substr(0, 8)));
}

inline bool FrameTailMatches(absl::string_view payload,
                             absl::string_view tail) {
  uint32_t crc;
  std::memcpy(&crc, tail.data(), 4);
  return crc == MaskCrc(Crc32c(payload));
}

// Appends one whole frame to `out`.
inline void AppendFrame(absl::string_view payload, std::string* out) {
  const FrameHead head = MakeFrameHead(payload.size());
  const FrameTail tail = MakeFrameTail({&payload, 1});
  out->append(head.data(), head.size());
  out->append(payload.data(), payload.size());
  out->append(tail.data(), tail.size());
}

}  // namespace sortition
