#pragma once
// Threads for core, which starts none, and threads that make way for others.
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "core/base/parallel.h"

namespace sortition {

// Returns a loop that runs on up to `num_threads` threads, the caller's among
// them.
ParallelFor OnThreads(uint32_t num_threads);

// Gives the calling thread a low priority, for good: it makes way for the
// threads that answer requests.
void YieldToOtherThreads();

// Runs `work` on a thread of low priority, and waits for it.
void RunInBackground(absl::FunctionRef<void()> work);

}  // namespace sortition
