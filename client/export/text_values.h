#pragma once
// Values as text that reads back as the same value.
#include <charconv>
#include <cmath>
#include <span>
#include <string>
#include <type_traits>

#include "absl/strings/string_view.h"
#include "client/export/shortest_float.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// Appends the fewest digits that read back as the same number.
template <typename Number>
void AppendNumber(Number value, std::string* out) {
  char digits[32];
  const char* end = nullptr;
  if constexpr (std::is_same_v<Number, float>) {
    end = WriteShortest(value, digits);
  } else {
    end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  }
  out->append(digits, static_cast<size_t>(end - digits));
}

// Appends finite numbers with commas between them.
void AppendFloats(std::span<const float> values, std::string* out);

// As JSON: numbers that are not finite become "NaN", "Infinity" or "-Infinity",
// as protobuf writes them.
template <typename Number>
void AppendJsonNumber(Number value, std::string* out) {
  if constexpr (std::is_floating_point_v<Number>) {
    if (!std::isfinite(value)) {
      out->append(std::isnan(value) ? "\"NaN\""
                  : value > 0       ? "\"Infinity\""
                                    : "\"-Infinity\"");
      return;
    }
  }
  AppendNumber(value, out);
}

// With its quotes.
void AppendJsonString(absl::string_view text, std::string* out);

// As a JSON object, by ascending names.
void AppendAttributes(const log::v1::Decision& decision, std::string* out);

// As RFC 4180 asks: quoted where it holds a comma, a quote or a line break.
void AppendCsvField(absl::string_view text, std::string* out);

// "2026-01-31T09:30:00.000001Z"
void AppendTimestamp(int64_t time_us, std::string* out);

}  // namespace sortition
