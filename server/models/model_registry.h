#pragma once
// The models of a server: found in the store, validated and warmed up by a
// thread of its own, then swapped by pointer while requests run.
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "io/models/model_store.h"
#include "process/metrics.h"
#include "server/models/directory_watch.h"
#include "server/models/served_model.h"
#include "sortition/config/v1/server.pb.h"
#include "sortition/v1/models.pb.h"

namespace sortition {

// The models are the default one and every directory of the store. Of each, the
// newest version that loads and validates serves; a bad version never does: it
// is counted, logged and remembered, and looked at again when its files change.
// A version that serves goes on when it is removed from disk. Thread-safe.
class ModelRegistry {
 public:
  // `metrics` must outlive it.
  ModelRegistry(const config::v1::ServerOptions& options, Metrics* metrics);
  ~ModelRegistry();  // Stop()

  // Makes the store's directory where it is missing, looks once, and goes on
  // looking in the background. NotFound, PermissionDenied: no such store.
  absl::Status Start();
  void Stop();

  // One look at the store, done when it returns.
  void Refresh();

  // What serves `name` now. Never waits for a load. NotFound lists the models
  // that there are.
  absl::StatusOr<std::shared_ptr<const ServedModel>> Find(
      absl::string_view name) const;

  // All models, by name.
  std::vector<v1::ModelStatus> List() const;

 private:
  struct Rejection {
    std::string reason;
    std::string fingerprint;  // Of the files that were bad.
    bool transient = false;   // The disk's fault, not the model's: tried again.
  };
  struct Entry {
    std::shared_ptr<const ServedModel> serving;
    std::map<uint64_t, Rejection> rejected;
  };

  void Run();
  void RefreshModel(const std::string& name);
  // True where the version serves now.
  bool TryVersion(const std::string& name, uint64_t version);
  void Reject(const std::string& name, uint64_t version,
              const std::string& stage, Rejection rejection);
  void Serve(const std::shared_ptr<const ServedModel>& model,
             double load_seconds);
  void SetMetrics();

  const ModelStore store_;
  const std::string default_model_;
  const double poll_seconds_;
  Metrics* const metrics_;
  DirectoryWatch watch_;
  std::thread thread_;
  std::atomic<bool> stop_{false};
  std::mutex refresh_mutex_;  // One look at a time; taken before `mutex_`.
  std::string last_store_error_;

  mutable std::mutex mutex_;  // Held for moments only, never during a load.
  absl::flat_hash_map<std::string, Entry> models_;
};

}  // namespace sortition
