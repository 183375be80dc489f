#include "tests/core/features/feature_cases.h"

#include "core/base/status_macros.h"
#include "core/features/feature_learning.h"
#include "tests/testing/status_matchers.h"

namespace sortition {

using model::v1::FeatureSpec;
using sortition::v1::Columns;

absl::StatusOr<model::v1::Features> Learn(
    const FeatureSpec& spec, const std::vector<Columns>& queries,
    const model::v1::WordVectors& vectors) {
  return LearnFeatures(
      spec,
      [&](QueryVisitor visit) {
        for (const Columns& columns : queries) RETURN_IF_ERROR(visit(columns));
        return absl::OkStatus();
      },
      vectors);
}

std::vector<std::vector<float>> Rows(const FeatureTransform& transform,
                                     const Columns& columns) {
  FeatureScratch scratch;
  FeatureMatrix matrix;
  EXPECT_OK(transform.Apply(columns, &scratch, &matrix));
  std::vector<std::vector<float>> rows(
      columns.num_candidates(), std::vector<float>(transform.num_features()));
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t j = 0; matrix.row_offsets.empty() && j < rows[i].size(); ++j) {
      rows[i][j] = matrix.values[i * rows[i].size() + j];
    }
    for (size_t k = 0; !matrix.row_offsets.empty() &&
                       k < matrix.row_offsets[i + 1] - matrix.row_offsets[i];
         ++k) {
      const size_t place = matrix.row_offsets[i] + k;
      rows[i][matrix.columns[place]] = matrix.values[place];
    }
  }
  return rows;
}

}  // namespace sortition
