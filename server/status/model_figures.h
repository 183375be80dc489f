#pragma once
// The models of a server as figures of status.proto: what serves, and what the
// store says of its versions.
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "io/models/model_store.h"
#include "server/models/models_service.h"
#include "sortition/status/v1/status.pb.h"
#include "sortition/v1/models.pb.h"

namespace sortition {

// Reads of the store what is new, and no version twice: they are immutable. Not
// thread-safe.
class ModelFigures {
 public:
  static constexpr int kMostModels = 50;
  static constexpr size_t kMostVersions = 20;  // Besides those that are loaded.
  static constexpr size_t kMostChanges = 20;
  // So often the store is looked at, and whenever what serves has changed.
  static constexpr int64_t kLookUs = 10'000'000;

  // Both must outlive it.
  ModelFigures(const ModelsService* models, const ModelStore* store)
      : models_(models), store_(store) {}

  // Adds the models, without drift and traffic. `steady_us`: of a clock that is
  // never set.
  void Add(int64_t steady_us, status::v1::Server* server);

 private:
  // What the store has of a model.
  struct Stored {
    int64_t look_us = 0;
    uint64_t change = 0;                      // Of the state in force then.
    uint64_t version = 0;                     // That served.
    std::vector<uint64_t> versions;           // Descending.
    std::vector<model::v1::Serving> history;  // Latest first.
    uint64_t looks = 0;
    // Of versions that could be read.
    std::map<uint64_t, status::v1::Version> read;
  };

  void Look(const v1::ModelStatus& model, int64_t steady_us, Stored* stored);
  status::v1::Version ReadVersion(const std::string& model, uint64_t version,
                                  Stored* stored) const;
  void AddVersions(const v1::ModelStatus& model, Stored* stored,
                   status::v1::Model* figures) const;

  const ModelsService* const models_;
  const ModelStore* const store_;
  std::map<std::string, Stored> stored_;
};

}  // namespace sortition
