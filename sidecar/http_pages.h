#pragma once
// The HTTP port of the sidecar: page, status, health and metrics.
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "process/http/http_server.h"
#include "process/metrics.h"
#include "sidecar/status/sidecar_status.h"

namespace sortition {

// Listens at `address` and serves; the others must outlive it. Unavailable if
// the address is taken or wrong.
absl::StatusOr<std::unique_ptr<HttpServer>> OpenHttp(
    const std::string& address, const Metrics* metrics,
    SidecarStatusSource* status);

}  // namespace sortition
