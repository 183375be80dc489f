#pragma once
// Structured log lines on stderr, one JSON object each:
// {"time":"…Z","level":"info","message":"…","key":"value","bytes":571,…}
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "absl/strings/string_view.h"

namespace sortition {

enum class LogLevel { kInfo, kWarning, kError };

inline constexpr size_t kMaxQueuedLogBytes = 1 << 20;
inline constexpr size_t kMaxLogTextBytes = 2048;
inline constexpr size_t kMaxLogLineBytes = 16 << 10;
inline constexpr double kLogExitSeconds = 1;

// Lines that are less severe than `level` are not written from now on. At first
// all are.
void SetLogLevel(LogLevel level);

// Waits until all lines that were queued before are written. Returns false if
// that takes longer than `seconds`.
bool FlushLog(double seconds);

// Returns the number of lines that this process has dropped.
uint64_t NumLogLinesDropped();

// The value of a field: text, or a number or truth value, which JSON writes
// without quotes. A number that is not finite becomes null.
class LogValue {
 public:
  // NOLINTBEGIN(google-explicit-constructor): made where a field is written.
  LogValue(std::string text) : value_(std::move(text)) {}
  LogValue(absl::string_view text) : value_(std::string(text)) {}
  LogValue(const char* text) : value_(std::string(text)) {}
  LogValue(bool value) : value_(value) {}
  template <std::floating_point Number>
  LogValue(Number value) : value_(static_cast<double>(value)) {}
  template <std::integral Number>
  LogValue(Number value)
      : value_(std::conditional_t<std::is_signed_v<Number>, int64_t, uint64_t>{
            value}) {}
  // NOLINTEND(google-explicit-constructor)

  using Variant = std::variant<std::string, bool, double, int64_t, uint64_t>;
  const Variant& value() const { return value_; }

 private:
  Variant value_;
};

struct LogField {
  absl::string_view key;
  LogValue value;
};

// Queues a line, which a thread of its own writes with one write(2). Never
// waits for standard error: if its reader has stopped, lines queue up to
// kMaxQueuedLogBytes, and further lines are dropped. Once there is a reader
// again, a line says how many were ("lines_lost"). Texts longer than
// kMaxLogTextBytes are cut and end with " ..."; fields beyond
// kMaxLogLineBytes are left out ("fields_left_out"). Lines that were queued are
// written before the program exits, unless that takes longer than
// kLogExitSeconds. Thread-safe.
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
