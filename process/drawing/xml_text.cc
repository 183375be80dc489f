#include "process/drawing/xml_text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace sortition {
namespace {

constexpr absl::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// The first character of a text; 0 bytes where it is malformed UTF-8.
struct CodePoint {
  size_t bytes = 0;
  uint32_t value = 0;
};

CodePoint Decode(absl::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {1, lead};
  const size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {};
  uint32_t value = lead & (0xFFu >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    value = value << 6 | (byte(i) & 0x3Fu);
  }
  constexpr std::array<uint32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  if (value < kLeast[bytes] || value > 0x10FFFF) return {};
  return {bytes, value};
}

// Returns whether XML 1.0 permits the character (production [2]).
bool IsXmlChar(uint32_t value) {
  return value == 0x9 || value == 0xA || value == 0xD ||
         (value >= 0x20 && value <= 0xD7FF) ||
         (value >= 0xE000 && value <= 0xFFFD) || value >= 0x10000;
}

void AppendEscaped(absl::string_view character, std::string* text) {
  switch (character[0]) {
    case '&':
      absl::StrAppend(text, "&amp;");
      return;
    case '<':
      absl::StrAppend(text, "&lt;");
      return;
    case '>':
      absl::StrAppend(text, "&gt;");
      return;
    case '"':
      absl::StrAppend(text, "&quot;");
      return;
    case '\'':
      absl::StrAppend(text, "&#39;");
      return;
    default:
      absl::StrAppend(text, character);
  }
}

}  // namespace

std::string EscapeXml(absl::string_view text) {
  std::string escaped;
  while (!text.empty()) {
    const CodePoint next = Decode(text);
    if (next.bytes == 0 || !IsXmlChar(next.value)) {
      absl::StrAppend(&escaped, kReplacement);
      text.remove_prefix(std::max<size_t>(1, next.bytes));
      continue;
    }
    AppendEscaped(text.substr(0, next.bytes), &escaped);
    text.remove_prefix(next.bytes);
  }
  return escaped;
}

size_t CountCharacters(absl::string_view text) {
  size_t characters = 0;
  for (size_t i = 0; i < text.size(); ++characters) {
    i += std::max<size_t>(1, Decode(text.substr(i)).bytes);
  }
  return characters;
}

std::string Shorten(absl::string_view text, size_t most) {
  size_t characters = 0;
  size_t cut = 0;  // Bytes of the first `most` - 1 characters.
  for (size_t i = 0; i < text.size(); ++characters) {
    if (characters + 1 == most) cut = i;
    i += std::max<size_t>(1, Decode(text.substr(i)).bytes);
  }
  if (characters <= most) return std::string(text);
  return absl::StrCat(text.substr(0, cut), "…");
}

}  // namespace sortition
