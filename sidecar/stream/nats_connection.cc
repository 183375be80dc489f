#include "sidecar/stream/nats_connection.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/status_macros.h"
#include "io/files.h"

namespace sortition {
namespace {

constexpr int64_t kReconnectMs = 250;

using Settings = OwnedNats<natsOptions, natsOptions_Destroy>;
using Statistics = OwnedNats<natsStatistics, natsStatistics_Destroy>;

absl::Status SetIdentity(const config::v1::NatsOptions& options,
                         natsOptions* settings) {
  natsStatus status = NATS_OK;
  if (!options.ca_file().empty()) {
    status = natsOptions_SetSecure(settings, true);
    if (status == NATS_OK) {
      status = natsOptions_LoadCATrustedCertificates(settings,
                                                     options.ca_file().c_str());
    }
    RETURN_IF_ERROR(NatsToStatus(
        status, absl::StrCat("nats.ca_file = '", options.ca_file(), "'")));
  }
  if (!options.cert_file().empty()) {
    status = natsOptions_LoadCertificatesChain(
        settings, options.cert_file().c_str(), options.key_file().c_str());
    RETURN_IF_ERROR(NatsToStatus(
        status, absl::StrCat("nats.cert_file = '", options.cert_file(),
                             "', nats.key_file = '", options.key_file(), "'")));
  }
  if (!options.credentials_file().empty()) {
    status = natsOptions_SetUserCredentialsFromFiles(
        settings, options.credentials_file().c_str(), nullptr);
  }
  if (status == NATS_OK && !options.user().empty()) {
    ASSIGN_OR_RETURN(const std::string password,
                     ReadFile(options.password_file()));
    status = natsOptions_SetUserInfo(
        settings, options.user().c_str(),
        std::string(absl::StripAsciiWhitespace(password)).c_str());
  }
  return NatsToStatus(status, "credentials of NATS");
}

absl::Status SetOptions(const std::string& url,
                        const config::v1::NatsOptions& options,
                        natsOptions* settings) {
  const std::vector<std::string> urls =
      absl::StrSplit(url, ',', absl::SkipWhitespace());
  std::vector<const char*> servers;
  for (const std::string& server : urls) servers.push_back(server.c_str());
  natsStatus status = natsOptions_SetServers(settings, servers.data(),
                                             static_cast<int>(servers.size()));
  if (status == NATS_OK) status = natsOptions_SetMaxReconnect(settings, -1);
  if (status == NATS_OK) {
    status = natsOptions_SetReconnectWait(settings, kReconnectMs);
  }
  if (status == NATS_OK) {
    status = natsOptions_SetTimeout(settings, NatsTimeoutMs(options));
  }
  if (status == NATS_OK) {
    // Nothing waits for a server inside the library: the spool keeps it.
    status = natsOptions_SetFailRequestsOnDisconnect(settings, true);
  }
  if (status == NATS_OK) status = natsOptions_SetSendAsap(settings, true);
  if (status == NATS_OK) status = natsOptions_SetName(settings, "sortition");
  RETURN_IF_ERROR(NatsToStatus(status, absl::StrCat("NATS url '", url, "'")));
  return SetIdentity(options, settings);
}

}  // namespace

absl::Status NatsToStatus(natsStatus status, jsErrCode code,
                          absl::string_view what) {
  if (status == NATS_OK) return absl::OkStatus();
  const char* const last = nats_GetLastError(nullptr);
  return absl::UnavailableError(absl::StrCat(
      what, ": ", natsStatus_GetText(status),
      code != 0 ? absl::StrCat(" (JetStream error ", code, ")") : "",
      last != nullptr && *last != 0 ? absl::StrCat(": ", last) : ""));
}

absl::Status NatsToStatus(natsStatus status, absl::string_view what) {
  return NatsToStatus(status, jsErrCode{}, what);
}

int64_t NatsTimeoutMs(const config::v1::NatsOptions& options) {
  return static_cast<int64_t>(options.timeout_seconds() * 1e3);
}

absl::StatusOr<NatsConnection> ConnectToNats(
    const std::string& url, const config::v1::NatsOptions& options) {
  natsOptions* settings = nullptr;
  RETURN_IF_ERROR(NatsToStatus(natsOptions_Create(&settings), "NATS options"));
  const Settings owned(settings);
  RETURN_IF_ERROR(SetOptions(url, options, settings));
  natsConnection* connection = nullptr;
  RETURN_IF_ERROR(NatsToStatus(natsConnection_Connect(&connection, settings),
                               absl::StrCat("cannot connect to ", url)));
  return NatsConnection(connection);
}

absl::StatusOr<uint64_t> NumReconnects(natsConnection* connection) {
  natsStatistics* statistics = nullptr;
  natsStatus status = natsStatistics_Create(&statistics);
  const Statistics owned(statistics);
  uint64_t reconnects = 0;
  if (status == NATS_OK) {
    status = natsConnection_GetStats(connection, statistics);
  }
  if (status == NATS_OK) {
    status = natsStatistics_GetCounts(statistics, nullptr, nullptr, nullptr,
                                      nullptr, &reconnects);
  }
  RETURN_IF_ERROR(NatsToStatus(status, "statistics of the connection"));
  return reconnects;
}

}  // namespace sortition
