#pragma once
// Counts allocations. A program that links it has its operator new replaced.
#include <cstdint>

namespace sortition {

// Calls of operator new in this program so far, of all threads.
int64_t NumAllocations();

}  // namespace sortition
