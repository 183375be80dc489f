#pragma once
// Numbers from text, exactly rounded.
#include <charconv>
#include <cmath>
#include <type_traits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace sortition {

// Parses the whole of `text`. Numbers too small for the type become 0; false
// for those that are too large. Accepts "nan" and "inf".
template <typename Number>
bool ParseNumber(absl::string_view text, Number* value) {
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, *value);
  if (error == std::errc() && rest == end) return true;
  if constexpr (std::is_floating_point_v<Number>) {
    double small = 0;
    if (error == std::errc::result_out_of_range && rest == end &&
        absl::SimpleAtod(text, &small) && std::abs(small) < 1) {
      *value = static_cast<Number>(small);
      return true;
    }
  }
  return false;
}

// Returns `text`, shortened for a message.
inline std::string Shown(absl::string_view text) {
  constexpr size_t kMost = 60;
  return text.size() <= kMost ? std::string(text)
                              : absl::StrCat(text.substr(0, kMost), "…");
}

}  // namespace sortition
