#include "tests/testing/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

std::string ReadWhole(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// Only calls that are safe between fork and exec of a threaded program.
[[noreturn]] void ExecChild(char* const* arguments, const char* stdout_path,
                            const char* stderr_path, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  const int flags = O_WRONLY | O_CREAT | O_APPEND;
  const int in = open("/dev/null", O_RDONLY);
  const int out = open(stdout_path, flags, 0644);
  const int err = open(stderr_path, flags, 0644);
  if (in < 0 || out < 0 || err < 0) _exit(127);
  dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  execv(arguments[0], arguments);
  const char message[] = "cannot execute the program\n";
  [[maybe_unused]] const ssize_t written =
      write(STDERR_FILENO, message, sizeof(message) - 1);
  _exit(127);
}

}  // namespace

bool PollUntil(double timeout_seconds, const std::function<bool()>& condition) {
  using Clock = std::chrono::steady_clock;
  const auto deadline =
      Clock::now() + std::chrono::duration<double>(timeout_seconds);
  while (!condition()) {
    if (Clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

std::string BinaryPath(absl::string_view name) {
  const char* directory = std::getenv("SORTITION_BIN");
  return absl::StrCat(directory ? directory : "bin", "/", name);
}

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Start(
    const std::vector<std::string>& arguments,
    const std::string& output_prefix) {
  std::vector<std::string> copies = arguments;
  std::vector<char*> pointers;
  for (std::string& argument : copies) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  const std::string out = absl::StrCat(output_prefix, ".stdout");
  const std::string err = absl::StrCat(output_prefix, ".stderr");
  if (access(pointers[0], X_OK) != 0) {
    return absl::NotFoundError(
        absl::StrCat(arguments[0], ": ", std::strerror(errno)));
  }
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) ExecChild(pointers.data(), out.c_str(), err.c_str(), parent);
  if (pid < 0) {
    return absl::InternalError(absl::StrCat("fork: ", std::strerror(errno)));
  }
  std::unique_ptr<ChildProcess> child(new ChildProcess());
  child->pid_ = pid;
  child->output_prefix_ = output_prefix;
  return child;
}

ChildProcess::~ChildProcess() { Kill(); }

void ChildProcess::Signal(int signal_number) {
  if (!exit_code_.has_value()) kill(pid_, signal_number);
}

void ChildProcess::Kill() {
  Signal(SIGKILL);
  Wait(60);
}

std::optional<int> ChildProcess::Wait(double timeout_seconds) {
  if (exit_code_.has_value()) return exit_code_;
  // The process is ours and not yet reaped, so the pid still names it.
  const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  CHECK(descriptor >= 0);
  pollfd waiting{descriptor, POLLIN, 0};
  const int ready = poll(&waiting, 1, static_cast<int>(timeout_seconds * 1e3));
  close(descriptor);
  if (ready <= 0) return std::nullopt;
  int status = 0;
  CHECK(waitpid(pid_, &status, 0) == pid_);
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return exit_code_;
}

std::string ChildProcess::StdoutText() const {
  return ReadWhole(absl::StrCat(output_prefix_, ".stdout"));
}

std::string ChildProcess::StderrText() const {
  return ReadWhole(absl::StrCat(output_prefix_, ".stderr"));
}

absl::StatusOr<double> ChildProcess::CpuSeconds() const {
  clockid_t clock;
  timespec time;
  if (clock_getcpuclockid(pid_, &clock) != 0 ||
      clock_gettime(clock, &time) != 0) {
    return absl::UnavailableError(
        absl::StrCat("no processor time of process ", pid_));
  }
  return static_cast<double>(time.tv_sec) +
         1e-9 * static_cast<double>(time.tv_nsec);
}

absl::StatusOr<int> ChildProcess::WaitForPort(const std::string& port_file,
                                              absl::string_view name,
                                              double timeout_seconds) {
  int port = 0;
  const auto look = [&] {
    const std::string text = ReadWhole(port_file);
    for (absl::string_view line : absl::StrSplit(text, '\n')) {
      const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
      if (words.size() == 2 && words[0] == name &&
          absl::SimpleAtoi(words[1], &port)) {
        return true;
      }
    }
    return Wait(0).has_value();
  };
  if (!PollUntil(timeout_seconds, look)) {
    return absl::DeadlineExceededError(absl::StrCat(
        "no port of ", name, " in ", port_file, "; stderr: ", StderrText()));
  }
  if (port == 0) {
    return absl::UnavailableError(absl::StrCat(
        "ended with ", *exit_code_, " before serving; stderr: ", StderrText()));
  }
  return port;
}

absl::StatusOr<FinishedProcess> RunToEnd(
    const std::vector<std::string>& arguments, double timeout_seconds) {
  const TempDir output;
  ASSIGN_OR_RETURN(
      const std::unique_ptr<ChildProcess> child,
      ChildProcess::Start(arguments, absl::StrCat(output.path(), "/out")));
  const std::optional<int> exit_code = child->Wait(timeout_seconds);
  if (!exit_code.has_value()) {
    return absl::DeadlineExceededError(
        absl::StrCat(arguments[0], " still runs after ", timeout_seconds,
                     " s; stderr: ", child->StderrText()));
  }
  return FinishedProcess{*exit_code, child->StdoutText(), child->StderrText()};
}

}  // namespace sortition
