#include "sidecar/check_config.h"

#include "absl/status/status.h"
#include "core/base/status_macros.h"
#include "io/spool/find_spools.h"
#include "process/service/config_findings.h"
#include "process/tracing/collector.h"
#include "sidecar/pipeline.h"
#include "sidecar/run_stream.h"
#include "sidecar/stream/nats_stream.h"

namespace sortition {
namespace {

using Missing = ConfigFindings::Missing;

void CheckSpools(const config::v1::SidecarOptions& options,
                 ConfigFindings* findings) {
  for (const std::string& spool : options.spool()) {
    if (spool.empty()) {
      findings->Add(
          absl::InvalidArgumentError("spool = \"\": must not be empty"));
    } else if (!IsSpoolPattern(spool)) {
      findings->CheckDirectory(
          "spool", spool,
          options.spool_size() == 1 ? Missing::kMakesAll : Missing::kFails);
    }
  }
}

void CheckNats(const config::v1::SidecarOptions& options,
               ConfigFindings* findings) {
  if (options.publish().url().empty() && options.consume().url().empty()) {
    return;
  }
  if (!HasNats()) {
    findings->Add(absl::UnimplementedError(
        "publish.url or consume.url is set: this program was built without "
        "NATS"));
  }
  const config::v1::NatsOptions& nats = options.nats();
  findings->CheckFile("nats.ca_file", nats.ca_file());
  findings->CheckFile("nats.cert_file", nats.cert_file());
  findings->CheckFile("nats.key_file", nats.key_file());
  findings->CheckFile("nats.credentials_file", nats.credentials_file());
  findings->CheckFile("nats.password_file", nats.password_file());
}

}  // namespace

absl::Status ValidateSidecarOptions(const config::v1::SidecarOptions& options) {
  RETURN_IF_ERROR(ValidateStreamOptions(options));
  RETURN_IF_ERROR(ValidateTracing(options.tracing()));
  return ValidateRewardRange(options.join());
}

std::vector<std::string> CheckSidecarConfig(
    const config::v1::SidecarOptions& options) {
  ConfigFindings findings;
  findings.Add(ValidateStreamOptions(options));
  findings.Add(ValidateRewardRange(options.join()));
  findings.Add(ValidateTracing(options.tracing()));
  CheckSpools(options, &findings);
  if (options.publish().url().empty() && !options.tuples().empty()) {
    findings.CheckDirectory("tuples", options.tuples(), Missing::kMakesAll);
  }
  if (!options.mirror().empty()) {
    findings.CheckDirectory("mirror", options.mirror(), Missing::kMakesAll);
  }
  CheckNats(options, &findings);
  findings.CheckAddress("metrics_listen", options.metrics_listen());
  findings.CheckAddress("http_listen", options.http_listen());
  findings.CheckNewFile("port_file", options.port_file());
  return findings.lines();
}

}  // namespace sortition
