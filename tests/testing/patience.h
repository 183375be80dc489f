#pragma once
#include <cstdlib>

namespace sortition {

// Returns how long to wait for what takes at most `seconds` in an optimised
// build: under a sanitizer, several times as long.
inline double Patience(double seconds) {
  const char* const factor = std::getenv("SORTITION_PATIENCE");
  return factor == nullptr ? seconds : seconds * std::atof(factor);
}

}  // namespace sortition
