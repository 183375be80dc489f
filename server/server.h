#pragma once
// sortition-server: its parts, started in order and drained in order.
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "process/metrics.h"
#include "sortition/config/v1/server.pb.h"

namespace sortition {

class Server {
 public:
  // Serving when it returns; the port file is written. Any failure leaves
  // nothing behind.
  static absl::StatusOr<std::unique_ptr<Server>> Start(
      const config::v1::ServerOptions& options);
  ~Server();

  int rpc_port() const;
  int metrics_port() const;  // 0: none.
  const Metrics& metrics() const;

  // Health NOT_SERVING; after drain_grace_seconds new requests are UNAVAILABLE;
  // running ones finish within drain_seconds; the spool is closed. Fails where
  // the spool does.
  absl::Status Drain();

 private:
  Server();
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

}  // namespace sortition
