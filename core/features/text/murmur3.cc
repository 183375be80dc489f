#include "core/features/text/murmur3.h"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace sortition {
namespace {

uint32_t Block(const char* bytes, size_t size) {
  uint32_t block = 0;
  for (size_t i = 0; i < size; ++i) {
    block |= uint32_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
  }
  return block;
}

uint32_t Scramble(uint32_t block) {
  return std::rotl(block * 0xcc9e2d51u, 15) * 0x1b873593u;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

uint32_t Murmur3(absl::string_view bytes, uint32_t seed) {
  uint32_t hash = seed;
  const size_t full = bytes.size() / 4 * 4;
  for (size_t i = 0; i < full; i += 4) {
    hash ^= Scramble(Block(bytes.data() + i, 4));
    hash = std::rotl(hash, 13) * 5 + 0xe6546b64u;
  }
  hash ^= Scramble(Block(bytes.data() + full, bytes.size() - full));
  hash ^= static_cast<uint32_t>(bytes.size());
  hash = (hash ^ (hash >> 16)) * 0x85ebca6bu;
  hash = (hash ^ (hash >> 13)) * 0xc2b2ae35u;
  return hash ^ (hash >> 16);
}

uint32_t VowpalHash(absl::string_view value, uint32_t seed) {
  if (!std::all_of(value.begin(), value.end(), IsDigit)) {
    return Murmur3(value, seed);
  }
  uint32_t number = 0;
  for (const char c : value)
    number = 10 * number + static_cast<uint32_t>(c - '0');
  return number + seed;
}

}  // namespace sortition
