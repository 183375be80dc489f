#pragma once
// Temporary directories for tests and benchmarks.
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "core/base/check.h"

namespace sortition {

// A new directory in `parent` or, without one, in $TMPDIR; the destructor
// removes it with all that is in it.
class TempDir {
 public:
  explicit TempDir(const std::string& parent = "")
      : path_((parent.empty() ? DefaultParent() : parent) +
              "/sortition.XXXXXX") {
    CHECK(mkdtemp(path_.data()) != nullptr);
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const {
    return path_ + "/" + name;
  }
  // Returns the path of a subdirectory, which is made if it is missing.
  std::string Sub(const std::string& name) const {
    std::filesystem::create_directories(*this / name);
    return *this / name;
  }

 private:
  static std::string DefaultParent() {
    const char* parent = getenv("TMPDIR");
    return parent == nullptr ? "/tmp" : parent;
  }

  std::string path_;
};

// A parent for directories of tests that sync often: in memory if possible.
inline std::string FastParent() {
  const char* shm = "/dev/shm";
  return access(shm, W_OK) == 0 ? shm : "";
}

}  // namespace sortition
