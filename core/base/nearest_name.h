#pragma once
// Suggestions for misspelt names.
#include <cstddef>

#include "absl/strings/string_view.h"

namespace sortition {

// Returns the Levenshtein distance: the least number of insertions, deletions
// and replacements of single bytes that turn `a` into `b`.
size_t EditDistance(absl::string_view a, absl::string_view b);

// Returns the largest distance at which a known name counts as what `name` was
// meant to be: a name that must be changed by half is not a misspelling.
size_t MaxMisspelling(absl::string_view name);

}  // namespace sortition
