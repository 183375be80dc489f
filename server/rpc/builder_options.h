#pragma once
// What every port of the server has in common.
#include <grpcpp/grpcpp.h>

#include <memory>

#include "server/identity/identity.h"
#include "sortition/config/v1/server.pb.h"

namespace sortition {

// InvalidArgument if limits contradict each other.
absl::Status ValidateRequestLimits(const config::v1::RequestLimits& limits);

// Sets gRPC's own limits, credentials and reflection. Connections are handed to
// the acceptor that it returns.
std::shared_ptr<grpc::experimental::ExternalConnectionAcceptor> SetUpBuilder(
    const config::v1::ServerOptions& options, const Identity& identity,
    grpc::ServerBuilder* builder);

}  // namespace sortition
