#pragma once
// Loads versions of models and remembers those that must not serve.
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "io/models/model_store.h"
#include "process/metrics.h"
#include "server/models/load_failure.h"
#include "server/models/served_model.h"
#include "server/models/version_counters.h"

namespace sortition {

// A version that is refused is counted, logged, remembered, and tried again
// when its files change. Thread-safe.
class VersionLoader {
 public:
  // Both must outlive it.
  VersionLoader(const ModelStore* store, Metrics* metrics)
      : store_(store), metrics_(metrics), counters_(metrics) {}

  // Tells without reading the version why it cannot be loaded: it is not there,
  // it was refused as it is, or it takes more than `*room_bytes`, which it
  // otherwise uses up.
  absl::Status Check(const std::string& name, uint64_t version,
                     uint64_t* room_bytes) const;

  // Returns the version, ready to serve in the place of `serving` or beside it.
  // An error says why it must not serve; ResourceExhausted: it takes more than
  // `room_bytes`.
  absl::StatusOr<std::shared_ptr<const ServedModel>> Load(
      const std::string& name, uint64_t version, const ServedModel& serving,
      uint64_t room_bytes);

  // Refuses those of the versions `loaded` whose files in the store are others
  // now. What is loaded is not affected.
  void RefuseReused(
      const std::string& name,
      const std::map<uint64_t, std::shared_ptr<const ServedModel>>& loaded);

  // From now on there are requests, to which loads make way.
  void MakeWay() { makes_way_ = true; }

  // Forgets the versions of `name` that are not among `versions`, which ascend.
  void KeepOnly(const std::string& name, const std::vector<uint64_t>& versions);

  // Returns why versions of `name` are refused.
  std::map<uint64_t, std::string> Refused(const std::string& name) const;

  // Returns the counters of a version; 0: of the uniform policy.
  std::shared_ptr<const VersionCounters> CountersOf(const std::string& name,
                                                    uint64_t version) const {
    return counters_.For(name, version);
  }

  // Says that the metrics may go before what serves.
  void DetachCounters() const { counters_.Detach(); }

 private:
  struct Rejection {
    std::string reason;
    std::string fingerprint;  // Identifies the state of the bad files.
    bool transient = false;  // The machine's fault, not the model's: try again.
  };

  std::string PathOf(const std::string& name, uint64_t version) const;
  // Returns what is remembered of a version; empty: nothing.
  Rejection FindRejection(const std::string& name, uint64_t version) const;
  absl::StatusOr<std::shared_ptr<const ServedModel>> TryLoad(
      const std::string& name, uint64_t version, const ServedModel& serving,
      uint64_t room_bytes, LoadFailure* failure) const;
  void Reject(const std::string& name, uint64_t version, LoadFailure failure,
              Rejection rejection);

  const ModelStore* const store_;
  Metrics* const metrics_;
  const VersionCounterTable counters_;
  std::atomic<bool> makes_way_{false};
  mutable std::mutex mutex_;  // Held for moments, never during a load.
  absl::flat_hash_map<std::string, std::map<uint64_t, Rejection>> rejected_;
  // Fingerprints of the versions that were loaded.
  absl::flat_hash_map<std::string, std::map<uint64_t, std::string>> taken_;
};

}  // namespace sortition
