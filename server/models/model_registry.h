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
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "io/models/model_store.h"
#include "io/models/serving_edit.h"
#include "io/models/serving_state.h"
#include "io/models/store_listing.h"
#include "process/metrics.h"
#include "server/models/directory_watch.h"
#include "server/models/failure_reports.h"
#include "server/models/serving_set.h"
#include "server/models/version_loader.h"
#include "sortition/config/v1/server.pb.h"

namespace sortition {

// What a registry knows of one model.
struct ModelState {
  std::shared_ptr<const ServingSet> set;
  std::map<uint64_t, std::string> rejected;  // Reason by version.
  std::string serving_error;  // Why the state in the store is not in force.
  std::vector<IgnoredEntry> not_versions;  // In its folder.
};

// What serves, by model, at one moment.
using ServingModels =
    absl::flat_hash_map<std::string, std::shared_ptr<const ServingSet>>;

// What a thread has seen last of a registry. It keeps nothing alive: a thread
// that asks for nothing does not hold the memory of what was swapped out.
struct SeenModels {
  uint64_t generation = 0;
  std::weak_ptr<const ServingModels> serving;
};

// The models are the default one and every directory of the store. Of each
// serves what its SERVING.textproto says, by default the newest version that
// loads and validates. A bad version never serves, nor does a state that cannot
// be read, or names a bad version: what served before goes on. A version
// continues to serve when it is removed from disk. Thread-safe.
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

  // Returns what serves `name` now; empty: the default model. Never waits for a
  // load. The message of a NotFound begins with the quoted name and lists the
  // models that exist.
  absl::StatusOr<std::shared_ptr<const ServingSet>> Find(
      absl::string_view name) const;

  // The same without a lock, unless something was swapped since `seen`.
  absl::StatusOr<std::shared_ptr<const ServingSet>> Find(
      absl::string_view name, SeenModels* seen) const;

  // Returns all models, sorted by name.
  std::vector<ModelState> List() const;

  // Returns the entries of the store that are not models (ListStore()).
  std::vector<IgnoredEntry> ListNotModels() const;

  // Changes what serves of the model, as ChangeServing() in serving_state.h,
  // but only to a state that can serve: its versions are loaded first. Once it
  // returns, it serves. FailedPrecondition: a version cannot serve. NotFound:
  // there is no such model. Waits for loads.
  using Edit =
      absl::FunctionRef<absl::Status(const EditContext&, model::v1::Serving*)>;
  absl::StatusOr<model::v1::Serving> Change(const std::string& name,
                                            const ChangeCause& cause,
                                            Edit edit);

  const ModelStore& store() const { return store_; }

 private:
  struct Entry {
    std::shared_ptr<const ServingSet> set;
    std::string serving_error;
    std::vector<IgnoredEntry> not_versions;
  };

  // A state that could not be made into a set.
  struct FailedSet {
    std::string state;
    std::vector<uint64_t> versions;  // In the store.
    absl::Status status;
    absl::Time retry_time = absl::InfinitePast();
  };

  void Run();
  void RefreshModel(const std::string& name);
  void NoteListFailure(const std::string& name, const absl::Status& status);
  // Remembers the entries that are not versions of the model, or not models if
  // `model` is empty, and logs those that were not there before.
  void NoteIgnored(const std::string& model,
                   const std::vector<IgnoredEntry>& ignored);
  // Remembers, counts and logs that the state in the store cannot serve.
  void NoteServing(const std::string& name, const absl::Status& status);
  Entry FindEntry(const std::string& name) const;
  // Returns a version that is loaded already; null: it is not.
  ServingSet::Model FindLoaded(const ServingSet& before,
                               uint64_t version) const;
  // Loads a version, unless it is loaded already.
  absl::StatusOr<ServingSet::Model> Load(const ServingSet& before,
                                         uint64_t version,
                                         const ServedModel& beside,
                                         uint64_t room_bytes);
  // Checks that the versions that `serving` names can be loaded, before any of
  // them is; subtracts what they take from `room_bytes`.
  absl::Status CheckNamed(const model::v1::Serving& serving,
                          const ServingSet& before, uint64_t* room_bytes) const;
  // Returns the newest of `versions` that loads, or what serves if none is
  // newer. `room_bytes` are for it alone, unless `serving` names it.
  ServingSet::Model FollowNewest(const model::v1::Serving& serving,
                                 const ServingSet& before,
                                 const std::vector<uint64_t>& versions,
                                 uint64_t room_bytes);
  absl::StatusOr<std::shared_ptr<const ServingSet>> MakeSet(
      const model::v1::Serving& serving, const ServingSet& before,
      const std::vector<uint64_t>& versions);
  // Returns the set for a state of the store that cannot serve: the one in
  // force or, if nothing serves yet, the newest of the history that can.
  absl::StatusOr<std::shared_ptr<const ServingSet>> MakeFallback(
      const ServingSet& before, const std::vector<uint64_t>& versions);
  // Returns what of model_memory_bytes other models leave.
  uint64_t RoomFor(const std::string& name) const;
  void Serve(std::shared_ptr<const ServingSet> set);
  // Frees what nobody uses any more: large models must not be freed by the
  // thread of a request.
  void FreeRetired();
  void SetMetrics();

  const ModelStore store_;
  const std::string default_model_;
  const uint64_t memory_bytes_;
  const double poll_seconds_;
  Metrics* const metrics_;
  MetricCounter* const list_failures_;
  DriftGauges drift_gauges_;  // Set by one scrape at a time.
  std::function<void()> follow_;
  VersionLoader loader_;
  DirectoryWatch watch_;
  std::thread thread_;
  std::atomic<bool> stop_{false};
  std::mutex refresh_mutex_;  // Refresh() runs once at a time. Before `mutex_`.
  std::string last_store_error_;
  // By model; guarded by `refresh_mutex_`.
  absl::flat_hash_map<std::string, FailureReports> list_reports_;
  // What a look at one model has loaded, until it is over; guarded by
  // `refresh_mutex_`.
  std::map<uint64_t, ServingSet::Model> fresh_;
  // The last of each model; guarded by `refresh_mutex_`.
  absl::flat_hash_map<std::string, FailedSet> failed_sets_;
  // Versions that some thread may still use; guarded by `refresh_mutex_`.
  std::vector<ServingSet::Model> retired_;
  std::atomic<uint64_t> retired_bytes_{0};  // Of `retired_`.

  mutable std::mutex mutex_;  // Held for moments, never during a load.
  absl::flat_hash_map<std::string, Entry> models_;
  std::vector<IgnoredEntry> not_models_;  // Guarded by `mutex_`.
  // What serves of `models_`; guarded by `mutex_`.
  std::shared_ptr<const ServingModels> serving_;
  // Of `serving_`; different for all tables of all registries.
  std::atomic<uint64_t> generation_{0};
};

}  // namespace sortition
