#include "process/log.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace sortition {
namespace {

void AppendJsonString(absl::string_view text, std::string* line) {
  line->push_back('"');
  for (const char c : text) {
    switch (c) {
      case '"':
        line->append("\\\"");
        break;
      case '\\':
        line->append("\\\\");
        break;
      case '\n':
        line->append("\\n");
        break;
      case '\t':
        line->append("\\t");
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          absl::StrAppendFormat(line, "\\u%04x", static_cast<unsigned char>(c));
        } else {
          line->push_back(c);
        }
    }
  }
  line->push_back('"');
}

absl::string_view LevelName(LogLevel level) {
  switch (level) {
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  return "error";
}

}  // namespace

void Log(LogLevel level, absl::string_view message,
         std::initializer_list<LogField> fields) {
  std::string line =
      absl::StrCat("{\"time\":\"",
                   absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", absl::Now(),
                                    absl::UTCTimeZone()),
                   "\",\"level\":\"", LevelName(level), "\",\"message\":");
  AppendJsonString(message, &line);
  for (const LogField& field : fields) {
    line.push_back(',');
    AppendJsonString(field.key, &line);
    line.push_back(':');
    AppendJsonString(field.value, &line);
  }
  line.append("}\n");
  // One call, so that lines of several threads and processes do not mix. There
  // is nobody to tell when standard error itself is gone.
  [[maybe_unused]] const ssize_t written =
      ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace sortition
