#pragma once
// The models of a server. A thread finds versions in the store, validates them
// and warms them up; then it swaps a pointer while requests run.
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "io/models/model_store.h"
#include "process/metrics.h"
#include "server/models/directory_watch.h"
#include "server/models/failure_reports.h"
#include "server/models/load_failure.h"
#include "server/models/served_model.h"
#include "sortition/config/v1/server.pb.h"

namespace sortition {

// What a registry knows of one model.
struct ModelState {
  std::shared_ptr<const ServedModel> serving;
  std::map<uint64_t, std::string> rejected;  // Reason by version.
};

// The models that serve, by name, at one moment.
using ServingModels =
    absl::flat_hash_map<std::string, std::shared_ptr<const ServedModel>>;

// What a thread has seen last of a registry. A thread that asks for nothing
// keeps a version that was swapped out.
struct SeenModels {
  uint64_t generation = 0;
  std::shared_ptr<const ServingModels> serving;
};

// The models are the default one and every directory of the store. The newest
// version of each that loads and validates serves. A bad version never serves:
// it is counted, logged, remembered, and tried again when its files change. A
// version continues to serve when it is removed from disk. Thread-safe.
class ModelRegistry {
 public:
  // `metrics` must outlive it.
  ModelRegistry(const config::v1::ServerOptions& options, Metrics* metrics);
  ~ModelRegistry();  // Stop()

  // Makes the store's directory if it is missing, refreshes once, and keeps
  // refreshing in the background. NotFound, PermissionDenied: no such store.
  absl::Status Start();
  void Stop();

  // Looks at the store once and takes what is new.
  void Refresh();

  // Calls `follow` whenever a version has begun to serve, from the thread that
  // found it. Call before Start().
  void Follow(std::function<void()> follow) { follow_ = std::move(follow); }

  // Returns whether a version of the default model serves, not only the uniform
  // policy.
  bool HasDefault() const;

  // Returns the model that serves `name` now; empty: the default model. Never
  // waits for a load. The message of a NotFound begins with the quoted name and
  // lists the models that exist.
  absl::StatusOr<std::shared_ptr<const ServedModel>> Find(
      absl::string_view name) const;

  // The same without a lock, unless a version was swapped since `seen`.
  absl::StatusOr<std::shared_ptr<const ServedModel>> Find(
      absl::string_view name, SeenModels* seen) const;

  // Returns all models, sorted by name.
  std::vector<ModelState> List() const;

 private:
  struct Rejection {
    std::string reason;
    std::string fingerprint;  // Identifies the state of the bad files.
    bool transient = false;  // The machine's fault, not the model's: try again.
  };
  struct Entry {
    std::shared_ptr<const ServedModel> serving;
    std::map<uint64_t, Rejection> rejected;
  };

  void Run();
  void RefreshModel(const std::string& name);
  void NoteListFailure(const std::string& name, const absl::Status& status);
  // Returns true if the version serves now.
  bool TryVersion(const std::string& name, uint64_t version);
  void Reject(const std::string& name, uint64_t version, LoadFailure failure,
              Rejection rejection);
  void Serve(const std::shared_ptr<const ServedModel>& model,
             double load_seconds);
  void SetMetrics();

  const ModelStore store_;
  const std::string default_model_;
  const double poll_seconds_;
  Metrics* const metrics_;
  MetricCounter* const list_failures_;
  std::function<void()> follow_;
  DirectoryWatch watch_;
  std::thread thread_;
  std::atomic<bool> stop_{false};
  std::mutex refresh_mutex_;  // Refresh() runs once at a time. Before `mutex_`.
  std::string last_store_error_;
  // By model; guarded by `refresh_mutex_`.
  absl::flat_hash_map<std::string, FailureReports> list_reports_;

  mutable std::mutex mutex_;  // Held for moments, never during a load.
  absl::flat_hash_map<std::string, Entry> models_;
  // What serves of `models_`; guarded by `mutex_`.
  std::shared_ptr<const ServingModels> serving_;
  // Of `serving_`; different for all tables of all registries.
  std::atomic<uint64_t> generation_{0};
};

}  // namespace sortition
