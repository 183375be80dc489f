#pragma once
#include <cstdlib>
#include <cstring>

namespace sortition {

// Returns how long to wait for what takes at most `seconds` in an optimised
// build: under a sanitizer, several times as long.
inline double Patience(double seconds) {
  const char* const factor = std::getenv("SORTITION_PATIENCE");
  return factor == nullptr ? seconds : seconds * std::atof(factor);
}

// Returns true where tests may take minutes: `./dev test --long`.
inline bool IsLongRun() {
  const char* const value = std::getenv("SORTITION_LONG");
  return value != nullptr && std::strcmp(value, "1") == 0;
}

}  // namespace sortition
