#pragma once
// What a model is besides its policy: what its weights multiply.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/scoring/model_features.h"
#include "io/segments/decision_view.h"
#include "sortition/log/v1/log.pb.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

struct ModelFrame {
  // Features, trees, hidden_layer and num_features, as in a model; all else is
  // unset. num_features is 0 where it is that of the log.
  model::v1::Model model;
  // Null: tuples have the features that the weights multiply.
  std::shared_ptr<const ModelFeatures> features;
  // The spec of features that were drafted for this training, as text with the
  // reasons; empty: they were declared, or are those of the version before.
  std::string drafted_features = {};

  bool has_schema() const { return model.has_features(); }
};

// Returns the frame of `model`. InvalidArgument as ModelFeatures::Create().
absl::StatusOr<ModelFrame> FrameOf(const model::v1::Model& model);

// Returns how many features requests to the model have: 0 with columns.
inline uint32_t SentFeatures(const model::v1::Model& model) {
  return model.has_features() ? 0 : model.num_features();
}

// Whether the weights of both models multiply the same.
bool IsSameFrame(const model::v1::Model& a, const model::v1::Model& b);

// Makes `model` one of the frame: sets all but its policy and weights.
void PutIntoFrame(const ModelFrame& frame, uint32_t num_features,
                  model::v1::Model* model);

// Returns the features of a decision as the frame makes them: a view of the
// decision or of `scratch`. InvalidArgument where it has none, or others than
// the frame takes.
absl::StatusOr<DecisionView> ViewFeatures(const log::v1::Decision& decision,
                                          const ModelFeatures* features,
                                          ModelFeatureScratch* scratch);

// Returns a decision with named columns in which each candidate has one
// feature, which is 0: for uses that need the candidates but no features.
// `row_offsets` is scratch that the view refers to. InvalidArgument as
// ViewDecision(), or if the decision has no columns.
absl::StatusOr<DecisionView> ViewWithoutFeatures(
    const log::v1::Decision& decision, std::vector<uint32_t>* row_offsets);

}  // namespace sortition
