#pragma once
// Structured log lines on stderr, one JSON object each:
// {"time":"…Z","level":"info","message":"…","key":"value",…}
#include <initializer_list>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace sortition {

enum class LogLevel { kInfo, kWarning, kError };

struct LogField {
  absl::string_view key;
  std::string value;
};

// Thread-safe; one write(2) per line.
void Log(LogLevel level, absl::string_view message,
         std::initializer_list<LogField> fields = {});
inline void LogInfo(absl::string_view message,
                    std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kInfo, message, fields);
}
inline void LogWarning(absl::string_view message,
                       std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kWarning, message, fields);
}
inline void LogError(absl::string_view message,
                     std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kError, message, fields);
}

}  // namespace sortition
