#pragma once
// CRC-32C (Castagnoli, RFC 3720), by libisal.
#include <cstdint>

#include "absl/strings/string_view.h"

namespace sortition {

// CRC-32C of the bytes that `crc` is of, followed by `bytes`; start with 0.
uint32_t ExtendCrc32c(uint32_t crc, absl::string_view bytes);

inline uint32_t Crc32c(absl::string_view bytes) {
  return ExtendCrc32c(0, bytes);
}

// The masked form that TFRecord stores, so that the CRC of data with embedded
// CRCs stays strong.
inline uint32_t MaskCrc(uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

}  // namespace sortition
