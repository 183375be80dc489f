#pragma once
// Takes connections for gRPC. Its own listener stops for good once the process
// has no descriptor left for a connection (grpc/grpc#20418).
#include <grpcpp/server_builder.h>
#include <netdb.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "process/metrics.h"
#include "server/rpc/connections/connection_table.h"

namespace sortition {

// Some descriptors always remain for the log, the model store and metrics: a
// connection that would take one of them takes the place of the one that has
// been idle for the longest time or, where none is idle, is closed at once.
//
// Once a second it connects to itself and looks whether that is accepted.
class Listener {
 public:
  // Listens at `address`, a "host:port", at all addresses of the host; 0.0.0.0
  // and [::] are all addresses of this machine. Port 0 picks a free one.
  // `reserved` more descriptors remain for others than without it. `metrics`
  // and `connections` must outlive it. Unavailable, with a message that begins
  // with the name of the `option`, if the address is wrong or taken.
  static absl::StatusOr<std::unique_ptr<Listener>> Open(
      const std::string& option, const std::string& address, uint32_t reserved,
      Metrics* metrics, ConnectionTable* connections);
  ~Listener();  // Stop()
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  int port() const { return port_; }

  // Hands connections over to `acceptor`, whose server must have started, until
  // Stop(). Calls `follow` from a thread of its own when the port begins or
  // ceases to take connections; at first it takes them.
  void Start(
      std::shared_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor,
      std::function<void(bool serves)> follow);
  // Closes the port.
  void Stop();

 private:
  // The connection to itself that was not accepted yet.
  struct Check {
    int socket = -1;  // -1: none.
    uint16_t port = 0;
    int64_t start = 0;
  };

  Listener(uint32_t reserved, Metrics* metrics, ConnectionTable* connections);

  // Adds a socket that listens at this address. On failure errno says why.
  bool Add(const addrinfo& address);
  void Run();
  // Takes what has come to this socket.
  void Accept(int socket);
  // Returns how many descriptors are kept for other things.
  int64_t ReservedDescriptors() const;
  // Returns whether a connection may have the descriptor `fd`.
  bool MakeRoom(int fd);
  void NoteShort();
  // Ends a check that is over, or begins one.
  void LookAtItself();
  void BeginCheck();
  void EndCheck(bool serves);

  const uint32_t reserved_;
  MetricCounter* const refused_;
  MetricCounter* const ended_;
  ConnectionTable* const connections_;
  const int end_;
  int port_ = 0;
  std::vector<int> sockets_;
  std::shared_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::function<void(bool serves)> follow_;
  bool is_short_ = false;  // Of descriptors; says so once.
  bool serves_ = true;
  Check check_;
  int64_t next_check_ = 0;
  size_t num_checks_ = 0;
  std::thread thread_;
};

}  // namespace sortition
