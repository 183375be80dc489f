#pragma once
// How a page looks on screens and on paper.
#include "absl/strings/string_view.h"

namespace sortition {

// A style sheet that loads nothing. It holds none of & < > as text of XML.
absl::string_view PageStyle();

}  // namespace sortition
