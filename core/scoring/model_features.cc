#include "core/scoring/model_features.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

// Numbers of one query with those of trees and hidden units.
constexpr uint64_t kMostCells = uint64_t{1} << 24;

// Returns `status` with the field of the model in front of its message.
absl::Status InField(absl::string_view field, const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat(field, ": ", status.message()));
}

absl::Status CheckNumInputs(absl::string_view field, uint32_t makes,
                            uint32_t num_features) {
  if (makes == num_features) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("num_features is ", num_features, ", must be ", makes,
                   ", as many as ", field));
}

// Appends the features of a row of `inputs` to `all`.
void AppendInputs(const Candidates& inputs, uint32_t row, FeatureMatrix* all) {
  if (!inputs.sparse()) {
    const auto values = inputs.values().subspan(
        size_t{row} * inputs.num_features(), inputs.num_features());
    all->values.insert(all->values.end(), values.begin(), values.end());
    return;
  }
  const uint32_t first = inputs.row_offsets()[row];
  const uint32_t size = inputs.row_offsets()[row + 1] - first;
  const auto values = inputs.values().subspan(first, size);
  const auto columns = inputs.columns().subspan(first, size);
  all->values.insert(all->values.end(), values.begin(), values.end());
  all->columns.insert(all->columns.end(), columns.begin(), columns.end());
}

}  // namespace

ModelFeatures ModelFeatures::OfMatrix(uint32_t num_features) {
  ModelFeatures features;
  features.num_inputs_ = num_features;
  features.num_features_ = num_features;
  return features;
}

absl::StatusOr<ModelFeatures> ModelFeatures::Create(
    const model::v1::Model& model) {
  ModelFeatures features = OfMatrix(model.num_features());
  if (model.has_features()) {
    absl::StatusOr<FeatureTransform> transform =
        FeatureTransform::Create(model.features());
    if (!transform.ok()) return InField("features", transform.status());
    RETURN_IF_ERROR(CheckNumInputs("the transforms of its features make",
                                   transform->num_features(),
                                   model.num_features()));
    features.transform_ =
        std::make_shared<const FeatureTransform>(*std::move(transform));
  }
  if (model.has_trees()) {
    absl::StatusOr<TreeEnsemble> trees = TreeEnsemble::Create(model.trees());
    if (!trees.ok()) return InField("trees", trees.status());
    RETURN_IF_ERROR(CheckNumInputs("its trees have", trees->num_features(),
                                   model.num_features()));
    features.trees_ = std::make_shared<const TreeEnsemble>(*std::move(trees));
    ++features.num_features_;
  }
  if (model.has_hidden_layer()) {
    ASSIGN_OR_RETURN(
        HiddenLayer layer,
        HiddenLayer::Create(model.hidden_layer(), model.num_features()));
    features.num_features_ += layer.num_units();
    features.hidden_ = std::make_shared<const HiddenLayer>(std::move(layer));
  }
  features.as_sent_ =
      !model.has_features() && !model.has_trees() && !model.has_hidden_layer();
  return features;
}

absl::StatusOr<Candidates> ModelFeatures::Inputs(
    const QueryInput& query, ModelFeatureScratch* scratch) const {
  if (transform_ == nullptr) {
    if (query.columns != nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          "columns are set: must be features; the model has no schema, and "
          "takes ",
          num_inputs_, " features a candidate"));
    }
    if (query.candidates.num_features() != num_inputs_) {
      return absl::InvalidArgumentError(
          absl::StrCat("num_features is ", query.candidates.num_features(),
                       ", must be ", num_inputs_));
    }
    return query.candidates;
  }
  if (query.columns == nullptr) {
    return absl::InvalidArgumentError(
        "features are set: must be columns; the model has a schema");
  }
  RETURN_IF_ERROR(
      transform_->Apply(*query.columns, &scratch->columns, &scratch->inputs));
  return scratch->inputs.View();
}

void ModelFeatures::Join(const Candidates& inputs,
                         std::span<const uint32_t> documents,
                         ModelFeatureScratch* scratch) const {
  const uint32_t num_units = hidden_ == nullptr ? 0 : hidden_->num_units();
  scratch->tree_scores.resize(documents.size());
  scratch->unit_outputs.resize(documents.size() * num_units);
  if (trees_ != nullptr) {
    trees_->Scores(inputs, documents, &scratch->trees, scratch->tree_scores);
  }
  if (hidden_ != nullptr) {
    hidden_->Outputs(inputs, documents, scratch->unit_outputs);
  }
  FeatureMatrix& all = scratch->all;
  all.num_features = num_features_;
  all.values.clear();
  all.columns.clear();
  all.row_offsets.clear();
  if (inputs.sparse()) all.row_offsets.push_back(0);
  size_t next = 0;  // In `documents`, which ascend.
  for (uint32_t row = 0; row < inputs.num_candidates(); ++row) {
    AppendInputs(inputs, row, &all);
    const bool is_wanted = next < documents.size() && documents[next] == row;
    uint32_t column = num_inputs_;
    const auto append = [&](double value) {
      all.values.push_back(static_cast<float>(value));
      if (inputs.sparse()) all.columns.push_back(column++);
    };
    if (trees_ != nullptr) append(is_wanted ? scratch->tree_scores[next] : 0);
    for (uint32_t unit = 0; unit < num_units; ++unit) {
      append(is_wanted ? scratch->unit_outputs[next * num_units + unit] : 0);
    }
    if (is_wanted) ++next;
    if (inputs.sparse()) {
      all.row_offsets.push_back(static_cast<uint32_t>(all.columns.size()));
    }
  }
}

absl::StatusOr<Candidates> ModelFeatures::Compute(
    const QueryInput& query, std::span<const uint32_t> documents,
    ModelFeatureScratch* scratch) const {
  ASSIGN_OR_RETURN(const Candidates inputs, Inputs(query, scratch));
  if (trees_ == nullptr && hidden_ == nullptr) return inputs;
  const uint64_t cells =
      inputs.values().size() +
      uint64_t{inputs.num_candidates()} * (num_features_ - num_inputs_);
  if (cells > kMostCells) {
    return absl::InvalidArgumentError(
        absl::StrCat(inputs.num_candidates(), " candidates have ", cells,
                     " numbers with the model's trees and hidden units, must "
                     "have at most ",
                     kMostCells));
  }
  Join(inputs, documents, scratch);
  return scratch->all.View();
}

}  // namespace sortition
