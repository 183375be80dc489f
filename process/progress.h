#pragma once
// Shows the progress of a long job on stderr: one line that is rewritten on a
// terminal, a plain line every few seconds elsewhere.
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

#include "absl/strings/string_view.h"
#include "core/base/progress_steps.h"

namespace sortition {

// Thread-safe.
class Progress {
 public:
  // `unit` is what `total` counts ("MB", "epochs").
  Progress(absl::string_view task, absl::string_view unit, uint64_t total);
  ~Progress();  // Calls Finish().

  void Add(uint64_t done);
  // Prints the last line: what was done, and in what time.
  void Finish();

 private:
  std::string Line(double seconds) const;

  const std::string task_;
  const std::string unit_;
  const uint64_t total_;
  const bool terminal_;
  const std::chrono::steady_clock::time_point start_;
  std::mutex mutex_;
  uint64_t done_ = 0;
  double last_shown_ = 0;  // Seconds since the start.
  bool finished_ = false;
};

// Shows the progress of core's jobs, as Progress does.
ReportSteps ShowProgress(absl::string_view task, absl::string_view unit,
                         uint64_t total);

}  // namespace sortition
