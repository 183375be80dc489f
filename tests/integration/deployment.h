#pragma once
// A server and a sidecar of this build in one directory, as a test needs them.
#include <grpcpp/channel.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "io/models/model_store.h"
#include "sortition/log/v1/log.pb.h"
#include "sortition/model/v1/model.pb.h"
#include "tests/testing/child_process.h"
#include "tests/testing/temp_dir.h"

namespace sortition {

// Upper limit for anything that normally takes a fraction of a second; covers
// sanitizers on a busy machine.
inline constexpr double kPatienceSeconds = 60;

// Directories and processes. Both are killed with the object.
class Deployment {
 public:
  Deployment();

  std::string path(absl::string_view name) const;
  std::string spool() const { return path("spool"); }
  std::string tuples() const { return path("tuples"); }
  std::string models() const { return path("models"); }
  ModelStore store() const { return ModelStore(models()); }

  // Starts it and waits until it serves; `flags` are added to those that set
  // directories and free ports. The model is "default".
  absl::Status StartServer(const std::vector<std::string>& flags = {});
  absl::Status StartSidecar(const std::vector<std::string>& flags = {});

  ChildProcess& server() { return *server_; }
  ChildProcess& sidecar() { return *sidecar_; }
  std::string address() const;  // Of the server's RPC port.
  std::shared_ptr<grpc::Channel> NewChannel() const;

  // What /metrics says now.
  absl::StatusOr<std::string> ServerMetrics() const;
  absl::StatusOr<std::string> SidecarMetrics() const;

 private:
  TempDir directory_;
  std::unique_ptr<ChildProcess> server_;
  std::unique_ptr<ChildProcess> sidecar_;
  int rpc_port_ = 0;
  int metrics_port_ = 0;
  int sidecar_metrics_port_ = 0;
};

// Body of http://127.0.0.1:port/metrics.
absl::StatusOr<std::string> FetchMetrics(int port);

// Sum over all label sets of a metric whose name and labels start with `prefix`
// ("name" or "name{label=\"x"); 0 where there is none.
double MetricSum(const std::string& text, absl::string_view prefix);

// A model "default" with num_features weights, weight j = scale · (j + 1).
model::v1::Model SelectionModel(uint32_t num_features, double scale);
model::v1::Model RankingModel(uint32_t num_features, double scale);

// Calls `visit` with every record of every segment in `dir`. DataLoss where a
// record is damaged, or where `closed` and a segment has no footer or a torn
// tail. NotFound becomes OK where a segment vanishes meanwhile and not
// `closed`.
absl::Status VisitRecords(
    const std::string& dir, bool closed,
    const std::function<void(const log::v1::LogRecord&)>& visit);

// Decision ids in the order of the records, one per tuple or decision.
absl::StatusOr<std::vector<std::string>> TupleIds(const std::string& dir);
absl::StatusOr<std::vector<std::string>> SpoolDecisionIds(
    const std::string& dir);

}  // namespace sortition
