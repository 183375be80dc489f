#pragma once
// Text of users as it may stand in XML.
#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace sortition {

// Replaces & < > " ' by entities, and what XML 1.0 forbids (control characters,
// bytes that are no UTF-8) by U+FFFD.
std::string EscapeXml(absl::string_view text);

// Returns the number of code points; a byte that is no UTF-8 counts as one.
size_t CountCharacters(absl::string_view text);

// Cuts the text to at most `most` characters (code points), of which the last
// is an ellipsis where something was cut.
std::string Shorten(absl::string_view text, size_t most);

}  // namespace sortition
