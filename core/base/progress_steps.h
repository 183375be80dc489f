#pragma once
// Progress as an argument: core shows nothing.
#include <cstdint>
#include <functional>

#include "absl/strings/string_view.h"

namespace sortition {

// Counts the steps that are done. Thread-safe. The job ends when the last copy
// is destroyed.
using ReportSteps = std::function<void(uint64_t done)>;

// Begins a job of `total` steps; `unit` says what they are ("epochs").
using StartProgress = std::function<ReportSteps(
    absl::string_view task, absl::string_view unit, uint64_t total)>;

inline ReportSteps NoProgress(absl::string_view, absl::string_view, uint64_t) {
  return [](uint64_t) {};
}

}  // namespace sortition
