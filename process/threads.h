#pragma once
// Threads for core, which starts none.
#include <cstdint>

#include "core/base/parallel.h"

namespace sortition {

// On up to `num_threads` threads, the caller's among them; at least 1.
ParallelFor OnThreads(uint32_t num_threads);

}  // namespace sortition
