#include "io/segments/erased_record.h"

#include <cstdint>

#include "absl/strings/str_cat.h"

namespace sortition {
namespace {

constexpr char kErasedTag = (kErasedField << 3) | 2;  // Length-delimited.
constexpr char kPaddingTag = (log::v1::Erased::kPaddingFieldNumber << 3) | 2;
constexpr size_t kMaxWidth = 5;  // Bytes of the length of a field.

// Appends a length in exactly `width` bytes; longer than needed is valid, too.
void AppendLength(uint64_t value, size_t width, std::string* out) {
  for (size_t i = 0; i < width; ++i) {
    const bool is_last = i + 1 == width;
    out->push_back(static_cast<char>((value & 0x7F) | (is_last ? 0 : 0x80)));
    value >>= 7;
  }
}

// Returns in how many bytes the length of a field can be written so that tag,
// length and contents take `size` bytes; 0: in none.
size_t WidthFor(size_t size) {
  for (size_t width = 1; width <= kMaxWidth && 1 + width <= size; ++width) {
    const uint64_t length = size - 1 - width;
    if (length < (uint64_t{1} << (7 * width))) return width;
  }
  return 0;
}

}  // namespace

absl::StatusOr<std::string> MakeErasedPayload(const log::v1::Erased& kept,
                                              size_t size) {
  const std::string fields = kept.SerializeAsString();
  // With one byte more for the length, one byte less is to be filled.
  const size_t least = WidthFor(size);
  for (size_t width = least; least > 0 && width <= least + 1; ++width) {
    if (size < 1 + width + fields.size()) break;
    const size_t length = size - 1 - width;
    const size_t rest = length - fields.size();
    const size_t rest_width = WidthFor(rest);
    if (rest > 0 && rest_width == 0) continue;
    std::string payload(1, kErasedTag);
    AppendLength(length, width, &payload);
    payload += fields;
    if (rest == 0) return payload;
    payload.push_back(kPaddingTag);
    AppendLength(rest - 1 - rest_width, rest_width, &payload);
    payload.resize(size, '\0');
    return payload;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("a record of ", size, " bytes has no room for the ",
                   fields.size(), " bytes that stay when it is erased"));
}

bool IsErasedPayload(absl::string_view payload) {
  return !payload.empty() && payload[0] == kErasedTag;
}

}  // namespace sortition
