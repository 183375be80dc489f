#include "process/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sortition {
namespace {

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

}  // namespace

Progress::Progress(absl::string_view task, absl::string_view unit,
                   uint64_t total)
    : task_(task),
      unit_(unit),
      total_(total),
      terminal_(isatty(STDERR_FILENO) != 0),
      start_(std::chrono::steady_clock::now()) {}

Progress::~Progress() { Finish(); }

std::string Progress::Line(double seconds) const {
  const double rate = seconds > 0 ? static_cast<double>(done_) / seconds : 0;
  std::string line = absl::StrFormat("%s: %d of %d %s, %.1f/s", task_, done_,
                                     total_, unit_, rate);
  if (rate > 0 && done_ < total_) {
    absl::StrAppendFormat(&line, ", %.0f s left",
                          static_cast<double>(total_ - done_) / rate);
  }
  return line;
}

void Progress::Add(uint64_t done) {
  const std::lock_guard lock(mutex_);
  done_ = std::min(done_ + done, total_);
  const double seconds = SecondsSince(start_);
  const double interval = terminal_ ? 0.1 : 5;
  if (seconds - last_shown_ < interval) return;
  last_shown_ = seconds;
  const std::string line = Line(seconds);
  if (terminal_) {
    std::fprintf(stderr, "\r\033[K%s", line.c_str());
  } else {
    std::fprintf(stderr, "%s\n", line.c_str());
  }
}

void Progress::Finish() {
  const std::lock_guard lock(mutex_);
  if (finished_) return;
  finished_ = true;
  const double seconds = SecondsSince(start_);
  std::fprintf(stderr, "%s%s: %llu %s in %.1f s\n", terminal_ ? "\r\033[K" : "",
               task_.c_str(), static_cast<unsigned long long>(done_),
               unit_.c_str(), seconds);
}

ReportSteps ShowProgress(absl::string_view task, absl::string_view unit,
                         uint64_t total) {
  const auto progress = std::make_shared<Progress>(task, unit, total);
  return [progress](uint64_t done) { progress->Add(done); };
}

}  // namespace sortition
