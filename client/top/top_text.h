#pragma once
// A look at server and sidecar as text for a terminal.
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/top/status_source.h"

namespace sortition {

inline constexpr size_t kTopColumns = 80;

// Returns `text` in at most `width` columns: what is not printable ASCII as
// '?', and a '~' at its end where something was cut off.
std::string Cell(absl::string_view text, size_t width);

// Returns the lines, without line ends, of printable ASCII: at most `columns`
// characters, and never more than kTopColumns. With `colours`, escape sequences
// stand around whole lines.
std::vector<std::string> TopLines(const TopView& view, bool colours,
                                  size_t columns = kTopColumns);

}  // namespace sortition
