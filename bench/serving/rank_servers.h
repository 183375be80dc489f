#pragma once
// Programs that answer Rank, and the requests that benchmarks send them.
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sortition/v1/ranking.pb.h"
#include "tests/testing/child_process.h"

namespace sortition {

// A query of random features; the same for the same shape.
v1::RankRequest MakeRankRequest(uint32_t num_candidates, uint32_t num_features,
                                uint32_t top_k);

// Publishes a ranking model "default" in the store `root`.
absl::Status PublishRankModel(const std::string& root, uint32_t num_features);

struct RunningProgram {
  std::unique_ptr<ChildProcess> process;
  int port = 0;
};

// Starts a program and waits for the port that it calls `port_name`. Its files
// begin with `prefix`.
absl::StatusOr<RunningProgram> StartAndWait(std::vector<std::string> arguments,
                                            const std::string& prefix,
                                            const std::string& port_name);

// The flags that every server of a benchmark has.
std::vector<std::string> RankServerArguments(const std::string& bin,
                                             const std::string& model_store);

// Removes closed segments as long as it lives.
class SpoolCleaner {
 public:
  explicit SpoolCleaner(const std::string& dir);
  ~SpoolCleaner();

 private:
  const std::string dir_;
  std::atomic<bool> done_ = false;
  std::thread thread_;
};

}  // namespace sortition
