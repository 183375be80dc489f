#pragma once
// Sizes and durations as people write them: 64MiB, 1.5h.
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sortition {

// The forms that ParseBytes() and ParseSeconds() take, for help and messages.
extern const char kSizeForms[];
extern const char kDurationForms[];

// Returns bytes: a number, with B, kB, KB, MB, GB, TB (powers of 1,000), KiB,
// MiB, GiB or TiB (powers of 1,024) behind it, or nothing. InvalidArgument
// unless that is a whole number below 2^64, and below 2^53 if the number has a
// fraction.
absl::StatusOr<uint64_t> ParseBytes(absl::string_view text);

// Returns seconds: a number, with ms, s, m (60 s), h or d behind it, or
// nothing. InvalidArgument otherwise, and where it is not finite.
absl::StatusOr<double> ParseSeconds(absl::string_view text);

// Returns text that ParseBytes() reads back exactly, in the largest unit of
// which it is a whole number: "1GiB", "1500MB", "571".
std::string BytesText(uint64_t bytes);

// Returns text that ParseSeconds() reads back exactly: "10m", "250ms", "1.5s".
std::string SecondsText(double seconds);

}  // namespace sortition
