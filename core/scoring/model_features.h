#pragma once
// What the weights of a model multiply: its inputs, the score of its trees and
// its hidden units (Model in model.proto). With them a policy that is linear in
// its features can have any scorer: every distribution, every learner of
// weights and every estimator works for it as it is.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/data/candidates.h"
#include "core/features/feature_transform.h"
#include "core/scoring/hidden_layer.h"
#include "core/scoring/tree_ensemble.h"
#include "sortition/model/v1/model.pb.h"
#include "sortition/v1/columns.pb.h"

namespace sortition {

// Reused between queries and models by one thread.
struct ModelFeatureScratch {
  FeatureScratch columns;
  FeatureMatrix inputs;
  TreeScratch trees;
  std::vector<double> tree_scores;
  std::vector<double> unit_outputs;
  FeatureMatrix all;
};

// What a caller has of a query: one of the two. Views.
struct QueryInput {
  Candidates candidates;
  const sortition::v1::Columns* columns = nullptr;

  uint32_t num_candidates() const {
    return columns != nullptr ? columns->num_candidates()
                              : candidates.num_candidates();
  }
};

// Immutable, thread-safe; copies share what they hold.
class ModelFeatures {
 public:
  // InvalidArgument, naming the field, where features, trees or hidden_layer
  // are wrong by themselves or do not fit num_features.
  static absl::StatusOr<ModelFeatures> Create(const model::v1::Model& model);
  // The features of callers as they are.
  static ModelFeatures OfMatrix(uint32_t num_features);

  // Null: callers send features.
  const FeatureTransform* transform() const { return transform_.get(); }
  // Whether the features are those that callers send.
  bool as_sent() const { return as_sent_; }
  // True if trees give an absent feature of a sparse row another meaning than
  // 0.
  bool tells_absent_from_zero() const {
    return trees_ != nullptr && trees_->absent_is_missing();
  }
  // Those that callers send, or that the transform makes.
  uint32_t num_inputs() const { return num_inputs_; }
  // How many weights there are: inputs, trees, hidden units.
  uint32_t num_features() const { return num_features_; }

  // Returns the features of the query: a view of it or of `scratch`. Trees and
  // units are computed for `documents`, which ascend; those of others are 0.
  // InvalidArgument where the query has columns and the model takes features,
  // or the other way round, or another number of features; where trees or units
  // make too many numbers; and as FeatureTransform::Apply().
  absl::StatusOr<Candidates> Compute(const QueryInput& query,
                                     std::span<const uint32_t> documents,
                                     ModelFeatureScratch* scratch) const;

 private:
  ModelFeatures() = default;

  absl::StatusOr<Candidates> Inputs(const QueryInput& query,
                                    ModelFeatureScratch* scratch) const;
  // Writes inputs, tree scores and outputs of units side by side.
  void Join(const Candidates& inputs, std::span<const uint32_t> documents,
            ModelFeatureScratch* scratch) const;

  uint32_t num_inputs_ = 0;
  uint32_t num_features_ = 0;
  bool as_sent_ = true;
  std::shared_ptr<const FeatureTransform> transform_;
  std::shared_ptr<const TreeEnsemble> trees_;
  std::shared_ptr<const HiddenLayer> hidden_;
};

}  // namespace sortition
