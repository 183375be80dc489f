#pragma once
// Numbers from JSON: from numbers, and from texts that are one.
#include <cmath>
#include <limits>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "server/http/json/json_tree.h"

namespace sortition {

// Returns whether `text` could stand in JSON as a number, or is one of the
// three that could not: NaN, Infinity and -Infinity.
bool IsNumberText(absl::string_view text);

// Returns a number, or the number that a text is; nullopt: it is none.
std::optional<double> ToDouble(const JsonValue& json);

// Returns the number as a float; nullopt also if a float cannot hold it.
std::optional<float> ToFloat(const JsonValue& json);

// Returns a whole number, or the whole number that a text is, if it is in the
// range of `Integer`. 1.0 and 1e3 are whole numbers.
template <typename Integer>
std::optional<Integer> ToInteger(const JsonValue& json) {
  constexpr double kEnd = 9007199254740992.0;  // Doubles below have units.
  Integer value = 0;
  if (IsInteger(json)) {
    const bool fits = absl::SimpleAtoi(IntegerText(json), &value);
    return fits ? std::optional(value) : std::nullopt;
  }
  if (json.IsString() && IsNumberText(TextOf(json)) &&
      absl::SimpleAtoi(TextOf(json), &value)) {
    return value;
  }
  const std::optional<double> number = ToDouble(json);
  if (!number.has_value() || *number != std::floor(*number) ||
      std::abs(*number) >= kEnd ||
      *number < static_cast<double>(std::numeric_limits<Integer>::min()) ||
      *number > static_cast<double>(std::numeric_limits<Integer>::max())) {
    return std::nullopt;
  }
  return static_cast<Integer>(*number);
}

}  // namespace sortition
