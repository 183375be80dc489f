#include "server/http/json/json_numbers.h"

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"

namespace sortition {
namespace {

// Takes the digits that `text` begins with away; false: there are none.
bool TakeDigits(absl::string_view* text) {
  const size_t before = text->size();
  while (!text->empty() && absl::ascii_isdigit(text->front())) {
    text->remove_prefix(1);
  }
  return text->size() < before;
}

}  // namespace

bool IsNumberText(absl::string_view text) {
  if (text == "NaN" || text == "Infinity" || text == "-Infinity") return true;
  absl::ConsumePrefix(&text, "-");
  if (!TakeDigits(&text)) return false;
  if (absl::ConsumePrefix(&text, ".") && !TakeDigits(&text)) return false;
  if (absl::ConsumePrefix(&text, "e") || absl::ConsumePrefix(&text, "E")) {
    if (!absl::ConsumePrefix(&text, "-")) absl::ConsumePrefix(&text, "+");
    if (!TakeDigits(&text)) return false;
  }
  return text.empty();
}

std::optional<double> ToDouble(const JsonValue& json) {
  if (json.IsNumber()) return json.GetDouble();
  double value = 0;
  if (!json.IsString() || !IsNumberText(TextOf(json)) ||
      !absl::SimpleAtod(TextOf(json), &value)) {
    return std::nullopt;
  }
  const bool is_finite = std::isfinite(value);
  // A text that is too large is not infinite.
  if (!is_finite && absl::ascii_isdigit(TextOf(json).back())) {
    return std::nullopt;
  }
  return value;
}

std::optional<float> ToFloat(const JsonValue& json) {
  const std::optional<double> value = ToDouble(json);
  if (!value.has_value() ||
      (std::isfinite(*value) &&
       std::abs(*value) > std::numeric_limits<float>::max())) {
    return std::nullopt;
  }
  return static_cast<float>(*value);
}

}  // namespace sortition
