#include "core/features/schema/utf8.h"

#include <cstdint>
#include <cstring>

namespace sortition {
namespace {

// The number of bytes of a code point, and the range of its second byte.
struct Form {
  size_t size = 0;  // 0: no code point begins with this byte.
  uint8_t low = 0x80;
  uint8_t high = 0xbf;
};

Form FormOf(uint8_t lead) {
  if (lead < 0x80) return {1};
  if (lead < 0xc2) return {0};
  if (lead < 0xe0) return {2};
  if (lead == 0xe0) return {3, 0xa0, 0xbf};
  if (lead == 0xed) return {3, 0x80, 0x9f};
  if (lead < 0xf0) return {3};
  if (lead == 0xf0) return {4, 0x90, 0xbf};
  if (lead < 0xf4) return {4};
  if (lead == 0xf4) return {4, 0x80, 0x8f};
  return {0};
}

bool IsCodePoint(absl::string_view bytes, const Form& form) {
  if (form.size == 0 || bytes.size() < form.size) return false;
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  if (form.size > 1 && (byte(1) < form.low || byte(1) > form.high)) {
    return false;
  }
  for (size_t i = 2; i < form.size; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xbf) return false;
  }
  return true;
}

}  // namespace

size_t FindNotUtf8(absl::string_view bytes) {
  size_t i = 0;
  while (i < bytes.size()) {
    uint64_t block = 0;
    while (i + sizeof(block) <= bytes.size()) {
      std::memcpy(&block, bytes.data() + i, sizeof(block));
      if ((block & 0x8080808080808080u) != 0) break;
      i += sizeof(block);
    }
    if (i == bytes.size()) break;
    const Form form = FormOf(static_cast<uint8_t>(bytes[i]));
    if (!IsCodePoint(bytes.substr(i), form)) return i;
    i += form.size;
  }
  return absl::string_view::npos;
}

}  // namespace sortition
