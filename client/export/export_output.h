#pragma once
// Where text goes: standard output, or a file that appears when it is complete.
#include <memory>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sortition {

// Not thread-safe.
class ExportOutput {
 public:
  // `path` "-" stands for `standard`.
  static absl::StatusOr<std::unique_ptr<ExportOutput>> Open(
      const std::string& path, std::ostream* standard);
  // Removes what was written unless Publish() was called.
  ~ExportOutput();

  // Text is appended here.
  std::string* buffer() { return &buffer_; }
  // Writes the buffer once it is large.
  absl::Status FlushIfLarge();
  // Writes the rest, and gives the file its name.
  absl::Status Publish();

 private:
  ExportOutput(std::string path, std::ostream* standard);
  absl::Status Flush();

  const std::string path_;
  std::ostream* const standard_;
  std::string temporary_;  // Empty: there is no file to remove.
  int fd_ = -1;
  std::string buffer_;
};

}  // namespace sortition
