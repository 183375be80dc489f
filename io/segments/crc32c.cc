#include "io/segments/crc32c.h"

#include <isa-l/crc.h>

namespace sortition {

uint32_t ExtendCrc32c(uint32_t crc, absl::string_view bytes) {
  // crc32_iscsi() takes and returns the register without the final inversion,
  // and an int length.
  constexpr size_t kChunk = size_t{1} << 30;
  uint32_t state = ~crc;
  while (!bytes.empty()) {
    const absl::string_view chunk = bytes.substr(0, kChunk);
    // The library does not write through its non-const pointer.
    state = crc32_iscsi(
        reinterpret_cast<unsigned char*>(const_cast<char*>(chunk.data())),
        static_cast<int>(chunk.size()), state);
    bytes.remove_prefix(chunk.size());
  }
  return ~state;
}

}  // namespace sortition
