#pragma once
// The features that models of rewards make of the named columns of a log.
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/scoring/model_features.h"
#include "sortition/config/v1/ope.pb.h"
#include "trainer/ope/ope_log.h"

namespace sortition {

struct ColumnFeatures {
  // Null: the log has no columns, or no features could be made of them.
  std::shared_ptr<const ModelFeatures> features;
  // Says in a sentence where the features come from, or why there are none;
  // empty: the log has no columns, or `shape` has the features.
  std::string note;
};

// Returns the features that `options.features` declares or, if it declares
// none, those of `shape`, else those of the newest version in the store, else
// features drafted from the columns. If none can be drafted, policies can still
// be judged without a model of rewards, and the note says why. InvalidArgument
// for a file that is not a FeatureSpec; errors of reading files and tuples.
absl::StatusOr<ColumnFeatures> FindColumnFeatures(
    const config::v1::OpeOptions& options, const OpeShape& shape);

}  // namespace sortition
