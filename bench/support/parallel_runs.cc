#include "bench/support/parallel_runs.h"

#include <cstdint>
#include <vector>

#include "core/base/status_macros.h"
#include "process/threads.h"

namespace sortition {

absl::Status RunInParallel(size_t count, int num_threads,
                           const std::function<absl::Status(size_t)>& run) {
  std::vector<absl::Status> statuses(count);
  OnThreads(static_cast<uint32_t>(num_threads))(
      count, [&](size_t i) { statuses[i] = run(i); });
  for (const absl::Status& status : statuses) RETURN_IF_ERROR(status);
  return absl::OkStatus();
}

}  // namespace sortition
