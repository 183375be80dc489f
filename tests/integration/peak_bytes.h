#pragma once
#include <sys/types.h>

#include <cstdint>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"

namespace sortition {

// The peak resident memory of a process.
inline uint64_t PeakBytes(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/status"));
  std::string word;
  uint64_t kibibytes = 0;
  while (file >> word && word != "VmHWM:") {
  }
  file >> kibibytes;
  return kibibytes * 1024;
}

}  // namespace sortition
