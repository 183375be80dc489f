#pragma once
// grpc.health.v1 without its transport: what serves, and who watches it.
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "grpc/health/v1/health.pb.h"
#include "process/metrics.h"

namespace sortition {

using HealthStatus = grpc::health::v1::HealthCheckResponse::ServingStatus;

// One Watch call. Both methods are called with the service's lock held: they
// must neither call back nor wait.
class HealthWatcher {
 public:
  virtual ~HealthWatcher() = default;
  virtual void Send(HealthStatus status) = 0;
  virtual void Finish() = 0;
};

// Thread-safe. sortition_ready says whether the service "" is SERVING.
class HealthService {
 public:
  // `metrics` must outlive it.
  explicit HealthService(Metrics* metrics);

  // Sets the status of `service` and tells its watchers. Does nothing after
  // SetNotServing().
  void Set(const std::string& service, bool serving);
  // Sets all services that were set before to NOT_SERVING, for good.
  void SetNotServing();

  absl::Status Check(const grpc::health::v1::HealthCheckRequest& request,
                     grpc::health::v1::HealthCheckResponse* response) const;

  // Sends `watcher` the status now and after every change until Unwatch();
  // FinishWatchers() finishes it.
  void Watch(const std::string& service, HealthWatcher* watcher);
  void Unwatch(HealthWatcher* watcher);
  // Finishes all watchers, also those that come later: the server shuts down.
  void FinishWatchers();

 private:
  MetricGauge* const ready_;
  mutable std::mutex mutex_;
  std::map<std::string, HealthStatus> statuses_;
  std::map<HealthWatcher*, std::string> watchers_;
  bool ending_ = false;
  bool finishing_ = false;
};

}  // namespace sortition
