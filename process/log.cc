#include "process/log.h"

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <string>
#include <utility>
#include <variant>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/shorten_text.h"
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
  json->String(ShortenText(text, kMaxLogTextBytes));
}
void WriteValue(bool value, JsonWriter* json) { json->Bool(value); }
void WriteValue(double value, JsonWriter* json) { json->Number(value); }
void WriteValue(int64_t value, JsonWriter* json) { json->Signed(value); }
void WriteValue(uint64_t value, JsonWriter* json) { json->Count(value); }

std::string LineOf(LogLevel level, absl::string_view message,
                   std::initializer_list<LogField> fields) {
  JsonWriter json;
  json.BeginObject();
  json.Key("time").String(absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", absl::Now(),
                                           absl::UTCTimeZone()));
  json.Key("level").String(LevelName(level));
  json.Key("message").String(ShortenText(message, kMaxLogTextBytes));
  uint64_t num_left_out = 0;
  for (const LogField& field : fields) {
    if (json.size() > kMaxLogLineBytes) {
      ++num_left_out;
      continue;
    }
    json.Key(field.key);
    std::visit([&json](const auto& value) { WriteValue(value, &json); },
               field.value.value());
  }
  if (num_left_out > 0) json.Key("fields_left_out").Count(num_left_out);
  return json.EndObject().text() + "\n";
}

std::string DroppedLine(uint64_t count) {
  return LineOf(LogLevel::kWarning, "log lines dropped",
                {{"lines_lost", count}});
}

// Writes a line, waiting for standard error as long as it takes. If standard
// error itself is gone, the line is lost.
void WriteToStandardError(absl::string_view line) {
  while (!line.empty()) {
    // One call for a line, so that lines of several processes do not mix.
    const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
    if (written >= 0) {
      line.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd standard_error = {STDERR_FILENO, POLLOUT, 0};
      ::poll(&standard_error, 1, -1);
    } else if (errno != EINTR) {
      return;
    }
  }
}

// The lines that wait for their thread. Its thread starts with the first line
// and runs until the process ends.
class LogQueue {
 public:
  void Add(std::string line) {
    const std::lock_guard lock(mutex_);
    if (bytes_ + line.size() > kMaxQueuedLogBytes) {
      ++num_dropped_;
      ++num_unreported_;
      return;
    }
    // Lines are dropped while others are queued, and belong behind these.
    if (num_unreported_ > 0) {
      line = DroppedLine(std::exchange(num_unreported_, 0)) + line;
    }
    bytes_ += line.size();
    lines_.push_back(std::move(line));
    ++num_added_;
    if (!has_thread_) has_thread_ = StartThread();
    changed_.notify_all();
  }

  bool Flush(double seconds) {
    std::unique_lock lock(mutex_);
    const uint64_t goal = num_added_ + (num_unreported_ > 0 ? 1 : 0);
    return changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                             [&] { return num_written_ >= goal; });
  }

  uint64_t num_dropped() {
    const std::lock_guard lock(mutex_);
    return num_dropped_;
  }

  std::mutex* mutex() { return &mutex_; }

 private:
  // Returns false if the system has no thread left; the next line tries again.
  // The thread takes no signals: those that end the program are waited for
  // elsewhere, and SIGPIPE must not end it.
  bool StartThread() {
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    const auto run = [](void* queue) -> void* {
      static_cast<LogQueue*>(queue)->Run();
      return nullptr;
    };
    const bool is_started = ::pthread_create(&thread, nullptr, run, this) == 0;
    if (is_started) ::pthread_detach(thread);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return is_started;
  }

  void Run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return !lines_.empty(); });
      const std::string line = std::move(lines_.front());
      lines_.pop_front();
      lock.unlock();
      WriteToStandardError(line);
      lock.lock();
      // Only now is there room for others: the line was in memory.
      bytes_ -= line.size();
      ++num_written_;
      if (lines_.empty() && num_unreported_ > 0) {
        lines_.push_back(DroppedLine(std::exchange(num_unreported_, 0)));
        bytes_ += lines_.back().size();
        ++num_added_;
      }
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  // All guarded by `mutex_`.
  std::condition_variable changed_;
  std::deque<std::string> lines_;
  size_t bytes_ = 0;
  uint64_t num_added_ = 0;
  uint64_t num_written_ = 0;
  uint64_t num_dropped_ = 0;
  uint64_t num_unreported_ = 0;  // Dropped, and no line says so yet.
  bool has_thread_ = false;
};

// Never destroyed: threads may log to the very end. A child of fork() has no
// thread that writes, so it gets a queue of its own.
std::atomic<LogQueue*> the_queue{nullptr};

LogQueue& TheQueue() {
  [[maybe_unused]] static const bool is_set_up = [] {
    the_queue = new LogQueue;
    ::pthread_atfork([] { the_queue.load()->mutex()->lock(); },
                     [] { the_queue.load()->mutex()->unlock(); },
                     [] { the_queue = new LogQueue; });
    std::atexit([] { FlushLog(kLogExitSeconds); });
    return true;
  }();
  return *the_queue.load();
}

std::atomic<LogLevel> min_level{LogLevel::kInfo};

}  // namespace

void SetLogLevel(LogLevel level) { min_level = level; }

bool FlushLog(double seconds) { return TheQueue().Flush(seconds); }

uint64_t NumLogLinesDropped() { return TheQueue().num_dropped(); }

void Log(LogLevel level, absl::string_view message,
         std::initializer_list<LogField> fields) {
  if (level != LogLevel::kInfo) {
    internal::KeepWarning(LevelName(level), message, fields);
  }
  if (level < min_level.load(std::memory_order_relaxed)) return;
  TheQueue().Add(LineOf(level, message, fields));
}

}  // namespace sortition
