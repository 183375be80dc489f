#include "core/features/feature_learning.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status_macros.h"
#include "core/features/blocks/feature_blocks.h"
#include "core/features/blocks/spec_check.h"
#include "core/features/column_learner.h"
#include "core/features/drift/value_sketch.h"
#include "core/features/feature_transform.h"
#include "core/features/schema/schema.h"

namespace sortition {
namespace {

using model::v1::Features;
using model::v1::FeatureSpec;
using model::v1::LearnedTransform;
using sortition::v1::Columns;

// Calls `visit` with each dense feature of a row.
template <typename Visit>
void ForEachDense(const FeatureMatrix& matrix, size_t row, size_t num_dense,
                  std::vector<float>* values, const Visit& visit) {
  values->assign(num_dense, 0.0f);
  if (matrix.row_offsets.empty()) {
    const float* const begin = matrix.values.data() + row * matrix.num_features;
    values->assign(begin, begin + num_dense);
  } else {
    for (uint32_t i = matrix.row_offsets[row];
         i < matrix.row_offsets[row + 1] && matrix.columns[i] < num_dense;
         ++i) {
      (*values)[matrix.columns[i]] = matrix.values[i];
    }
  }
  for (size_t j = 0; j < num_dense; ++j) {
    visit(j, static_cast<double>((*values)[j]));
  }
}

// Runs the stream, and `visit(feature, value)` for each dense feature of each
// candidate.
template <typename Visit>
absl::Status VisitFeatures(const FeatureTransform& transform,
                           QueryStream queries, const Visit& visit) {
  FeatureScratch scratch;
  FeatureMatrix matrix;
  std::vector<float> values;
  return queries([&](const Columns& columns) {
    RETURN_IF_ERROR(transform.Apply(columns, &scratch, &matrix));
    for (uint32_t row = 0; row < columns.num_candidates(); ++row) {
      ForEachDense(matrix, row, transform.num_dense_features(), &values, visit);
    }
    return absl::OkStatus();
  });
}

absl::Status LearnColumns(const Schema& schema, const FeatureSpec& spec,
                          QueryStream queries, Features* features) {
  ColumnLearner learner(schema, spec);
  BoundColumns bound;
  const absl::Status status = queries([&](const Columns& columns) {
    RETURN_IF_ERROR(bound.Bind(schema, columns, {.absent_is_missing = true}));
    return learner.Add(bound);
  });
  RETURN_IF_ERROR(status);
  *features->mutable_learned() = learner.Finish();
  if (features->learned().num_queries() > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "there are 0 queries to learn features from, must be at least 1");
}

// Learns mean and scale of the measures of texts, which need word counts.
absl::Status LearnTextPairs(const Schema& schema, const FeatureSpec& spec,
                            QueryStream queries, Features* features) {
  ASSIGN_OR_RETURN(const FeatureTransform transform,
                   FeatureTransform::Create(*features));
  std::vector<RunningMoments> moments(transform.num_dense_features());
  RETURN_IF_ERROR(VisitFeatures(
      transform, queries,
      [&](size_t feature, double value) { moments[feature].Add(value); }));
  for (const FeatureBlocks::Dense& dense : transform.blocks().dense) {
    const auto& declared = spec.transform(dense.transform);
    if (!declared.has_text_pair() || NumStandardised(schema, declared) == 0) {
      continue;
    }
    LearnedTransform& learned =
        *features->mutable_learned()->mutable_transform(dense.transform);
    for (size_t j = 0; j < dense.size; ++j) {
      learned.set_mean(static_cast<int>(j), moments[dense.first + j].mean());
      learned.set_scale(static_cast<int>(j), moments[dense.first + j].Scale());
    }
  }
  return absl::OkStatus();
}

absl::Status LearnStatistics(QueryStream queries, Features* features) {
  ASSIGN_OR_RETURN(const FeatureTransform transform,
                   FeatureTransform::Create(*features));
  std::vector<ValueSketch> sketches(transform.num_dense_features());
  RETURN_IF_ERROR(VisitFeatures(
      transform, queries,
      [&](size_t feature, double value) { sketches[feature].Add(value); }));
  for (uint32_t j = 0; j < transform.num_dense_features(); ++j) {
    *features->mutable_learned()->add_feature() =
        sketches[j].Finish(transform.FeatureName(j));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Features> LearnFeatures(const FeatureSpec& spec,
                                       QueryStream queries,
                                       const model::v1::WordVectors& vectors) {
  ASSIGN_OR_RETURN(const Schema schema, Schema::Create(spec.schema()));
  Features features;
  ASSIGN_OR_RETURN(*features.mutable_spec(), CheckedSpec(schema, spec));
  features.set_schema_hash(schema.hash());
  const FeatureSpec checked = features.spec();
  RETURN_IF_ERROR(LearnColumns(schema, checked, queries, &features));
  *features.mutable_learned()->mutable_word_vectors() = vectors;
  bool standardises_pairs = false;
  for (const auto& transform : checked.transform()) {
    standardises_pairs =
        standardises_pairs || transform.text_pair().standardise();
  }
  if (standardises_pairs) {
    RETURN_IF_ERROR(LearnTextPairs(schema, checked, queries, &features));
  }
  RETURN_IF_ERROR(LearnStatistics(queries, &features));
  return features;
}

}  // namespace sortition
