// sortition-server: decides at random, logs every decision, swaps models under
// load.
#include <malloc.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "core/base/status_macros.h"
#include "google/protobuf/stubs/logging.h"
#include "process/hangup.h"
#include "process/log.h"
#include "process/service/changed_options.h"
#include "process/service/service.h"
#include "process/service/supervisor.h"
#include "process/shutdown.h"
#include "server/check_config.h"
#include "server/rpc/grpc_log.h"
#include "server/server.h"

namespace sortition {
namespace {

constexpr char kHelp[] =
    "usage: sortition-server --model_store=DIR [--spool.dir=DIR] [OPTION]...\n"
    "\n"
    "Ranks, selects and labels candidates at random over gRPC (port 8500) and\n"
    "returns the exact probability of every answer; metrics for Prometheus at\n"
    "/metrics (port 8501); the same calls as JSON, and a page to look at, "
    "over\n"
    "HTTP (port 8503). Serves the newest good version of every model in\n"
    "the store and swaps versions while it runs. SIGTERM drains, SIGHUP looks "
    "at\n"
    "the store at once.\n"
    "\n"
    "Example: sortition-server --model_store=/models --spool.dir=/spool\n"
    "             --listen=0.0.0.0:8500 --metrics_listen=0.0.0.0:8501\n";

void TuneLibraries() {
  // Memory of requests returns to the allocator, not to the kernel: otherwise
  // large requests spend most of their time on page faults. 32 MB is the
  // largest threshold for mmap that glibc accepts.
  constexpr int kMegabyte = 1 << 20;
  mallopt(M_MMAP_THRESHOLD, 32 * kMegabyte);
  mallopt(M_TRIM_THRESHOLD, 1024 * kMegabyte);
  // The packaged Abseil has the deadlock detector of debug builds switched on:
  // every lock inside gRPC would look into a global graph.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  RouteGrpcLog();
  // Protobuf logs malformed requests; we refuse them with our own words.
  google::protobuf::SetLogHandler(nullptr);
}

absl::Status Run(const std::vector<std::string>& arguments,
                 const config::v1::ServerOptions& options) {
  Supervisor supervisor = Supervisor::FromEnvironment();
  ASSIGN_OR_RETURN(std::unique_ptr<Server> server, Server::Start(options));
  supervisor.Ready();
  {
    const HangupWatch hangups([&] {
      server->Reload();
      LogChangedOptions(arguments, options);
    });
    // Speaks for the threads that answer calls, as long as none hangs.
    while (!WaitForShutdown(supervisor.alive_seconds())) {
      if (server->TakesTurns()) supervisor.Alive();
    }
  }
  supervisor.Stopping();
  const absl::Status drained = server->Drain();
  // All that takes time, so that "drained" is the last thing that it does.
  server.reset();
  RETURN_IF_ERROR(drained);
  LogInfo("drained");
  return absl::OkStatus();
}

}  // namespace
}  // namespace sortition

int main(int argc, char** argv) {
  sortition::BlockShutdownSignals();
  sortition::TuneLibraries();
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  sortition::config::v1::ServerOptions options;
  return sortition::RunService(
      {.name = "sortition-server",
       .help = sortition::kHelp,
       .validate = [&] { return sortition::ValidateServerOptions(options); },
       .check = [&] { return sortition::CheckServerConfig(options); },
       .run = [&] { return sortition::Run(arguments, options); }},
      arguments, &options);
}
