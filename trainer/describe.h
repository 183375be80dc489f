#pragma once
// Tells people what a version of a model is made of.
#include <string>

#include "absl/status/statusor.h"
#include "sortition/config/v1/describe.pb.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

// Returns lines with the policy, how it was learned, the features and what was
// learned of them, trees, hidden units, and the `most_weights` weights of
// largest magnitude by name: of a feature, or f0, f1 .. where callers send
// them, of trees, of a unit. InvalidArgument as ModelFeatures::Create().
absl::StatusOr<std::string> DescribeModel(const model::v1::Model& model,
                                          size_t most_weights);

// The same of a version in the store, with a line for each entry of the model's
// folder that is passed over (ListModelFolder()). NotFound if there is no
// version.
absl::StatusOr<std::string> DescribeVersion(
    const config::v1::DescribeOptions& options);

}  // namespace sortition
