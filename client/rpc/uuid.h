#pragma once
// Makes identifiers for requests that have none.
#include <string>

namespace sortition {

// Returns a time-ordered UUID, version 7 [RFC 9562, sec. 5.7], in its
// 36-character text form. Thread-safe.
std::string MakeUuidV7();

}  // namespace sortition
