#include "client/quickstart/child_program.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <thread>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "io/files.h"

namespace sortition {
namespace {

constexpr int kSignalled =
    128;  // Added to the number of a signal, as shells do.
constexpr int kNotStarted = 127;
constexpr std::chrono::milliseconds kLookAgain(20);

// What stands between fork() and exec(): calls that are safe there.
[[noreturn]] void Become(const char* path, char* const* arguments, int log) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  const int input = open("/dev/null", O_RDONLY);
  if (input >= 0) dup2(input, STDIN_FILENO);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  execv(path, arguments);
  _exit(kNotStarted);
}

std::vector<std::string> PlacesFor(const std::string& dir) {
  if (!dir.empty()) return {dir};
  std::vector<std::string> places;
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) places.push_back(self.parent_path().string());
  const char* path = std::getenv("PATH");
  for (absl::string_view place :
       absl::StrSplit(path == nullptr ? "" : path, ':', absl::SkipEmpty())) {
    places.emplace_back(place);
  }
  return places;
}

}  // namespace

absl::StatusOr<std::string> FindProgram(const std::string& name,
                                        const std::string& dir) {
  for (const std::string& place : PlacesFor(dir)) {
    std::string path = absl::StrCat(place, "/", name);
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return absl::NotFoundError(
      absl::StrCat(name, " is not ",
                   dir.empty() ? "beside this program or in $PATH"
                               : absl::StrCat("in ", dir)));
}

absl::StatusOr<std::unique_ptr<ChildProgram>> ChildProgram::Start(
    const std::string& path, const std::vector<std::string>& arguments,
    const std::string& log) {
  const int fd =
      open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot write ", log, ": ", std::strerror(errno)));
  }
  std::vector<std::string> words = {path};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const pid_t pid = fork();
  if (pid == 0) Become(path.c_str(), pointers.data(), fd);
  const int error = errno;
  close(fd);
  if (pid < 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot start ", path, ": ", std::strerror(error)));
  }
  return std::unique_ptr<ChildProgram>(new ChildProgram(pid, log));
}

ChildProgram::~ChildProgram() {
  if (!Poll().has_value()) End(0);
}

std::optional<int> ChildProgram::Poll() {
  int status = 0;
  if (!status_.has_value() && waitpid(pid_, &status, WNOHANG) == pid_) {
    status_ = WIFSIGNALED(status) ? kSignalled + WTERMSIG(status)
                                  : WEXITSTATUS(status);
  }
  return status_;
}

int ChildProgram::End(double patience_seconds) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double>(patience_seconds));
  if (!Poll().has_value()) kill(pid_, SIGTERM);
  bool is_killed = false;
  while (!Poll().has_value()) {
    if (!is_killed && Clock::now() >= end) {
      kill(pid_, SIGKILL);
      is_killed = true;
    }
    std::this_thread::sleep_for(kLookAgain);
  }
  return *status_;
}

std::string ChildProgram::LastLine() const {
  const absl::StatusOr<std::string> text = ReadFile(log_);
  if (!text.ok()) return "";
  const absl::string_view whole = absl::StripTrailingAsciiWhitespace(*text);
  return std::string(whole.substr(whole.rfind('\n') + 1));
}

}  // namespace sortition
