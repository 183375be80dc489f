#pragma once
// The RPC port: asynchronous gRPC over completion queues with one thread each.
#include <grpcpp/channel.h>

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "process/metrics.h"
#include "process/tracing/tracer.h"
#include "server/decisions/aggregate_service.h"
#include "server/decisions/ranking_service.h"
#include "server/decisions/report_service.h"
#include "server/identity/identity.h"
#include "server/models/models_service.h"
#include "sortition/config/v1/server.pb.h"

namespace sortition {

// What answers the calls, and records them.
struct Services {
  RankingService* ranking;
  AggregateService* aggregates;
  ReportService* reports;
  ModelsService* models;
  Tracer* tracer = nullptr;  // Null: requests are not traced.
};

class GrpcServer {
 public:
  // Listens at options.listen, and options.control_listen if given, and serves
  // with options.threads threads. All arguments must outlive it. Unavailable if
  // the address is taken or wrong, InvalidArgument if limits contradict each
  // other. `reserved_descriptors` remain for others, however many clients come.
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Start(
      const config::v1::ServerOptions& options, const Identity& identity,
      const Services& services, uint32_t reserved_descriptors,
      Metrics* metrics);
  // Calls Shutdown(0). A spool of durability POWER must be closed before, but
  // after Shutdown(), because calls may still wait for it.
  ~GrpcServer();

  int port() const;
  int control_port() const;  // 0: none of its own.

  // Leads to what listens at options.listen, without a connection. Answers may
  // have any size. Not to be used after the server.
  std::shared_ptr<grpc::Channel> InProcessChannel() const;

  // Sets the health of Ranking, and of the server as a whole, unless it shuts
  // down. Requests are answered either way.
  void SetRankingServes(bool serves);

  // Returns whether every queue's thread has done something since the call
  // before. For one thread at a time.
  bool TakesTurns();

  // Sets health to NOT_SERVING; requests are still answered.
  void AnnounceShutdown();

  // Refuses new requests from now on, as UNAVAILABLE.
  void Refuse();

  // Refuses new requests, waits a moment for callers to notice, closes the
  // port, waits for running requests until `timeout_seconds` from now, cancels
  // the rest, and ends the threads.
  void Shutdown(double timeout_seconds);

 private:
  struct Rep;
  explicit GrpcServer(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

}  // namespace sortition
