#pragma once
// A program that this one has started.
#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sortition {

// Returns the path of a program: in `dir`, or, where that is empty, beside this
// program or in $PATH. NotFound naming it and where it was looked for.
absl::StatusOr<std::string> FindProgram(const std::string& name,
                                        const std::string& dir);

// Not thread-safe. In a process group of its own, so that Ctrl-C does not reach
// it; ended by the kernel if this program dies.
class ChildProgram {
 public:
  // Appends its output to the file `log`. Must be called before there are
  // threads, by the thread that lives longest. Unavailable if it cannot start.
  static absl::StatusOr<std::unique_ptr<ChildProgram>> Start(
      const std::string& path, const std::vector<std::string>& arguments,
      const std::string& log);
  // Kills it if it runs.
  ~ChildProgram();
  ChildProgram(const ChildProgram&) = delete;
  ChildProgram& operator=(const ChildProgram&) = delete;

  // Returns its exit status, or 128 and the signal that ended it, once it has
  // ended; nothing while it runs.
  std::optional<int> Poll();

  // Asks it to end (SIGTERM) and waits; kills it after `patience_seconds`.
  // Returns what Poll() returns then.
  int End(double patience_seconds);

  // The last line of its log that is not empty.
  std::string LastLine() const;
  const std::string& log() const { return log_; }

 private:
  ChildProgram(pid_t pid, std::string log) : pid_(pid), log_(std::move(log)) {}

  const pid_t pid_;
  const std::string log_;
  std::optional<int> status_;
};

}  // namespace sortition
