#pragma once
// Salts of draws (Manifest.draw_salt): who does not know that of a version
// cannot tell beforehand what a decision id or a seed draws from it.
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sortition {

// Returns 32 random hexadecimal digits.
std::string RandomDrawSalt();

// InvalidArgument unless the salt is empty or has 32 hexadecimal digits, those
// above 9 in lower case.
absl::Status ValidateDrawSalt(absl::string_view salt);

}  // namespace sortition
