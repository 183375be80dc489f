#pragma once
// Servers, sidecars that publish their spools to NATS JetStream, and one that
// joins what comes out.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/integration/deployment.h"
#include "tests/integration/load.h"
#include "tests/testing/nats_server.h"

namespace sortition {

class StreamTest : public testing::Test {
 protected:
  // Seconds.
  const double kSlack = Patience(0.5);

  void SetUp() override;

  // Starts brokers, a cluster if there are several, servers and their clients.
  void Start(size_t num_brokers, size_t num_servers);
  // The same without clients.
  void StartServers(size_t num_brokers, size_t num_servers);
  void StartShipper(size_t server);
  void StartConsumer();
  void StartDirectorySidecar();
  // Sends SIGTERM, and expects a clean end.
  static void End(ChildProcess* process);

  std::string Spool(size_t server) const { return sites_[server]->spool(); }
  std::string Copy(size_t server) const;
  std::string Tuples() const { return sites_[0]->tuples(); }

  // Waits until so many more calls have been answered by every server.
  void WaitForMoreAnswers(uint64_t more);
  // Waits until tuples have come out, so that windows are open and closed.
  void WaitForMoreTuples();
  // Waits until the mirror has a copy of every spool. The consumer looks for
  // copies; records of a copy that it finds late are late themselves.
  void WaitForCopies();
  // Waits until messages of every server have come all the way.
  void WaitForProgress();
  // Waits until the brokers agree on who leads the stream, and returns it.
  size_t Leader();

  // Waits until the tuples have all that was answered, and compares them with
  // what the clients know: every answer is one tuple, and all feedback is in
  // one, or late where it was.
  void ExpectLedgerEqual();
  // The tuples that learners leave out.
  uint64_t NumCensored() const;

  // Set them before they are used.
  double window_ = Patience(1);  // Seconds.
  // After how many seconds without a sign of life of a server its records are
  // no longer waited for. No test ends a server before its clients, so a busy
  // machine must not make a server look as if it were away.
  double max_away_ = 3600;
  std::string broker_config_;
  std::vector<std::string> server_flags_;
  std::vector<std::string> publish_flags_;
  std::vector<std::string> consume_flags_;

  std::unique_ptr<NatsCluster> brokers_;
  std::vector<std::unique_ptr<Deployment>> sites_;  // One for each server.
  std::vector<std::unique_ptr<SelectLoad>> loads_;
  std::vector<std::unique_ptr<ChildProcess>> shippers_;
  std::unique_ptr<ChildProcess> consumer_;
  std::unique_ptr<ChildProcess> directory_sidecar_;

 private:
  // Sequences of the last message that is in the stream, and in the mirror.
  uint64_t Published(size_t server) const;
  uint64_t Mirrored() const;
  std::vector<std::string> JoinFlags() const;
  std::unique_ptr<ChildProcess> StartProcess(
      const std::string& name, std::vector<std::string> arguments) const;
  void VisitTuples(
      const std::function<void(const log::v1::LogRecord&)>& visit) const;
};

}  // namespace sortition
