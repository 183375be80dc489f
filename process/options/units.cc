#include "process/options/units.h"

#include <cmath>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sortition {
namespace {

struct SizeUnit {
  absl::string_view name;
  uint64_t bytes;
};

// Of one size, the first that fits is written.
constexpr SizeUnit kSizeUnits[] = {{"TiB", uint64_t{1} << 40},
                                   {"GiB", uint64_t{1} << 30},
                                   {"MiB", uint64_t{1} << 20},
                                   {"KiB", uint64_t{1} << 10},
                                   {"TB", 1000000000000},
                                   {"GB", 1000000000},
                                   {"MB", 1000000},
                                   {"kB", 1000},
                                   {"KB", 1000},
                                   {"B", 1},
                                   {"", 1}};

struct DurationUnit {
  absl::string_view name;
  double seconds;
};

constexpr DurationUnit kDurationUnits[] = {
    {"d", 86400}, {"h", 3600}, {"m", 60}, {"s", 1}, {"", 1}};

// Splits "1.5h" into "1.5" and "h". The "e" of 1e9 is part of the number.
absl::string_view NumberOf(absl::string_view text) {
  const size_t last = text.find_last_of("0123456789.");
  return text.substr(0, last == text.npos ? 0 : last + 1);
}

// Not "inf", "nan" or hexadecimal, which the library would take.
bool ParseNumber(absl::string_view text, double* value) {
  return !text.empty() &&
         text.find_first_not_of("0123456789.eE+-") == text.npos &&
         absl::SimpleAtod(text, value) && std::isfinite(*value);
}

absl::Status BadForm(const char* forms) {
  return absl::InvalidArgumentError(absl::StrCat("must be ", forms));
}

}  // namespace

const char kSizeForms[] =
    "a whole number of bytes, as in 571, 64MiB or 1.5GB (kB, MB, GB, TB: "
    "powers of 1000; KiB, MiB, GiB, TiB: powers of 1024)";
const char kDurationForms[] =
    "a number of seconds, or with a unit, as in 0.25, 250ms, 10s, 5m, 1.5h or "
    "7d";

absl::StatusOr<uint64_t> ParseBytes(absl::string_view text) {
  const absl::string_view number = NumberOf(text);
  const absl::string_view name = text.substr(number.size());
  for (const SizeUnit& unit : kSizeUnits) {
    if (unit.name != name) continue;
    uint64_t count;
    if (absl::SimpleAtoi(number, &count)) {
      if (count > std::numeric_limits<uint64_t>::max() / unit.bytes) break;
      return count * unit.bytes;
    }
    double value;
    if (!ParseNumber(number, &value)) break;
    value *= static_cast<double>(unit.bytes);
    // From here on not every whole number is a double.
    constexpr double kInexact = 9007199254740992.0;
    if (value < 0 || value >= kInexact || value != std::floor(value)) break;
    return static_cast<uint64_t>(value);
  }
  return BadForm(kSizeForms);
}

absl::StatusOr<double> ParseSeconds(absl::string_view text) {
  const absl::string_view number = NumberOf(text);
  const absl::string_view name = text.substr(number.size());
  double value;
  if (!ParseNumber(number, &value)) return BadForm(kDurationForms);
  if (name == "ms") return value / 1000;
  for (const DurationUnit& unit : kDurationUnits) {
    if (unit.name == name && std::isfinite(value * unit.seconds)) {
      return value * unit.seconds;
    }
  }
  return BadForm(kDurationForms);
}

std::string BytesText(uint64_t bytes) {
  for (const SizeUnit& unit : kSizeUnits) {
    if (unit.bytes > 1 && bytes >= unit.bytes && bytes % unit.bytes == 0) {
      return absl::StrCat(bytes / unit.bytes, unit.name);
    }
  }
  return absl::StrCat(bytes);
}

std::string SecondsText(double seconds) {
  for (const DurationUnit& unit : kDurationUnits) {
    const double count = seconds / unit.seconds;
    if (count >= 1 && count < 1e6 && count == std::floor(count)) {
      return absl::StrFormat("%.0f%s", count, unit.name);
    }
  }
  const double milliseconds = std::round(seconds * 1000);
  if (milliseconds >= 1 && milliseconds < 1000 &&
      milliseconds / 1000 == seconds) {
    return absl::StrFormat("%.0fms", milliseconds);
  }
  return absl::StrFormat("%.15gs", seconds);
}

}  // namespace sortition
