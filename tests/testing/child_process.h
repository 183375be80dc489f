#pragma once
// Programs under test as child processes.
#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tests/testing/patience.h"

namespace sortition {

// True as soon as `condition` holds, false where it still does not hold after
// `timeout_seconds`.
bool PollUntil(double timeout_seconds, const std::function<bool()>& condition);

// Path of a program of this build: $SORTITION_BIN/name.
std::string BinaryPath(absl::string_view name);

// The program is killed when its ChildProcess or the thread that started it
// ends. Not thread-safe.
class ChildProcess {
 public:
  // arguments[0] is the program. Its output is appended to
  // "<output_prefix>.stdout" and "<output_prefix>.stderr".
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(
      const std::vector<std::string>& arguments,
      const std::string& output_prefix);
  ~ChildProcess();  // Kill()
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  // Does nothing if the process has ended.
  void Signal(int signal_number);
  // Sends SIGKILL and waits for the end.
  void Kill();
  // The exit code, or minus the signal that ended the process; nothing if it
  // still runs after `timeout_seconds`.
  std::optional<int> Wait(double timeout_seconds);

  std::string StdoutText() const;
  std::string StderrText() const;

  // User and system time of all its threads so far.
  absl::StatusOr<double> CpuSeconds() const;

  // Waits for a line "<name> <port>" in `port_file`. Unavailable if the process
  // ends before, DeadlineExceeded if no line comes.
  absl::StatusOr<int> WaitForPort(const std::string& port_file,
                                  absl::string_view name,
                                  double timeout_seconds);

 private:
  ChildProcess() = default;
  pid_t pid_ = -1;
  std::string output_prefix_;
  std::optional<int> exit_code_;
};

struct FinishedProcess {
  int exit_code = 0;  // Or minus the signal.
  std::string stdout_text;
  std::string stderr_text;
};

// Runs a program to its end. DeadlineExceeded: killed after `timeout_seconds`.
absl::StatusOr<FinishedProcess> RunToEnd(
    const std::vector<std::string>& arguments,
    double timeout_seconds = Patience(120));

}  // namespace sortition
