#pragma once
// The models of a server as figures of status.proto: what serves, and what the
// store says of its versions.
#include <map>
#include <string>
#include <vector>

#include "server/status/store_figures.h"
#include "server/status/traffic_figures.h"
#include "sortition/status/v1/status.pb.h"
#include "sortition/v1/models.pb.h"

namespace sortition {

inline constexpr size_t kMostModels = 50;

// Returns the models to show, those with most decisions first; at most
// kMostModels. They point into `list`.
std::vector<const v1::ModelStatus*> ShownModels(
    const v1::ListModelsResponse& list, const SamplesByModel& samples);

// Returns what the store is to tell of a model.
WantedModel WantedOf(const v1::ModelStatus& model);

// Sets a model, without drift and traffic. `stored`: null where the store has
// not told anything yet.
void SetModel(const v1::ModelStatus& model, const StoredFigures* stored,
              status::v1::Model* figures);

}  // namespace sortition
