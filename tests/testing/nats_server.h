#pragma once
// Real nats-servers on ports of their own; benchmarks use them too.
#include <unistd.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/testing/child_process.h"

namespace sortition {

inline constexpr char kNatsServer[] = "/usr/sbin/nats-server";

// Returns a port for a program that is killed and started again. Until this
// process ends, nobody gets it who does not ask for it by its number.
int FreePort();

class NatsServer {
 public:
  // `more` goes into its configuration.
  NatsServer(std::string dir, int port, const std::string& more = "");

  // Waits until the server takes connections.
  void Start();
  void Kill() { process_->Kill(); }

  std::string url() const;
  // Returns a page of its monitoring port, such as "/varz".
  absl::StatusOr<std::string> Page(const std::string& path) const;
  // Valid after Start().
  const ChildProcess& process() const { return *process_; }

 private:
  const std::string dir_;
  const int port_;
  const int monitoring_port_;
  std::unique_ptr<ChildProcess> process_;
};

// Servers that keep the copies of a stream; alone if there is only one.
class NatsCluster {
 public:
  // Each has a directory of its own in `dir`; `more` goes into all
  // configurations.
  NatsCluster(const std::string& dir, size_t size,
              const std::string& more = "");

  void Start();
  size_t size() const { return servers_.size(); }
  NatsServer& server(size_t i) { return *servers_[i]; }
  // As sidecars take them, with commas between.
  std::string urls() const;
  // Returns which server leads the stream, as one of the others says; nothing
  // while there is none.
  std::optional<size_t> LeaderOf(const std::string& stream) const;

 private:
  std::vector<std::unique_ptr<NatsServer>> servers_;
};

// Returns why this program cannot use streams here; empty if it can.
std::string WhyNoStreams(
    const std::string& sidecar = BinaryPath("sortition-sidecar"));

// Skips a test where the package nats-server is not installed.
#define SKIP_WITHOUT_NATS_SERVER()                           \
  if (access(::sortition::kNatsServer, X_OK) != 0)           \
  GTEST_SKIP() << "skipped: no " << ::sortition::kNatsServer \
               << "; ./dev setup test"

// Skips a test of the programs where they cannot use streams.
#define SKIP_WITHOUT_STREAMS()                                           \
  if (const std::string why = ::sortition::WhyNoStreams(); !why.empty()) \
  GTEST_SKIP() << "skipped: " << why

}  // namespace sortition
