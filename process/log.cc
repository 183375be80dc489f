#include "process/log.h"

#include <poll.h>
#include <unistd.h>

#include <mutex>
#include <variant>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "process/json_writer.h"
#include "process/recent_warnings.h"

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

// Writes lines to standard error, and does not wait for whoever should read
// them but does not: a server serves on.
class LineWriter {
 public:
  // Writes a line that `make` makes, which is told how many were lost before
  // it; or loses it.
  template <typename Make>
  void Write(const Make& make) {
    const std::lock_guard lock(mutex_);
    if (!IsReady()) {
      ++num_lost_;
      return;
    }
    const std::string line = make(num_lost_);
    // One call, so that lines of several threads and processes do not mix. When
    // standard error itself is gone, there is nobody left to tell.
    [[maybe_unused]] const ssize_t written =
        ::write(STDERR_FILENO, line.data(), line.size());
    num_lost_ = 0;
  }

 private:
  // Whether a line can be written without waiting. The first one that cannot
  // waits for a second, those after it not at all.
  bool IsReady() const {
    pollfd standard_error = {STDERR_FILENO, POLLOUT, 0};
    const int milliseconds = num_lost_ == 0 ? 1000 : 0;
    return ::poll(&standard_error, 1, milliseconds) != 0;
  }

  std::mutex mutex_;
  uint64_t num_lost_ = 0;  // Since the last line that was written.
};

}  // namespace

void Log(LogLevel level, absl::string_view message,
         std::initializer_list<LogField> fields) {
  if (level != LogLevel::kInfo) {
    internal::KeepWarning(LevelName(level), message, fields);
  }
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
  // Never destroyed: threads may log to the very end.
  static auto* const writer = new LineWriter;
  writer->Write([&json](uint64_t num_lost) {
    if (num_lost > 0) json.Key("lines_lost").Count(num_lost);
    return json.EndObject().text() + "\n";
  });
}

}  // namespace sortition
