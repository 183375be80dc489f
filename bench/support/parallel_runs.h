#pragma once
// Runs independent parts of an experiment, several at once.
#include <cstddef>
#include <functional>

#include "absl/status/status.h"

namespace sortition {

// Calls run(0) .. run(count - 1) on up to `num_threads` threads. Returns the
// error of the first run that failed, by its number.
absl::Status RunInParallel(size_t count, int num_threads,
                           const std::function<absl::Status(size_t)>& run);

}  // namespace sortition
