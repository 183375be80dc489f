#pragma once
// Progress as an argument: core shows nothing.
#include <cstdint>
#include <functional>

#include "absl/strings/string_view.h"

namespace sortition {

// Counts steps that are done. Thread-safe; the last copy that is destroyed ends
// the job.
using ReportSteps = std::function<void(uint64_t done)>;

// Begins a job of `total` steps; `unit` is what they are ("epochs").
using StartProgress = std::function<ReportSteps(
    absl::string_view task, absl::string_view unit, uint64_t total)>;

inline ReportSteps NoProgress(absl::string_view, absl::string_view, uint64_t) {
  return [](uint64_t) {};
}

}  // namespace sortition
