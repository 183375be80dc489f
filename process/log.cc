#include "process/log.h"

#include <unistd.h>

#include <variant>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "process/json_writer.h"

namespace sortition {
namespace {

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

void WriteValue(const std::string& text, JsonWriter* json) {
  json->String(text);
}
void WriteValue(bool value, JsonWriter* json) { json->Bool(value); }
void WriteValue(double value, JsonWriter* json) { json->Number(value); }
void WriteValue(int64_t value, JsonWriter* json) { json->Signed(value); }
void WriteValue(uint64_t value, JsonWriter* json) { json->Count(value); }

}  // namespace

void Log(LogLevel level, absl::string_view message,
         std::initializer_list<LogField> fields) {
  JsonWriter json;
  json.BeginObject();
  json.Key("time").String(absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", absl::Now(),
                                           absl::UTCTimeZone()));
  json.Key("level").String(LevelName(level)).Key("message").String(message);
  for (const LogField& field : fields) {
    json.Key(field.key);
    std::visit([&json](const auto& value) { WriteValue(value, &json); },
               field.value.value());
  }
  const std::string line = json.EndObject().text() + "\n";
  // One call, so that lines of several threads and processes do not mix. When
  // standard error itself is gone, there is nobody left to tell.
  [[maybe_unused]] const ssize_t written =
      ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace sortition
