// sortition-sidecar: joins the server's log into bandit tuples.
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "process/hangup.h"
#include "process/log.h"
#include "process/service/changed_options.h"
#include "process/service/service.h"
#include "process/service/supervisor.h"
#include "process/shutdown.h"
#include "sidecar/check_config.h"
#include "sidecar/run.h"
#include "sortition/config/v1/sidecar.pb.h"

namespace {

constexpr char kHelp[] =
    R"(usage: sortition-sidecar --spool=DIR --tuples=DIR [flags]
       sortition-sidecar --spool=DIR --publish.url=nats://HOST:4222 [flags]
       sortition-sidecar --consume.url=nats://HOST:4222 --mirror=DIR
           --spool='DIR/*' --tuples=DIR [flags]
       sortition-sidecar --config=FILE [flags]

Joins the server's log into bandit tuples. Follows the spool that
sortition-server writes. A decision, what was shown and the feedback that came
within --reward_wait_time_seconds become one tuple in DIR/*.seg; later feedback
goes to DIR/late. May be killed at any time and started again: every decision
gets exactly one tuple. SIGTERM ends it; decisions whose window is open stay in
the spool for the next start. SIGHUP reloads nothing.

With --publish.url the spool is not joined here but published to a stream of
NATS JetStream; with --consume.url the spools of a stream are copied to --mirror
and joined there (docs/streams.md). --version says whether NATS is built in.
)";

absl::Status Run(const std::vector<std::string>& arguments,
                 const sortition::config::v1::SidecarOptions& options) {
  const sortition::HangupWatch hangups([&] {
    sortition::LogInfo("nothing to reload: options are read at the start");
    sortition::LogChangedOptions(arguments, options);
  });
  sortition::Supervisor supervisor = sortition::Supervisor::FromEnvironment();
  // Asked at every turn of the sidecar's one loop, which begins once all is
  // open.
  const auto wait_for_stop = [&](double seconds) {
    supervisor.Ready();
    supervisor.Alive();
    const bool stops = sortition::WaitForShutdown(seconds);
    if (stops) supervisor.Stopping();
    return stops;
  };
  return sortition::RunSidecar(options, wait_for_stop);
}

}  // namespace

int main(int argc, char** argv) {
  sortition::BlockShutdownSignals();
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  sortition::config::v1::SidecarOptions options;
  return sortition::RunService(
      {.name = "sortition-sidecar",
       .help = kHelp,
       .validate = [&] { return sortition::ValidateSidecarOptions(options); },
       .check = [&] { return sortition::CheckSidecarConfig(options); },
       .run = [&] { return Run(arguments, options); }},
      arguments, &options);
}
