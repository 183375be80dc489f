#pragma once
// Connections of libnats.
#include <nats/nats.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sortition/config/v1/sidecar.pb.h"

namespace sortition {

template <typename T, void (*Destroy)(T*)>
struct NatsDestroyer {
  void operator()(T* object) const { Destroy(object); }
};
template <typename T, void (*Destroy)(T*)>
using OwnedNats = std::unique_ptr<T, NatsDestroyer<T, Destroy>>;

using NatsConnection = OwnedNats<natsConnection, natsConnection_Destroy>;

// Unavailable unless `status` is NATS_OK. `code` is JetStream's error, or 0.
absl::Status NatsToStatus(natsStatus status, jsErrCode code,
                          absl::string_view what);
absl::Status NatsToStatus(natsStatus status, absl::string_view what);

// How long an answer may take.
int64_t NatsTimeoutMs(const config::v1::NatsOptions& options);

// Connects to one of `url`, separated by commas. The connection is made anew,
// perhaps to another server, whenever it breaks.
absl::StatusOr<NatsConnection> ConnectToNats(
    const std::string& url, const config::v1::NatsOptions& options);

// How often it was made anew.
absl::StatusOr<uint64_t> NumReconnects(natsConnection* connection);

}  // namespace sortition
