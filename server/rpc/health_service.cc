#include "server/rpc/health_service.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace sortition {

using grpc::health::v1::HealthCheckResponse;

HealthService::HealthService(Metrics* metrics)
    : ready_(metrics->Gauge("sortition_ready",
                            "1: health checks of the server say SERVING")) {}

void HealthService::Set(const std::string& service, bool serving) {
  const HealthStatus status =
      serving ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING;
  std::lock_guard lock(mutex_);
  HealthStatus& current = statuses_[service];
  if (ending_ || current == status) return;
  current = status;
  if (service.empty()) ready_->Set(serving ? 1 : 0);
  for (const auto& [watcher, watched] : watchers_) {
    if (watched.service == service) watcher->Send(status);
  }
}

void HealthService::SetNotServing() {
  std::lock_guard lock(mutex_);
  ending_ = true;
  ready_->Set(0);
  for (auto& [service, status] : statuses_) {
    status = HealthCheckResponse::NOT_SERVING;
  }
  for (const auto& [watcher, watched] : watchers_) {
    if (statuses_.contains(watched.service)) {
      watcher->Send(HealthCheckResponse::NOT_SERVING);
    }
  }
}

absl::Status HealthService::Check(
    const grpc::health::v1::HealthCheckRequest& request,
    HealthCheckResponse* response) const {
  std::lock_guard lock(mutex_);
  const auto status = statuses_.find(request.service());
  if (status == statuses_.end()) {
    return absl::NotFoundError(absl::StrCat(
        "service = \"",
        absl::CHexEscape(request.service().substr(0, kMaxServiceBytes)),
        "\": no such service here"));
  }
  response->set_status(status->second);
  return absl::OkStatus();
}

absl::Status HealthService::Watch(const std::string& service,
                                  const std::string& peer,
                                  HealthWatcher* watcher) {
  if (service.size() > kMaxServiceBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("service has ", service.size(),
                     " bytes: must have at most ", kMaxServiceBytes));
  }
  std::lock_guard lock(mutex_);
  if (watchers_.size() >= kMaxWatches) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the server has ", kMaxWatches,
        " health watches, which is the most it permits; use Check"));
  }
  size_t& num_watches = num_watches_[peer];
  if (num_watches >= kMaxWatchesOfPeer) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "this connection has ", kMaxWatchesOfPeer,
        " health watches, which is the most it may have; end one first"));
  }
  ++num_watches;
  watchers_[watcher] = {service, peer};
  const auto status = statuses_.find(service);
  watcher->Send(status == statuses_.end() ? HealthCheckResponse::SERVICE_UNKNOWN
                                          : status->second);
  if (finishing_) watcher->Finish();
  return absl::OkStatus();
}

void HealthService::Unwatch(HealthWatcher* watcher) {
  std::lock_guard lock(mutex_);
  const auto found = watchers_.find(watcher);
  if (found == watchers_.end()) return;
  const auto of_peer = num_watches_.find(found->second.peer);
  if (--of_peer->second == 0) num_watches_.erase(of_peer);
  watchers_.erase(found);
}

void HealthService::FinishWatchers() {
  std::lock_guard lock(mutex_);
  finishing_ = true;
  for (const auto& [watcher, watched] : watchers_) watcher->Finish();
}

}  // namespace sortition
