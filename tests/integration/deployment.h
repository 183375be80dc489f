#pragma once
// A server and a sidecar of this build in one directory.
#include <grpcpp/channel.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "io/models/model_store.h"
#include "sortition/log/v1/log.pb.h"
#include "sortition/model/v1/model.pb.h"
#include "tests/testing/child_process.h"
#include "tests/testing/http_page.h"
#include "tests/testing/patience.h"
#include "tests/testing/temp_dir.h"

namespace sortition {

// Upper limit for anything that normally takes a fraction of a second; allows
// for a busy machine.
inline const double kPatienceSeconds = Patience(60);

// Returns the option that sets the window of the join: long enough for all
// feedback of a simulation.
inline std::string JoinWindow(double seconds) {
  return absl::StrCat("--join.reward_wait_time_seconds=", Patience(seconds));
}

// Owns the directories and processes. Both processes are killed with the
// object.
class Deployment {
 public:
  Deployment();

  std::string path(absl::string_view name) const;
  std::string spool() const { return path("spool"); }
  std::string tuples() const { return path("tuples"); }
  std::string models() const { return path("models"); }
  ModelStore store() const { return ModelStore(models()); }

  // Starts the server and waits until it serves. `flags` are added to those
  // that set directories and free ports, and let calls wait long enough for a
  // busy machine. The model is "default".
  absl::Status StartServer(const std::vector<std::string>& flags = {});
  absl::Status StartSidecar(const std::vector<std::string>& flags = {});

  ChildProcess& server() { return *server_; }
  ChildProcess& sidecar() { return *sidecar_; }
  std::string address() const;  // The server's RPC address.
  std::shared_ptr<grpc::Channel> NewChannel() const;

  int metrics_port() const { return metrics_port_; }
  int http_port() const { return http_port_; }  // Of the server.
  int sidecar_metrics_port() const { return sidecar_metrics_port_; }
  // The present text of /metrics.
  absl::StatusOr<std::string> ServerMetrics() const;
  absl::StatusOr<std::string> SidecarMetrics() const;

 private:
  TempDir directory_;
  std::unique_ptr<ChildProcess> server_;
  std::unique_ptr<ChildProcess> sidecar_;
  int rpc_port_ = 0;
  int metrics_port_ = 0;
  int http_port_ = 0;
  int sidecar_metrics_port_ = 0;
};

// Expects that the process logs `text`, perhaps a moment after what the text is
// about: log lines are written by a thread of their own.
inline void ExpectLogged(const ChildProcess& process, absl::string_view text) {
  EXPECT_TRUE(
      PollUntil(kPatienceSeconds,
                [&] { return absl::StrContains(process.StderrText(), text); }))
      << text << " is not in " << process.StderrText();
}

// A model "default" with num_features weights, weight j = scale · (j + 1).
model::v1::Model SelectionModel(uint32_t num_features, double scale);
model::v1::Model RankingModel(uint32_t num_features, double scale);

// Calls `visit` with every record of every segment in `dir`. DataLoss if a
// record is damaged, or if `closed` and a segment has no footer or a torn tail.
// Unless `closed`, a segment that vanishes meanwhile is skipped.
absl::Status VisitRecords(
    const std::string& dir, bool closed,
    const std::function<void(const log::v1::LogRecord&)>& visit);

// The decision ids of the tuples or decisions, in the order of the records.
absl::StatusOr<std::vector<std::string>> TupleIds(const std::string& dir);
absl::StatusOr<std::vector<std::string>> SpoolDecisionIds(
    const std::string& dir);

}  // namespace sortition
