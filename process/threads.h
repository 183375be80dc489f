#pragma once
// Threads for core, which starts none.
#include <cstdint>

#include "core/base/parallel.h"

namespace sortition {

// Returns a loop that runs on up to `num_threads` threads, the caller's among
// them.
ParallelFor OnThreads(uint32_t num_threads);

}  // namespace sortition
