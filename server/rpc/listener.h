#pragma once
// Takes connections for gRPC. Its own listener stops for good once the process
// has no descriptor left for a connection (grpc/grpc#20418).
#include <grpcpp/server_builder.h>
#include <netdb.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "process/metrics.h"

namespace sortition {

// Some descriptors always remain for the log, the model store and metrics: a
// connection that would take one of them is closed at once.
class Listener {
 public:
  // Listens at "host:port", at all addresses of the host; those of the host
  // 0.0.0.0 or [::] are all of this machine. Port 0 picks a free one. `metrics`
  // must outlive it. Unavailable if the address is wrong or taken.
  static absl::StatusOr<std::unique_ptr<Listener>> Open(
      const std::string& address, Metrics* metrics);
  ~Listener();  // Stop()
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  int port() const { return port_; }

  // Hands connections over to `acceptor`, whose server must have started, until
  // Stop().
  void Start(
      std::shared_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor);
  // Closes the port.
  void Stop();

 private:
  explicit Listener(Metrics* metrics);

  // Adds a socket that listens at this address. On failure errno says why.
  bool Add(const addrinfo& address);
  void Run();
  void Accept(int socket);

  MetricCounter* const refused_;
  const int end_;
  int port_ = 0;
  std::vector<int> sockets_;
  std::shared_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  bool is_short_ = false;  // Of descriptors; says so once.
  std::thread thread_;
};

}  // namespace sortition
