#pragma once
// Log lines of gRPC itself.

namespace sortition {

// From now on gRPC's lines of this process are lines of process/log.h, at most
// kMaxGrpcLinesPerSecond of each severity: clients cause many of them, for
// example one for each connection without TLS to a port with TLS. Of lines that
// were left out, the next one has the number ("left_out"). Which severities
// gRPC logs at all is up to GRPC_VERBOSITY, by default errors.
void RouteGrpcLog();
inline constexpr int kMaxGrpcLinesPerSecond = 5;

}  // namespace sortition
