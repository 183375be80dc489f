#pragma once
// The folder of a quickstart: options of three programs, a request, a script
// that starts all, and the directories that they share.
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sortition {

// Paths in the folder.
inline constexpr char kServerOptions[] = "server.textproto";
inline constexpr char kSidecarOptions[] = "sidecar.textproto";
inline constexpr char kTrainerOptions[] = "trainer.textproto";
inline constexpr char kRequest[] = "request.json";

struct QuickstartPlan {
  std::string dir;  // Absolute.
  int rpc_port = 0;
  int metrics_port = 0;
  int http_port = 0;
  int sidecar_metrics_port = 0;
  int sidecar_http_port = 0;
  double reward_wait_time_seconds = 60;
};

enum class FolderState { kAbsent, kEmpty, kOwn };

// Returns what is at `dir`. FailedPrecondition if it is a folder of somebody
// else, or no folder.
absl::StatusOr<FolderState> LookAtFolder(const std::string& dir);

// Makes the folder, or fills the empty one that is there: all of it, or
// nothing.
absl::Status WriteFolder(const QuickstartPlan& plan);

// Takes the folder for one who runs its programs. Returns a descriptor: until
// it is closed, nobody else can. FailedPrecondition if somebody has it.
absl::StatusOr<int> LockFolder(const std::string& dir);

// Returns `text` as one word of a shell.
std::string ShellQuoted(const std::string& text);

}  // namespace sortition
