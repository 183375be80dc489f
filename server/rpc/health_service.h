#pragma once
// grpc.health.v1 without its transport: what serves, and who wants to know.
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "grpc/health/v1/health.pb.h"

namespace sortition {

using HealthStatus = grpc::health::v1::HealthCheckResponse::ServingStatus;

// One Watch call. Both are called with the service's lock held: they must not
// call back, nor wait.
class HealthWatcher {
 public:
  virtual ~HealthWatcher() = default;
  virtual void Send(HealthStatus status) = 0;
  virtual void Finish() = 0;
};

// Thread-safe.
class HealthService {
 public:
  // Tells the watchers of `service`.
  void Set(const std::string& service, bool serving);
  // All that were set before.
  void SetNotServing();

  absl::Status Check(const grpc::health::v1::HealthCheckRequest& request,
                     grpc::health::v1::HealthCheckResponse* response) const;

  // `watcher` is sent the status now and at every change until Unwatch(), and
  // finished by FinishWatchers().
  void Watch(const std::string& service, HealthWatcher* watcher);
  void Unwatch(HealthWatcher* watcher);
  // Also those that come later: the server shuts down.
  void FinishWatchers();

 private:
  mutable std::mutex mutex_;
  std::map<std::string, HealthStatus> statuses_;
  std::map<HealthWatcher*, std::string> watchers_;
  bool finishing_ = false;
};

}  // namespace sortition
