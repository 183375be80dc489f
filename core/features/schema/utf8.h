#pragma once
// Whether bytes are UTF-8.
#include <cstddef>

#include "absl/strings/string_view.h"

namespace sortition {

// Returns the place of the first byte that does not belong to well-formed
// UTF-8 (Unicode 15, table 3-7: no overlong forms, no surrogates, nothing above
// U+10FFFF), or npos if all do.
size_t FindNotUtf8(absl::string_view bytes);

}  // namespace sortition
