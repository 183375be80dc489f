#pragma once
// Identifiers for requests that bring none.
#include <string>

namespace sortition {

// A time-ordered UUID, version 7 [RFC 9562, sec. 5.7], in its 36-character
// text form. Thread-safe.
std::string MakeUuidV7();

}  // namespace sortition
