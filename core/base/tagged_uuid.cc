#include "core/base/tagged_uuid.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "core/base/bytes.h"
#include "core/base/hash.h"

namespace sortition {
namespace {

constexpr absl::string_view kShape = "xxxxxxxx-xxxx-7xxx-xxxx-xxxxxxxxxxxx";
constexpr uint64_t kTimeMask = (uint64_t{1} << 48) - 1;
constexpr uint64_t kTagMask = (uint64_t{1} << 24) - 1;
constexpr uint64_t kSerialMask = (uint64_t{1} << kUuidSerialBits) - 1;
constexpr uint64_t kCheckMask = 0xFFF;
constexpr uint64_t kVariant = uint64_t{2} << 62;

// Keep the hashes apart from each other and from those of others.
constexpr uint64_t kCoverDomain = 0x736f7274636f7672;
constexpr uint64_t kCheckDomain = 0x736f72746368656b;

uint64_t HashOf(uint64_t domain, uint64_t milliseconds, uint64_t bits) {
  const std::array<uint64_t, 3> input = {domain, milliseconds, bits};
  return HashBytes(BytesOf(input)).low;
}

uint64_t TagCover(uint64_t milliseconds, uint64_t serial) {
  return HashOf(kCoverDomain, milliseconds, serial) & kTagMask;
}

uint64_t CheckOf(uint64_t milliseconds, uint64_t low) {
  return HashOf(kCheckDomain, milliseconds, low) & kCheckMask;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Returns the 128 bits of a UUID; nothing if the text is none.
std::optional<std::array<uint64_t, 2>> ParseUuid(absl::string_view text) {
  if (text.size() != kShape.size()) return std::nullopt;
  std::array<uint64_t, 2> bits = {};
  size_t digit = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (kShape[i] == '-') {
      if (text[i] != '-') return std::nullopt;
      continue;
    }
    const int value = HexDigit(text[i]);
    if (value < 0) return std::nullopt;
    uint64_t& word = bits[digit / 16];
    word = word << 4 | static_cast<uint64_t>(value);
    ++digit;
  }
  return bits;
}

}  // namespace

uint32_t WriterTag(absl::string_view writer_id) {
  return static_cast<uint32_t>(
      HashBytes(absl::StrCat("writer ", writer_id)).low & kTagMask);
}

std::string MakeTaggedUuid(int64_t time_us, uint64_t serial,
                           uint32_t writer_tag) {
  const uint64_t milliseconds =
      static_cast<uint64_t>(time_us / 1000) & kTimeMask;
  serial &= kSerialMask;
  const uint64_t tag = (writer_tag & kTagMask) ^ TagCover(milliseconds, serial);
  const uint64_t low = kVariant | tag << kUuidSerialBits | serial;
  // unix_ts_ms (48 bits), version 7, rand_a (12); variant 0b10, rand_b (62).
  const std::array<uint64_t, 2> bits = {
      milliseconds << 16 | 0x7000 | CheckOf(milliseconds, low), low};
  constexpr char kDigits[] = "0123456789abcdef";
  std::string id(kShape.data(), kShape.size());
  size_t digit = 0;
  for (char& c : id) {
    if (c == '-') continue;
    c = kDigits[bits[digit / 16] >> (60 - 4 * (digit % 16)) & 0xF];
    ++digit;
  }
  return id;
}

std::optional<UuidV7> ParseUuidV7(absl::string_view text) {
  const auto bits = ParseUuid(text);
  if (!bits.has_value()) return std::nullopt;
  const auto [high, low] = *bits;
  if ((high >> 12 & 0xF) != 7 || low >> 62 != kVariant >> 62) {
    return std::nullopt;
  }
  const uint64_t milliseconds = high >> 16;
  UuidV7 uuid;
  uuid.time_us = static_cast<int64_t>(milliseconds) * 1000;
  if ((high & kCheckMask) == CheckOf(milliseconds, low)) {
    const uint64_t cover = TagCover(milliseconds, low & kSerialMask);
    uuid.writer_tag =
        static_cast<uint32_t>((low >> kUuidSerialBits & kTagMask) ^ cover);
  }
  return uuid;
}

}  // namespace sortition
