#include "process/service/config_findings.h"

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace sortition {
namespace {

namespace fs = std::filesystem;

bool IsUsable(const fs::path& directory) {
  std::error_code error;
  return fs::is_directory(directory, error) &&
         ::access(directory.c_str(), R_OK | W_OK | X_OK) == 0;
}

bool Exists(const fs::path& path) {
  std::error_code error;
  // Also of a broken link, which cannot become a directory either.
  return fs::symlink_status(path, error).type() != fs::file_type::not_found &&
         !error;
}

// The directory that a path stands in: "." for a name alone.
fs::path ParentOf(const fs::path& path) {
  // "a/" stands in the same place as "a".
  const fs::path named = path.has_filename() ? path : path.parent_path();
  return named.has_parent_path() ? named.parent_path() : fs::path(".");
}

}  // namespace

void ConfigFindings::Add(const absl::Status& status) {
  if (!status.ok()) lines_.emplace_back(status.message());
}

void ConfigFindings::AddLine(absl::string_view option, absl::string_view value,
                             absl::string_view what) {
  lines_.push_back(absl::StrCat(option, " = \"", value, "\": ", what));
}

void ConfigFindings::CheckDirectory(absl::string_view option,
                                    const std::string& path, Missing missing) {
  if (Exists(path)) {
    if (!IsUsable(path)) {
      AddLine(option, path, "must be a directory that can be written");
    }
    return;
  }
  if (missing == Missing::kFails) {
    AddLine(option, path, "there is no such directory");
    return;
  }
  fs::path parent = ParentOf(path);
  while (missing == Missing::kMakesAll && !Exists(parent) &&
         ParentOf(parent) != parent) {
    parent = ParentOf(parent);
  }
  if (!IsUsable(parent)) {
    AddLine(option, path,
            absl::StrCat("is missing and cannot be made: ", parent.string(),
                         " must be a directory that can be written"));
  }
}

void ConfigFindings::CheckReadableDirectory(absl::string_view option,
                                            const std::string& path) {
  std::error_code error;
  if (path.empty() || (fs::is_directory(path, error) &&
                       ::access(path.c_str(), R_OK | X_OK) == 0)) {
    return;
  }
  AddLine(option, path, "must be a directory that can be read");
}

void ConfigFindings::CheckNewFile(absl::string_view option,
                                  const std::string& path) {
  if (path.empty()) return;
  std::error_code error;
  if (fs::is_directory(path, error) || !IsUsable(ParentOf(path))) {
    AddLine(option, path, "must be a file in a directory that can be written");
  }
}

void ConfigFindings::CheckFile(absl::string_view option,
                               const std::string& path) {
  std::error_code error;
  if (path.empty() ||
      (fs::is_regular_file(path, error) && ::access(path.c_str(), R_OK) == 0)) {
    return;
  }
  AddLine(option, path, "must be a file that can be read");
}

void ConfigFindings::CheckAddress(absl::string_view option,
                                  const std::string& address) {
  if (address.empty()) return;
  const size_t colon = address.rfind(':');
  uint32_t port;
  if (colon == std::string::npos || colon == 0 ||
      !absl::SimpleAtoi(address.substr(colon + 1), &port) || port > 65535) {
    AddLine(option, address, "must be host:port, port in [0, 65535]");
  }
}

}  // namespace sortition
