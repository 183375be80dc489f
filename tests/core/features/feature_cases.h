#pragma once
// Declarations, requests and what is learned from them, for tests of features.
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/features/feature_transform.h"
#include "sortition/model/v1/features.pb.h"
#include "sortition/v1/columns.pb.h"
#include "tests/testing/parse_text.h"

namespace sortition {

inline model::v1::FeatureSpec ParseSpec(const std::string& text) {
  return ParseText<model::v1::FeatureSpec>(text);
}
inline sortition::v1::Columns ParseColumns(const std::string& text) {
  return ParseText<sortition::v1::Columns>(text);
}

// Learns from the queries.
absl::StatusOr<model::v1::Features> Learn(
    const model::v1::FeatureSpec& spec,
    const std::vector<sortition::v1::Columns>& queries,
    const model::v1::WordVectors& vectors = {});

// The features of a request by rows, dense or not. The test fails where they
// are refused.
std::vector<std::vector<float>> Rows(const FeatureTransform& transform,
                                     const sortition::v1::Columns& columns);

}  // namespace sortition
