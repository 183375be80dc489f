#pragma once
// A test's own directory, removed at its end.
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "gtest/gtest.h"

namespace sortition {

class TempDir {
 public:
  TempDir() : path_(testing::TempDir() + "/ioXXXXXX") {
    EXPECT_NE(mkdtemp(path_.data()), nullptr);
  }
  ~TempDir() { std::filesystem::remove_all(path_); }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const {
    return path_ + "/" + name;
  }

 private:
  std::string path_;
};

}  // namespace sortition
