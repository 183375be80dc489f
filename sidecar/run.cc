#include "sidecar/run.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status_macros.h"
#include "io/clocks.h"
#include "io/files.h"
#include "process/log.h"
#include "process/metrics.h"
#include "sidecar/pipeline.h"
#include "sidecar/run_stream.h"

namespace sortition {
namespace {

constexpr uint64_t kStepsPerPoll = 4096;
// Longest sleep between two checks for signals.
constexpr double kSliceSeconds = 0.1;
// Longest work after a signal; the rest stays in the spool.
constexpr std::chrono::seconds kDrainLimit(5);

absl::Status ServeMetrics(const config::v1::SidecarOptions& options,
                          Metrics* metrics) {
  int port = 0;
  if (!options.metrics_listen().empty()) {
    ASSIGN_OR_RETURN(port, metrics->Serve(options.metrics_listen()));
  }
  if (options.port_file().empty()) return absl::OkStatus();
  return WriteFile(options.port_file(), absl::StrCat("metrics ", port, "\n"));
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
                        const std::function<bool(double)>& wait_for_stop) {
  RETURN_IF_ERROR(ValidateStreamOptions(options));
  Metrics metrics;
  if (!options.publish().url().empty()) {
    RETURN_IF_ERROR(ServeMetrics(options, &metrics));
    return RunShipper(options, &metrics, wait_for_stop);
  }
  // Locks what the pipeline follows, so it comes first and goes last.
  ASSIGN_OR_RETURN(const std::unique_ptr<MirrorThread> mirror,
                   MirrorThread::Start(options, &metrics));
  ASSIGN_OR_RETURN(const std::unique_ptr<Pipeline> pipeline,
                   Pipeline::Open(options, &metrics, NowUs, SteadyUs));
  RETURN_IF_ERROR(ServeMetrics(options, &metrics));
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
  const SidecarCounts& counts = pipeline->counts();
  LogInfo("sidecar stopped", {{"tuples", counts.tuples},
                              {"matched", counts.matched},
                              {"pending", counts.pending}});
  return absl::OkStatus();
}

}  // namespace sortition
