#pragma once
// What the store says of the models that are shown, as figures of status.proto.
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "io/models/model_store.h"
#include "sortition/model/v1/serving.pb.h"
#include "sortition/model/v1/training.pb.h"
#include "sortition/status/v1/status.pb.h"

namespace sortition {

// A model of which the store is to tell something.
struct WantedModel {
  std::string name;
  uint64_t change = 0;            // Of the state in force.
  uint64_t version = 0;           // That serves.
  std::vector<uint64_t> loaded;   // Versions that are shown in any case.
  std::vector<uint64_t> decides;  // Of these, those that serve or are arms.
  friend auto operator<=>(const WantedModel&, const WantedModel&) = default;
};

// What the store has of it.
struct StoredFigures {
  std::vector<status::v1::Version> versions;  // Newest first.
  uint64_t further_versions = 0;              // That are not among them.
  std::vector<model::v1::Serving> history;    // Latest first.
  uint64_t looks = 0;
  std::vector<model::v1::TrainingRun> runs;          // Ascending by kind.
  std::vector<model::v1::TrainingRun> earlier_runs;  // Latest first.
};
using StoredModels =
    std::map<std::string, std::shared_ptr<const StoredFigures>>;

// Reads of the store what is new, and no version twice: they are immutable.
// Those that could not be read are read again with the next look. Not
// thread-safe.
class StoreFigures {
 public:
  static constexpr size_t kMostVersions = 20;  // Besides those that are loaded.
  static constexpr size_t kMostBelow = 5;  // Versions below one that decides.
  static constexpr size_t kMostChanges = 20;
  static constexpr int kMostFindings = 20;
  // So often the store is looked at, and whenever what serves has changed.
  static constexpr int64_t kLookUs = 10'000'000;

  explicit StoreFigures(ModelStore store) : store_(std::move(store)) {}

  // Returns what the last look has found; looks again if it is time to.
  // `steady_us`: of a clock that is never set.
  std::shared_ptr<const StoredFigures> Read(const WantedModel& model,
                                            int64_t steady_us);

  // Forgets all models but these.
  void KeepOnly(const std::vector<WantedModel>& models);

 private:
  // Tells whether a file has changed.
  struct FileStamp {
    int64_t size = 0;
    int64_t time_ns = 0;
    friend bool operator==(const FileStamp&, const FileStamp&) = default;
  };
  struct Known {
    int64_t look_us = 0;
    WantedModel wanted;
    std::shared_ptr<const StoredFigures> figures;
    std::vector<uint64_t> versions;  // All that the store has, descending.
    // Of versions that could be read.
    std::map<uint64_t, status::v1::Version> read;
    FileStamp ledger;  // When the looks were counted.
    uint64_t ledger_version = 0;
    uint64_t looks = 0;
  };

  StoredFigures Look(const WantedModel& model, Known* known) const;
  void CountLooks(const WantedModel& model, Known* known) const;
  status::v1::Version ReadVersion(const std::string& model, uint64_t version,
                                  Known* known) const;

  const ModelStore store_;
  std::map<std::string, Known> known_;
};

}  // namespace sortition
