#pragma once
// Checks what a version may not change, because callers rely on it: the kind of
// action, the number of features, and the types of columns of a model's name.
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "io/models/model_store.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

// Returns why `model` may not follow `before` under its name; empty: it may.
std::string WhyNoSuccessor(const model::v1::Model& before,
                           const model::v1::Model& model);

// Returns the newest version of the model's name in the store that loads;
// nullopt where there is none. FailedPrecondition where `model` may not follow
// it.
absl::StatusOr<std::optional<StoredModel>> FindPredecessor(
    const ModelStore& store, const model::v1::Model& model);

}  // namespace sortition
