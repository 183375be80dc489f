#pragma once
// Structured log lines on stderr, one JSON object each:
// {"time":"…Z","level":"info","message":"…","key":"value","bytes":571,…}
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "absl/strings/string_view.h"

namespace sortition {

enum class LogLevel { kInfo, kWarning, kError };

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

// Thread-safe; one write(2) per line. Where nobody takes lines from standard
// error, a full pipe, lines are lost after a second; the next one that is
// written says how many ("lines_lost").
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
