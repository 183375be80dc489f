#include "server/check_config.h"

#include <filesystem>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/models/model_store.h"
#include "io/spool/spool_writer.h"
#include "process/service/config_findings.h"
#include "process/tracing/collector.h"
#include "server/decisions/request_validation.h"
#include "server/identity/identity.h"
#include "server/rpc/builder_options.h"

namespace sortition {
namespace {

// Whether the models of the store, and their versions, can be listed.
absl::Status CheckStore(const std::string& root) {
  std::error_code error;
  if (!std::filesystem::is_directory(root, error)) return absl::OkStatus();
  const ModelStore store(root);
  const auto names = store.ListModels();
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    const auto versions = store.ListVersions(name);
    if (!versions.ok()) return versions.status();
  }
  return absl::OkStatus();
}

absl::Status CheckDefaultModel(const std::string& name) {
  const absl::Status status = ValidateModelName(name);
  if (status.ok()) return status;
  return absl::InvalidArgumentError(
      absl::StrCat("default_model = \"", name, "\": ", status.message()));
}

// Two ports that are given must be two.
absl::Status CheckPorts(const config::v1::ServerOptions& options) {
  const std::pair<absl::string_view, std::string> ports[] = {
      {"listen", options.listen()},
      {"control_listen", options.control_listen()},
      {"metrics_listen", options.metrics_listen()},
      {"http.listen", options.http().listen()}};
  for (const auto& [name, address] : ports) {
    if (address.empty() || absl::EndsWith(address, ":0")) continue;
    for (const auto& [other_name, other] : ports) {
      if (&other == &address || other != address) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          name, " = ", other_name, " = \"", address, "\": must be two ports"));
    }
  }
  return absl::OkStatus();
}

constexpr uint64_t kMaxBodiesBytes = uint64_t{1} << 30;

absl::Status CheckHttp(const config::v1::HttpOptions& options) {
  const uint64_t bytes = uint64_t{options.threads()} * options.max_body_bytes();
  if (bytes > kMaxBodiesBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("http.threads = ", options.threads(),
                     ", http.max_body_bytes = ", options.max_body_bytes(),
                     ": their product must be at most ", kMaxBodiesBytes));
  }
  for (const std::string& host : options.hosts()) {
    if (!host.empty() && host.find_first_of("/ *,") == std::string::npos) {
      continue;
    }
    return absl::InvalidArgumentError(
        absl::StrCat("http.hosts = \"", host,
                     "\": must be a name with or without a port, as in "
                     "sortition.example.com or sortition.example.com:8443"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateServerOptions(const config::v1::ServerOptions& options) {
  RETURN_IF_ERROR(ValidateRewardRange(options.feedback()));
  RETURN_IF_ERROR(ValidateRequestLimits(options.limits()));
  RETURN_IF_ERROR(CheckDefaultModel(options.default_model()));
  if (!options.spool().dir().empty()) {
    RETURN_IF_ERROR(ValidateSpoolOptions(options.spool()));
  }
  RETURN_IF_ERROR(CheckPorts(options));
  RETURN_IF_ERROR(CheckHttp(options.http()));
  RETURN_IF_ERROR(ValidateTracing(options.tracing()));
  return ValidateIdentity(options);
}

std::vector<std::string> CheckServerConfig(
    const config::v1::ServerOptions& options) {
  ConfigFindings findings;
  findings.Add(ValidateRewardRange(options.feedback()));
  findings.Add(ValidateRequestLimits(options.limits()));
  findings.Add(CheckDefaultModel(options.default_model()));
  findings.CheckDirectory("model_store", options.model_store(),
                          ConfigFindings::Missing::kMakesLast);
  findings.Add(CheckStore(options.model_store()));
  if (!options.spool().dir().empty()) {
    findings.Add(ValidateSpoolOptions(options.spool()));
    findings.CheckDirectory("spool.dir", options.spool().dir(),
                            ConfigFindings::Missing::kMakesAll);
  }
  if (options.listen().empty()) {
    findings.Add(absl::InvalidArgumentError(
        "listen = \"\": must be host:port, port in [0, 65535]"));
  }
  findings.CheckAddress("listen", options.listen());
  findings.CheckAddress("control_listen", options.control_listen());
  findings.CheckAddress("metrics_listen", options.metrics_listen());
  findings.CheckAddress("http.listen", options.http().listen());
  findings.CheckAddress("http.sidecar", options.http().sidecar());
  findings.Add(CheckPorts(options));
  findings.Add(CheckHttp(options.http()));
  findings.Add(ValidateTracing(options.tracing()));
  findings.Add(ValidateIdentity(options));
  findings.CheckFile("tls.certificate_file", options.tls().certificate_file());
  findings.CheckFile("tls.key_file", options.tls().key_file());
  findings.CheckFile("tls.client_ca_file", options.tls().client_ca_file());
  findings.CheckFile("token_file", options.token_file());
  findings.CheckNewFile("port_file", options.port_file());
  return findings.lines();
}

}  // namespace sortition
