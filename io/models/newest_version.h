#pragma once
// The version that a new one would replace.
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "io/models/model_store.h"
#include "sortition/model/v1/serving.pb.h"

namespace sortition {

// Returns the newest version of the model in the store; 0 where there is none.
absl::StatusOr<uint64_t> NewestVersion(const std::string& model,
                                       const ModelStore& store);

// Loads a version of the model; 0: the newest. NoVersionError() if there is
// none; InvalidArgument for a bad name of a model.
absl::StatusOr<StoredModel> LoadVersion(const std::string& model,
                                        uint64_t version,
                                        const ModelStore& store);

// What serves a model, and what a new version would stand beside.
struct Incumbent {
  uint64_t serving = 0;  // Pinned or else the newest; 0: there is none.
  uint64_t newest = 0;   // In the store.
  bool is_pinned = false;
  model::v1::LearningMode mode = model::v1::ONLINE;
};

// Errors as ReadServing(): a state that cannot be read says nothing of what
// serves.
absl::StatusOr<Incumbent> FindIncumbent(const std::string& model,
                                        const ModelStore& store);

// Loads a version; nullopt for version 0, which is none.
absl::StatusOr<std::optional<StoredModel>> LoadIfAny(const std::string& model,
                                                     uint64_t version,
                                                     const ModelStore& store);

// Another trainer may have published, or somebody changed what serves, while
// this one learned: then the gate compared with a version that is not the one
// to be replaced any more. FailedPrecondition, which says what has changed
// since `before`.
absl::Status CheckUnchanged(const std::string& model, const ModelStore& store,
                            const Incumbent& before);

// Says in a sentence why a version that is published now does not decide for
// users, and what to do about it; empty where it does.
std::string WhyNotServing(const std::string& model, const Incumbent& incumbent);

}  // namespace sortition
