#include "process/recent_warnings.h"

#include <deque>
#include <mutex>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/shorten_text.h"

namespace sortition {
namespace {

std::string ToText(const std::string& text) { return text; }
std::string ToText(bool value) { return value ? "true" : "false"; }
template <typename Number>
std::string ToText(Number value) {
  return absl::StrCat(value);
}

struct Kept {
  std::mutex mutex;
  std::deque<RecentWarning> warnings;  // Latest first; guarded by `mutex`.
};

Kept& TheKept() {
  // Never destroyed: threads may log to the very end.
  static auto* const kept = new Kept;
  return *kept;
}

}  // namespace

std::vector<RecentWarning> RecentWarnings() {
  Kept& kept = TheKept();
  const std::lock_guard lock(kept.mutex);
  return {kept.warnings.begin(), kept.warnings.end()};
}

namespace internal {

void KeepWarning(absl::string_view level, absl::string_view message,
                 std::initializer_list<LogField> fields) {
  RecentWarning warning;
  warning.time_us = absl::ToUnixMicros(absl::Now());
  warning.level = std::string(level);
  warning.message = ShortenText(message, kKeptBytes);
  for (const LogField& field : fields) {
    if (warning.details.size() > kKeptBytes) break;
    absl::StrAppend(&warning.details, warning.details.empty() ? "" : " ",
                    field.key, "=",
                    std::visit([](const auto& value) { return ToText(value); },
                               field.value.value()));
  }
  warning.details = ShortenText(warning.details, kKeptBytes);
  Kept& kept = TheKept();
  const std::lock_guard lock(kept.mutex);
  kept.warnings.push_front(std::move(warning));
  if (kept.warnings.size() > kKeptWarnings) kept.warnings.pop_back();
}

}  // namespace internal
}  // namespace sortition
