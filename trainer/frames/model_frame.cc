#include "trainer/frames/model_frame.h"

#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "google/protobuf/util/message_differencer.h"

namespace sortition {

absl::StatusOr<ModelFrame> FrameOf(const model::v1::Model& model) {
  ModelFrame frame;
  frame.model.set_num_features(model.num_features());
  if (model.has_features()) {
    *frame.model.mutable_features() = model.features();
  }
  if (model.has_trees()) *frame.model.mutable_trees() = model.trees();
  if (model.has_hidden_layer()) {
    *frame.model.mutable_hidden_layer() = model.hidden_layer();
  }
  ASSIGN_OR_RETURN(ModelFeatures features, ModelFeatures::Create(frame.model));
  if (!features.as_sent()) {
    frame.features = std::make_shared<const ModelFeatures>(std::move(features));
  }
  return frame;
}

bool IsSameFrame(const model::v1::Model& a, const model::v1::Model& b) {
  using google::protobuf::util::MessageDifferencer;
  // Equals() of what is not set compares empty messages.
  return a.num_features() == b.num_features() &&
         a.has_features() == b.has_features() &&
         a.has_trees() == b.has_trees() &&
         a.has_hidden_layer() == b.has_hidden_layer() &&
         MessageDifferencer::Equals(a.features(), b.features()) &&
         MessageDifferencer::Equals(a.trees(), b.trees()) &&
         MessageDifferencer::Equals(a.hidden_layer(), b.hidden_layer());
}

void PutIntoFrame(const ModelFrame& frame, uint32_t num_features,
                  model::v1::Model* model) {
  const bool is_plain = frame.features == nullptr;
  model->set_num_features(is_plain ? num_features : frame.model.num_features());
  if (is_plain) return;
  if (frame.model.has_features()) {
    *model->mutable_features() = frame.model.features();
  }
  if (frame.model.has_trees()) *model->mutable_trees() = frame.model.trees();
  if (frame.model.has_hidden_layer()) {
    *model->mutable_hidden_layer() = frame.model.hidden_layer();
  }
}

absl::StatusOr<DecisionView> ViewFeatures(const log::v1::Decision& decision,
                                          const ModelFeatures* features,
                                          ModelFeatureScratch* scratch) {
  ASSIGN_OR_RETURN(DecisionView view, ViewDecision(decision));
  if (features != nullptr) {
    std::vector<uint32_t> documents(view.num_candidates());
    std::iota(documents.begin(), documents.end(), 0u);
    ASSIGN_OR_RETURN(
        view.candidates,
        features->Compute({view.candidates, view.columns}, documents, scratch));
    view.columns = nullptr;
  }
  if (view.columns == nullptr) return view;
  return absl::InvalidArgumentError(
      "columns are set, must be features: nothing says what becomes of them");
}

absl::StatusOr<DecisionView> ViewWithoutFeatures(
    const log::v1::Decision& decision, std::vector<uint32_t>* row_offsets) {
  ASSIGN_OR_RETURN(DecisionView view, ViewDecision(decision));
  if (view.columns == nullptr) {
    return absl::InvalidArgumentError("columns are unset, must be set");
  }
  row_offsets->assign(size_t{view.num_candidates()} + 1, 0);
  view.candidates = Candidates::SparseUnchecked(*row_offsets, {}, {},
                                                /*num_features=*/1);
  view.columns = nullptr;
  return view;
}

}  // namespace sortition
