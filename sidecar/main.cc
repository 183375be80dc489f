// sortition-sidecar: joins the server's log into bandit tuples.
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "process/hangup.h"
#include "process/log.h"
#include "process/options.h"
#include "process/shutdown.h"
#include "process/version.h"
#include "sidecar/run.h"
#include "sidecar/stream/nats_stream.h"
#include "sortition/config/v1/sidecar.pb.h"

namespace {

constexpr char kUsage[] =
    R"(sortition-sidecar %s: joins the server's log into bandit tuples.

  sortition-sidecar --spool=DIR --tuples=DIR [flags]
  sortition-sidecar --spool=DIR --publish.url=nats://HOST:4222 [flags]
  sortition-sidecar --consume.url=nats://HOST:4222 --mirror=DIR
      --spool='DIR/*' --tuples=DIR [flags]
  sortition-sidecar --config=FILE [flags]

Follows the spool that sortition-server writes. A decision, what was shown and
the feedback that came within --reward_wait_time_seconds become one tuple in
DIR/*.seg; later feedback goes to DIR/late. May be killed at any time and
started again: every decision gets exactly one tuple. SIGTERM ends it; decisions
whose window is open stay in the spool for the next start. SIGHUP reloads nothing.

With --publish.url the spool is not joined here but published to a stream of NATS
JetStream; with --consume.url the spools of a stream are copied to --mirror and
joined there (docs/streams.md). --version says whether NATS is built in.

Flags override the text file given by --config; it uses the same names.

%s
Exit status: 0 after SIGTERM or SIGINT, 1 on an error.
)";

}  // namespace

int main(int argc, char** argv) {
  sortition::BlockShutdownSignals();
  if (argc == 2 && std::strcmp(argv[1], "--version") == 0) {
    std::printf("sortition-sidecar %s%s\n",
                std::string(sortition::Version()).c_str(),
                sortition::HasNats() ? " with NATS" : "");
    return 0;
  }
  sortition::config::v1::SidecarOptions options;
  sortition::CommandLine command_line;
  absl::Status status = sortition::ParseOptions(
      std::vector<std::string>(argv + 1, argv + argc), &options, &command_line);
  if (status.ok() && command_line.help) {
    std::printf(kUsage, std::string(sortition::Version()).c_str(),
                sortition::OptionsHelp(options.GetDescriptor()).c_str());
    return 0;
  }
  if (status.ok() && !command_line.positional.empty()) {
    status = absl::InvalidArgumentError("unexpected argument '" +
                                        command_line.positional.front() + "'");
  }
  if (!status.ok()) {
    std::fprintf(stderr, "sortition-sidecar: %s\nTry --help.\n",
                 std::string(status.message()).c_str());
    return 1;
  }
  const sortition::HangupWatch hangups([] {
    sortition::LogInfo("nothing to reload: options are read at the start");
  });
  status = sortition::RunSidecar(options, sortition::WaitForShutdown);
  if (!status.ok()) {
    sortition::LogError("sidecar failed", {{"error", status.ToString()}});
    return 1;
  }
  return 0;
}
