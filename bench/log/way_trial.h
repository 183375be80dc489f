#pragma once
// The way of decisions from a spool to tuples, by the real programs.
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace sortition {

// Of one tuple.
struct Costs {
  double cpu_microseconds = 0;
  double disk_bytes = 0;  // Handed to the disk for writing.
};

struct WayTrial {
  double tuples_per_second = 0;
  Costs publisher;
  Costs brokers;   // All together.
  Costs consumer;  // The sidecar that joins.
  // To, between and from the brokers, as they count messages; of one tuple.
  double network_bytes = 0;
};

struct WayOptions {
  std::string bin;    // Directory of the programs.
  std::string spool;  // A closed spool, which stays as it is.
  std::string work;   // Directory for everything else; must be empty.
  int num_decisions = 0;
  // The brokers set it aside, so it must fit their disk.
  uint64_t max_stream_bytes = 0;
};

// Spool, sidecar, tuples. Internal if there is not one tuple for each decision.
absl::StatusOr<WayTrial> TryDirectory(const WayOptions& options);

// Spool, publishing sidecar, so many brokers with a copy of the stream each,
// consuming sidecar with its mirror, tuples.
absl::StatusOr<WayTrial> TryStream(const WayOptions& options, int replicas);

}  // namespace sortition
