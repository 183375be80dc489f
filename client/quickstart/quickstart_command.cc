#include "client/quickstart/quickstart_command.h"

#include <unistd.h>

#include <filesystem>
#include <iterator>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "client/quickstart/folder.h"
#include "client/quickstart/ports.h"
#include "client/quickstart/three_programs.h"
#include "core/base/status_macros.h"
#include "process/shutdown.h"
#include "sortition/config/v1/sidecar.pb.h"

namespace sortition {
namespace {

constexpr char kDefaultDirectory[] = "sortition-quickstart";

// Ports of deploy/examples: RPC, metrics, HTTP; metrics and HTTP of the
// sidecar.
constexpr int kUsualPorts[] = {8500, 8501, 8503, 8502, 8504};

absl::Status Write(const config::v1::QuickstartOptions& options,
                   const std::string& dir) {
  std::vector<int> wanted(std::begin(kUsualPorts), std::end(kUsualPorts));
  if (options.free_ports()) wanted.assign(wanted.size(), 0);
  ASSIGN_OR_RETURN(const std::vector<int> ports, FreePorts(wanted));
  for (size_t i = 0; i < ports.size(); ++i) {
    if (wanted[i] == 0 || ports[i] == wanted[i]) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "port ", wanted[i],
        " of 127.0.0.1 is in use, perhaps by another quickstart: end that one, "
        "or take ports that are free (--free_ports)"));
  }
  return WriteFolder(
      {.dir = dir,
       .rpc_port = ports[0],
       .metrics_port = ports[1],
       .http_port = ports[2],
       .sidecar_metrics_port = ports[3],
       .sidecar_http_port = ports[4],
       .reward_wait_time_seconds = options.reward_wait_time_seconds()});
}

// Options that shape a new folder do nothing to one that is there.
absl::Status WarnOfUnused(const config::v1::QuickstartOptions& options,
                          const std::string& dir, CommandOutput* output) {
  const auto warn = [&](const std::string& option, const std::string& what,
                        const char* file) {
    output->error << "warning: --" << option << " does nothing, because " << dir
                  << " has " << what << " already; change it in " << dir << "/"
                  << file << "\n";
  };
  if (options.free_ports()) warn("free_ports", "ports", kServerOptions);
  if (!options.has_reward_wait_time_seconds()) return absl::OkStatus();
  config::v1::SidecarOptions sidecar;
  CommandLine command_line;
  RETURN_IF_ERROR(
      ParseOptions({absl::StrCat("--config=", dir, "/", kSidecarOptions)},
                   &sidecar, &command_line));
  const double has = sidecar.join().reward_wait_time_seconds();
  if (has != options.reward_wait_time_seconds()) {
    warn(absl::StrCat("reward_wait_time_seconds=",
                      options.reward_wait_time_seconds()),
         absl::StrCat("join.reward_wait_time_seconds ", has), kSidecarOptions);
  }
  return absl::OkStatus();
}

}  // namespace

const char kQuickstartHelp[] =
    R"(Writes a folder with the options of server, sidecar and trainer, a request and
a script, starts the three programs, and says what to try next. Ctrl-C ends
them, and so does the end of the terminal, except under nohup: the server drains
first. A folder that quickstart made before is used as it is, with all changes
to its options.

  sortition quickstart                 in sortition-quickstart
  sortition quickstart DIR --write_only

DIR must be absent, empty, or made by quickstart. One quickstart at a time may
run on it.
)";

absl::Status RunQuickstart(const config::v1::QuickstartOptions& options,
                           const std::vector<std::string>& positional,
                           CommandOutput* output) {
  std::error_code error;
  std::filesystem::path path = std::filesystem::absolute(
      positional.empty() ? kDefaultDirectory : positional[0], error);
  if (error) return absl::UnavailableError(error.message());
  path = path.lexically_normal();
  // "DIR/" has no last name.
  if (path.filename().empty()) path = path.parent_path();
  const std::string dir = path.string();
  ASSIGN_OR_RETURN(const FolderState state, LookAtFolder(dir));
  if (state == FolderState::kOwn) {
    output->out << dir << " is there already and is used as it is\n";
    RETURN_IF_ERROR(WarnOfUnused(options, dir, output));
  } else {
    RETURN_IF_ERROR(Write(options, dir));
    output->out << dir << " written\n";
  }
  output->out.flush();
  if (options.write_only()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int lock, LockFolder(dir));
  const absl::Cleanup unlock = [lock] { close(lock); };
  BlockShutdownSignals(Hangup::kEnd);
  return RunThreePrograms(
      {.dir = dir,
       .programs = options.programs(),
       .train_every_seconds = options.train_every_seconds()},
      WaitForShutdown, &output->out);
}

}  // namespace sortition
