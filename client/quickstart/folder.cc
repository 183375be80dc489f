#include "client/quickstart/folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/files.h"
#include "io/posix_status.h"

namespace sortition {
namespace {

namespace fs = std::filesystem;

// Says whose folder it is.
constexpr char kMark[] = ".quickstart";
constexpr char kScript[] = "start.sh";
// More than a server's default: with 50 decisions a second, a first model is
// proved better within three minutes (docs/operations.md#cold-start).
constexpr double kColdStartExplore = 0.4;
constexpr const char* kDirectories[] = {"models", "spool", "tuples", "run",
                                        "logs"};

struct FolderFile {
  std::string name;
  std::string text;
};

std::string Quoted(const std::string& text) {
  return absl::StrCat("\"", absl::CEscape(text), "\"");
}

std::string Address(int port) {
  return absl::StrCat("\"127.0.0.1:", port, "\"");
}

std::string ServerText(const QuickstartPlan& plan) {
  return absl::StrCat(
      "# sortition-server --config=server.textproto; sortition-server --help "
      "explains each.\n",
      "listen: ", Address(plan.rpc_port),
      "\nmetrics_listen: ", Address(plan.metrics_port),
      "\nhttp { listen: ", Address(plan.http_port),
      " sidecar: ", Address(plan.sidecar_http_port),
      " }\nmodel_store: ", Quoted(plan.dir + "/models"),
      "\nspool { dir: ", Quoted(plan.dir + "/spool"),
      " }\n# A thumb up is the reward 1, a thumb down -1, or the loss 1.\n"
      "feedback { reward_min: -1 reward_max: 1 }\n"
      "# Until there is a model: share of the decisions that are drawn at "
      "random\n# where the request has a baseline; the others are in the order "
      "that came.\ncold_start { explore: ",
      kColdStartExplore, " }\nport_file: ", Quoted(plan.dir + "/run/server"),
      "\n");
}

std::string SidecarText(const QuickstartPlan& plan) {
  return absl::StrCat(
      "# sortition-sidecar --config=sidecar.textproto\nspool: ",
      Quoted(plan.dir + "/spool"), "\ntuples: ", Quoted(plan.dir + "/tuples"),
      "\nmetrics_listen: ", Address(plan.sidecar_metrics_port),
      "\nhttp_listen: ", Address(plan.sidecar_http_port),
      "\njoin {\n  # Feedback that comes later does not count. In production, "
      "as long as users take.\n  reward_wait_time_seconds: ",
      plan.reward_wait_time_seconds,
      "\n  # A second click on a rank counts once; the last verdict of a user "
      "counts.\n  aggregation: SUM\n  repeats: ONCE_PER_RANK\n  reward_min: "
      "-1\n  reward_max: 1\n}\nport_file: ",
      Quoted(plan.dir + "/run/sidecar"), "\n");
}

std::string TrainerText(const QuickstartPlan& plan) {
  return absl::StrCat(
      "# sortition-trainer train --config=trainer.textproto; sortition-trainer "
      "train --help=poem\ntuples: ",
      Quoted(plan.dir + "/tuples"),
      "\nmodel_store: ", Quoted(plan.dir + "/models"),
      "\n# A decision earns the sum over its ranks, at most 1 and at least 0: "
      "a "
      "thumb down\n# takes back a click, and alone it counts as nothing. With "
      "reward_min: -0.1 it counts\n# as less than nothing, and the gate needs "
      "a "
      "fifth more decisions, with -1 about five\n# times as many.\n"
      "reward_min: 0\nreward_max: 1\nclamp_rewards: true\n# The test part "
      "alone decides; it "
      "is looked at "
      "when that is likely to prove something.\nvalidation_fraction: "
      "0.2\ntest_fraction: 0.4\nlook_when_likely: true\n"
      "memory_mb: 512\nreport: ",
      Quoted(plan.dir + "/run/report.json"), "\n");
}

std::vector<FolderFile> Files(const QuickstartPlan& plan) {
  const std::string dir = ShellQuoted(plan.dir);
  return {
      {kServerOptions, ServerText(plan)},
      {kSidecarOptions, SidecarText(plan)},
      {kTrainerOptions, TrainerText(plan)},
      {kRequest,
       "{\"context\": {\"baseline\": {}, \"candidates\": {\"num_features\": 2, "
       "\"dense\": "
       "{\"values\":\n  [0.9, 0.1, 0.2, 0.7, 0.4, 0.4]}}}, \"top_k\": 2}\n"},
      {kScript, absl::StrCat("#!/bin/sh\n# Starts server, sidecar and training "
                             "of this folder; Ctrl-C ends them.\nexec "
                             "sortition quickstart ",
                             dir, "\n")},
      {"README.md",
       absl::StrCat("`sortition quickstart ", dir,
                    "`, or `start.sh`, runs what the three `*.textproto` say; "
                    "`logs/` has their output.\n"
                    "A request: `sortition rank --server=127.0.0.1:",
                    plan.rpc_port, " --features=", dir,
                    "/request.json`.\n"
                    "`models/`, `spool/` and `tuples/` are all that is kept: "
                    "removed with the folder, everything is forgotten.\n")},
      // The last one: a folder that has it is whole.
      {kMark, "Made by sortition quickstart.\n"}};
}

absl::Status Failure(const std::string& what, const std::error_code& error) {
  return absl::UnavailableError(absl::StrCat(what, ": ", error.message()));
}

// Adds what it has made to `made`, in that order.
absl::Status Fill(const QuickstartPlan& plan, std::vector<fs::path>* made) {
  const fs::path dir = plan.dir;
  std::error_code error;
  for (const char* name : kDirectories) {
    const fs::path path = dir / name;
    // Of two that fill the folder at once, one finds what the other made.
    if (!fs::create_directory(path, error)) {
      return Failure(
          path, error ? error : std::make_error_code(std::errc::file_exists));
    }
    made->push_back(path);
  }
  for (const FolderFile& file : Files(plan)) {
    const fs::path path = dir / file.name;
    RETURN_IF_ERROR(WriteFile(path, file.text));
    made->push_back(path);
    if (file.name != kScript) continue;
    fs::permissions(
        path,
        fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec,
        fs::perm_options::add, error);
    if (error) return Failure(path, error);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<FolderState> LookAtFolder(const std::string& dir) {
  std::error_code error;
  if (!fs::exists(dir, error) && !error) return FolderState::kAbsent;
  if (fs::exists(fs::path(dir) / kMark, error)) return FolderState::kOwn;
  if (fs::is_directory(dir, error) && fs::is_empty(dir, error) && !error) {
    return FolderState::kEmpty;
  }
  return absl::FailedPreconditionError(
      absl::StrCat(dir,
                   " is there already, must be absent, empty, or a folder that "
                   "quickstart made"));
}

absl::Status WriteFolder(const QuickstartPlan& plan) {
  ASSIGN_OR_RETURN(const FolderState state, LookAtFolder(plan.dir));
  if (state == FolderState::kOwn) {
    return absl::FailedPreconditionError(
        absl::StrCat(plan.dir, " is there already, must be absent or empty"));
  }
  std::vector<fs::path> made;
  absl::Cleanup remover = [&made] {
    std::error_code ignored;
    // Directories that somebody else has put something into stay.
    for (auto path = made.rbegin(); path != made.rend(); ++path) {
      fs::remove(*path, ignored);
    }
  };
  std::error_code error;
  if (fs::create_directories(plan.dir, error)) made.push_back(plan.dir);
  if (error) return Failure(plan.dir, error);
  RETURN_IF_ERROR(Fill(plan, &made));
  std::move(remover).Cancel();
  return absl::OkStatus();
}

absl::StatusOr<int> LockFolder(const std::string& dir) {
  const std::string path = absl::StrCat(dir, "/", kMark);
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return PosixStatus(errno, path, "cannot open");
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  const int error = errno;
  close(fd);
  if (error != EWOULDBLOCK) return PosixStatus(error, path, "cannot lock");
  return absl::FailedPreconditionError(
      absl::StrCat(dir, " runs already: another quickstart holds ", path));
}

std::string ShellQuoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted.push_back(c);
    }
  }
  return quoted + "'";
}

}  // namespace sortition
