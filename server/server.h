#pragma once
// The parts of sortition-server, started in order and drained in order.
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "process/metrics.h"
#include "sortition/config/v1/server.pb.h"

namespace sortition {

class Server {
 public:
  // Returns a server that serves; the port file is written. A failure leaves
  // nothing behind.
  static absl::StatusOr<std::unique_ptr<Server>> Start(
      const config::v1::ServerOptions& options);
  ~Server();

  int rpc_port() const;
  int metrics_port() const;  // 0: none; so is the next.
  int http_port() const;
  const Metrics& metrics() const;

  // Returns whether every thread that answers calls has done something since
  // this was called before: a thread that hangs is seen at the second call. For
  // one thread at a time.
  bool TakesTurns();

  // Looks at the model store, certificates and tokens at once.
  void Reload();

  // Sets health to NOT_SERVING, after drain_grace_seconds refuses new requests
  // as UNAVAILABLE, waits at most drain_seconds for running ones, and closes
  // the spool. Fails if the spool cannot be closed.
  absl::Status Drain();

 private:
  Server();
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

}  // namespace sortition
