#pragma once
// The last lines of level warning and error that this process has logged, for
// those who look at it and not at its standard error.
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "process/log.h"

namespace sortition {

struct RecentWarning {
  int64_t time_us = 0;  // Since the epoch.
  std::string level;    // "warning" or "error"
  std::string message;
  std::string details;  // The fields, as "key=value key=value".
};

inline constexpr size_t kKeptWarnings = 50;
// Bytes of a message, and of its details, that are kept.
inline constexpr size_t kKeptBytes = 1000;

// Returns them, the latest first. Thread-safe.
std::vector<RecentWarning> RecentWarnings();

namespace internal {

// Log() calls it for lines of these levels.
void KeepWarning(absl::string_view level, absl::string_view message,
                 std::initializer_list<LogField> fields);

}  // namespace internal
}  // namespace sortition
