#pragma once
#include <sys/types.h>

#include <cstdint>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"

namespace sortition {

inline constexpr uint64_t kMebibyte = 1 << 20;

// Returns a size in /proc/PID/status.
inline uint64_t StatusBytes(pid_t pid, const std::string& field) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/status"));
  std::string word;
  uint64_t kibibytes = 0;
  while (file >> word && word != field) {
  }
  file >> kibibytes;
  return kibibytes * 1024;
}

// The peak resident memory of a process.
inline uint64_t PeakBytes(pid_t pid) { return StatusBytes(pid, "VmHWM:"); }

// Its resident memory now.
inline uint64_t ResidentBytes(pid_t pid) { return StatusBytes(pid, "VmRSS:"); }

// Of that, what is of no file, as the spool's pages are.
inline uint64_t AnonymousBytes(pid_t pid) {
  return StatusBytes(pid, "RssAnon:");
}

}  // namespace sortition
