#pragma once
// UUIDs of version 7 [RFC9562, sec. 5.7] that say who made them.
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace sortition {

inline constexpr int kUuidSerialBits = 38;

// A tag of 24 bits for the writer of a log.
uint32_t WriterTag(absl::string_view writer_id);

// Returns the UUID of this millisecond, serial number (kUuidSerialBits bits)
// and writer. Different arguments give different ids: of its 74 bits that need
// not be time, 38 are the serial number, 24 the tag, xor a hash of time and
// serial number, and 12 a check over all of that.
std::string MakeTaggedUuid(int64_t time_us, uint64_t serial,
                           uint32_t writer_tag);

struct UuidV7 {
  int64_t time_us = 0;
  // Set if MakeTaggedUuid() may have made it: always if it has, and for one in
  // 4,096 random others.
  std::optional<uint32_t> writer_tag;
};

// Returns what a UUID of version 7 says; nothing for other texts.
std::optional<UuidV7> ParseUuidV7(absl::string_view text);

}  // namespace sortition
