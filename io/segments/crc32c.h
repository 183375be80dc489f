#pragma once
// CRC-32C (Castagnoli, RFC 3720), by libisal.
#include <cstdint>

#include "absl/strings/string_view.h"

namespace sortition {

// Returns the CRC-32C of a sequence of bytes followed by `bytes`, where `crc`
// is that of the sequence, 0 if empty.
uint32_t ExtendCrc32c(uint32_t crc, absl::string_view bytes);

inline uint32_t Crc32c(absl::string_view bytes) {
  return ExtendCrc32c(0, bytes);
}

// Returns the masked form that TFRecord stores. Without masking, CRCs of data
// that contain CRCs are weak.
inline uint32_t MaskCrc(uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

}  // namespace sortition
