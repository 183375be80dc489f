#include "sidecar/run.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status_macros.h"
#include "io/clocks.h"
#include "io/files.h"
#include "process/http/http_server.h"
#include "process/log.h"
#include "process/metrics.h"
#include "process/tracing/tracer.h"
#include "sidecar/http_pages.h"
#include "sidecar/pipeline.h"
#include "sidecar/run_stream.h"
#include "sidecar/status/sidecar_status.h"

namespace sortition {
namespace {

constexpr uint64_t kStepsPerPoll = 4096;
// Longest sleep between two checks for signals.
constexpr double kSliceSeconds = 0.1;
// Longest work after a signal; the rest stays in the spool.
constexpr std::chrono::seconds kDrainLimit(5);

// Opens the ports, and writes the port file. `status` may be null: there is
// only /metrics then. Returns the HTTP port, if there is to be one.
absl::StatusOr<std::unique_ptr<HttpServer>> OpenPorts(
    const config::v1::SidecarOptions& options, Metrics* metrics,
    SidecarStatusSource* status) {
  int metrics_port = 0;
  if (!options.metrics_listen().empty()) {
    ASSIGN_OR_RETURN(metrics_port, metrics->Serve(options.metrics_listen()));
  }
  std::unique_ptr<HttpServer> http;
  if (!options.http_listen().empty() && status != nullptr) {
    ASSIGN_OR_RETURN(http, OpenHttp(options.http_listen(), metrics, status));
  }
  if (options.port_file().empty()) return http;
  std::string text = absl::StrCat("metrics ", metrics_port, "\n");
  if (http != nullptr) absl::StrAppend(&text, "http ", http->port(), "\n");
  RETURN_IF_ERROR(WriteFile(options.port_file(), text));
  return http;
}

absl::Status Drain(Pipeline* pipeline) {
  const auto deadline = std::chrono::steady_clock::now() + kDrainLimit;
  bool is_busy = true;
  while (is_busy && std::chrono::steady_clock::now() < deadline) {
    ASSIGN_OR_RETURN(is_busy, pipeline->Poll(kStepsPerPoll));
  }
  return pipeline->Close();
}

}  // namespace

absl::Status RunSidecar(const config::v1::SidecarOptions& options,
                        const std::function<bool(double)>& ask_for_stop) {
  RETURN_IF_ERROR(ValidateStreamOptions(options));
  std::atomic<int64_t> last_turn_us = SteadyUs();
  Metrics metrics;
  metrics.OnScrape(
      [&last_turn_us,
       stalled = metrics.Gauge("sortition_sidecar_stalled_seconds",
                               "Time since the last turn of the one loop that "
                               "reads, joins or publishes, and writes")] {
        stalled->Set(static_cast<double>(SteadyUs() - last_turn_us) * 1e-6);
      });
  const auto wait_for_stop = [&](double seconds) {
    last_turn_us = SteadyUs();
    return ask_for_stop(seconds);
  };
  if (!options.publish().url().empty()) {
    RETURN_IF_ERROR(OpenPorts(options, &metrics, nullptr).status());
    return RunShipper(options, &metrics, wait_for_stop);
  }
  // Locks what the pipeline follows, so it comes first and goes last.
  ASSIGN_OR_RETURN(const std::unique_ptr<MirrorThread> mirror,
                   MirrorThread::Start(options, &metrics));
  const auto status = SidecarStatusSource::Create(NowUs());
  ASSIGN_OR_RETURN(
      const std::unique_ptr<Tracer> tracer,
      Tracer::Create(options.tracing(), "sortition-sidecar", "", &metrics));
  ASSIGN_OR_RETURN(const std::unique_ptr<Pipeline> pipeline,
                   Pipeline::Open(options, &metrics, NowUs, SteadyUs,
                                  status.get(), tracer.get()));
  ASSIGN_OR_RETURN(const std::unique_ptr<HttpServer> http,
                   OpenPorts(options, &metrics, status.get()));
  LogInfo("sidecar started", {{"spool", absl::StrJoin(options.spool(), ",")},
                              {"tuples", options.tuples()}});
  while (!wait_for_stop(0)) {
    if (mirror != nullptr) RETURN_IF_ERROR(mirror->status());
    ASSIGN_OR_RETURN(const bool is_busy, pipeline->Poll(kStepsPerPoll));
    if (!is_busy)
      pipeline->Wait(std::min(options.poll_seconds(), kSliceSeconds));
  }
  if (mirror != nullptr) mirror->Stop();
  RETURN_IF_ERROR(Drain(pipeline.get()));
  if (tracer != nullptr) tracer->Stop();
  const SidecarCounts& counts = pipeline->counts();
  LogInfo("sidecar stopped", {{"tuples", counts.tuples},
                              {"matched", counts.matched},
                              {"pending", counts.pending}});
  return absl::OkStatus();
}

}  // namespace sortition
