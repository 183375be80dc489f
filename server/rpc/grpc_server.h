#pragma once
// The RPC port: asynchronous gRPC over completion queues, each with one thread.
#include <memory>

#include "absl/status/statusor.h"
#include "process/metrics.h"
#include "server/decisions/aggregate_service.h"
#include "server/decisions/ranking_service.h"
#include "server/rpc/models_service.h"
#include "sortition/config/v1/server.pb.h"

namespace sortition {

// What answers.
struct Services {
  RankingService* ranking;
  AggregateService* aggregates;
  const ModelsService* models;
};

class GrpcServer {
 public:
  // Listens at options.listen and serves with options.threads threads. All
  // arguments must outlive it. Unavailable where the address is taken or wrong,
  // InvalidArgument for limits that contradict each other.
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Start(
      const config::v1::ServerOptions& options, const Services& services,
      Metrics* metrics);
  ~GrpcServer();  // Shutdown(0)

  int port() const;

  // Health becomes NOT_SERVING; requests are still answered.
  void AnnounceShutdown();

  // From now on new requests are UNAVAILABLE.
  void Refuse();

  // Refuses, waits a moment for callers to notice, closes the port, waits for
  // running requests until `timeout_seconds` from now, cancels what is left,
  // ends the threads.
  void Shutdown(double timeout_seconds);

 private:
  GrpcServer();
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

}  // namespace sortition
