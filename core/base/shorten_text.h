#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace sortition {

// Returns a text cut to `max_bytes`, with " ..." behind it where it was longer.
// Cuts no character of UTF-8 in two: JSON takes no half ones.
inline std::string ShortenText(absl::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return std::string(text);
  size_t size = max_bytes;
  while (size > 0 && (static_cast<uint8_t>(text[size]) & 0xc0) == 0x80) --size;
  return absl::StrCat(text.substr(0, size), " ...");
}

}  // namespace sortition
