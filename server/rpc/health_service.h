#pragma once
// grpc.health.v1 without its transport: what serves, and who watches it.
#include <cstddef>
#include <map>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "grpc/health/v1/health.pb.h"
#include "process/metrics.h"

namespace sortition {

// Largest request of the health service, bytes: a name and some fields that a
// later version of the protocol may have.
inline constexpr size_t kMaxHealthRequestBytes = 256;

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
  // FinishWatchers() finishes it. `peer` is the address of the client. Fails,
  // without a call of `watcher`, with InvalidArgument if the name is too long,
  // and with ResourceExhausted if there are too many watches: anyone may watch,
  // so what a watch can hold is bounded.
  absl::Status Watch(const std::string& service, const std::string& peer,
                     HealthWatcher* watcher);
  // Does nothing if `watcher` does not watch.
  void Unwatch(HealthWatcher* watcher);
  static constexpr size_t kMaxServiceBytes = 64;
  static constexpr size_t kMaxWatches = 4096;
  static constexpr size_t kMaxWatchesOfPeer = 64;  // One connection.
  // Finishes all watchers, also those that come later: the server shuts down.
  void FinishWatchers();

 private:
  MetricGauge* const ready_;
  mutable std::mutex mutex_;
  std::map<std::string, HealthStatus> statuses_;
  struct Watched {
    std::string service;
    std::string peer;
  };
  std::map<HealthWatcher*, Watched> watchers_;
  std::map<std::string, size_t> num_watches_;  // By peer; none is 0.
  bool ending_ = false;
  bool finishing_ = false;
};

}  // namespace sortition
