#pragma once
// What --check_config finds. Nothing here makes or changes a file.
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sortition {

class ConfigFindings {
 public:
  // What a program does at its start about a directory that is missing.
  enum class Missing { kFails, kMakesLast, kMakesAll };

  // Adds a line unless the status is OK.
  void Add(const absl::Status& status);
  // Adds a line unless `path` is a directory that can be read and written, or
  // can be made as `missing` says.
  void CheckDirectory(absl::string_view option, const std::string& path,
                      Missing missing);
  // Adds a line unless it is a directory that can be read; "" is none.
  void CheckReadableDirectory(absl::string_view option,
                              const std::string& path);
  // Adds a line unless a file can be written there; "" is none.
  void CheckNewFile(absl::string_view option, const std::string& path);
  // Adds a line unless it is a file that can be read; "" is none.
  void CheckFile(absl::string_view option, const std::string& path);
  // Adds a line unless `address` is host:port with a port below 65,536; "" is
  // none. Names are not looked up, ports not tried.
  void CheckAddress(absl::string_view option, const std::string& address);

  const std::vector<std::string>& lines() const { return lines_; }

 private:
  void AddLine(absl::string_view option, absl::string_view value,
               absl::string_view what);

  std::vector<std::string> lines_;
};

}  // namespace sortition
