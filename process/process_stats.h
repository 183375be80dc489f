#pragma once
// What the kernel reports about this process (/proc/self).
#include <cstdint>

namespace sortition::internal {

struct ProcessStats {
  double start_time_seconds = 0;  // Since the epoch.
  double cpu_seconds = 0;         // User and system.
  double resident_bytes = 0;
  double virtual_bytes = 0;
  double open_descriptors = 0;
  double max_descriptors = 0;
  double threads = 0;
};

// Fields that cannot be read are 0.
ProcessStats ReadProcessStats();

}  // namespace sortition::internal
