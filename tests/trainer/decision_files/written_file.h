#pragma once
// A file with the text of a test.

#include "io/files.h"
#include "tests/testing/refusals.h"
#include "tests/testing/temp_dir.h"

namespace sortition {

class WrittenFile {
 public:
  explicit WrittenFile(const std::string& text) {
    EXPECT_OK(WriteFile(path(), text));
  }
  std::string path() const { return dir_ / "file"; }

 private:
  TempDir dir_;
};

}  // namespace sortition
