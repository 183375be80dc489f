#include "trainer/labelled/label_instances.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/learners/labelled/label_accuracy.h"
#include "core/scoring/model_features.h"
#include "io/columns/column_queries.h"
#include "io/datasets/multilabel.h"
#include "trainer/decision_files/named_files.h"
#include "trainer/labelled/labelled_frame.h"

namespace sortition {
namespace {

using config::v1::EvaluateOptions;

absl::Status CheckDataFits(const std::string& file, const MultilabelData& data,
                           const model::v1::Model& model, bool has_intercept) {
  const uint32_t q = model.policy().independent_labels().num_labels();
  const uint32_t most = model.num_features() - (has_intercept ? 1 : 0);
  if (data.num_features > most) {
    return absl::InvalidArgumentError(absl::StrCat(
        file, ": has ", data.num_features, " features, must have at most ",
        most, ", those of model '", model.name(), "'",
        has_intercept ? " without its last one, which --intercept sets to 1; "
                        "set --no-intercept if it has none"
                      : ""));
  }
  if (data.num_labels <= q) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      file, ": has label ", data.num_labels - 1, ", must have labels below ", q,
      ", those of model '", model.name(),
      "'; convert --test=FILE learns a model for "
      "the labels of both files"));
}

absl::Status CheckLabelSetModel(const EvaluateOptions& options,
                                const model::v1::Model& model) {
  const uint32_t q = model.policy().independent_labels().num_labels();
  if (model.weights_size() == 0 || q == 0 ||
      static_cast<uint64_t>(model.weights_size()) !=
          uint64_t{model.num_features()} * q) {
    return absl::InvalidArgumentError(
        absl::StrCat("model '", model.name(), "' has ", model.weights_size(),
                     " weights, must have ", q, " for each of ",
                     model.num_features(), " features"));
  }
  if (options.relevance_cut() == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--relevance_cut is ", options.relevance_cut(),
                   ", must be unset: the labels of model '", model.name(),
                   "' have no order"));
}

// Sets of labels: a line of multi-label SVMlight each.
class IndependentLabels {
 public:
  IndependentLabels(const EvaluateOptions& options,
                    const model::v1::Model& model)
      : options_(options),
        model_(model),
        alpha_(model.policy().inverse_temperature()),
        scores_(model.policy().independent_labels().num_labels()),
        by_label_(scores_.size()) {}

  absl::Status AddFile(const std::string& file,
                       const AddLabelInstance& add_instance) {
    if (IsColumnFile(file)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--data has '", file,
                       "', must be multi-label SVMlight (lines "
                       "\"label,label feature:value\") for model '",
                       model_.name(), "'"));
    }
    ASSIGN_OR_RETURN(const MultilabelData data, ReadMultilabel(file));
    RETURN_IF_ERROR(CheckDataFits(file, data, model_, options_.intercept()));
    for (size_t row = 0; row < data.size(); ++row) {
      ASSIGN_OR_RETURN(const LabelInstance instance, Judge(data, row));
      add_instance(instance, by_label_);
    }
    return absl::OkStatus();
  }

 private:
  // Writes the score of each label.
  void Score(const MultilabelData& data, size_t row) {
    const size_t q = scores_.size();
    std::fill(scores_.begin(), scores_.end(), 0);
    const auto add = [&](size_t feature, double value) {
      const double* const weights = model_.weights().data() + feature * q;
      for (size_t l = 0; l < q; ++l) scores_[l] += value * weights[l];
    };
    for (size_t k = data.row_offsets[row]; k < data.row_offsets[row + 1]; ++k) {
      add(data.columns[k], data.values[k]);
    }
    if (options_.intercept()) add(model_.num_features() - 1, 1);
  }

  absl::StatusOr<LabelInstance> Judge(const MultilabelData& data, size_t row) {
    Score(data, row);
    LabelInstance instance;
    instance.id = absl::StrCat(row + 1);
    std::fill(by_label_.begin(), by_label_.end(), SetCounts());
    const std::vector<uint32_t>& labels = data.labels[row];
    const auto q = static_cast<double>(scores_.size());
    for (uint32_t l = 0; l < scores_.size(); ++l) {
      if (!std::isfinite(scores_[l])) {
        return absl::InvalidArgumentError(
            absl::StrCat("row ", row + 1, ": the score of label ", l,
                         " is not finite, must be finite"));
      }
      const uint8_t is_right =
          std::binary_search(labels.begin(), labels.end(), l) ? 1 : 0;
      const uint8_t is_predicted = scores_[l] > options_.threshold() ? 1 : 0;
      by_label_[l] =
          CountSet(std::span(&is_predicted, 1), std::span(&is_right, 1));
      instance.counts.Add(by_label_[l]);
      // σ(α s) is the probability that the policy gives the label.
      const double sign = is_right != 0 ? -1 : 1;
      instance.expected_hamming_loss +=
          1 / (1 + std::exp(-sign * alpha_ * scores_[l])) / q;
    }
    instance.hamming_loss = HammingLoss(instance.counts);
    return instance;
  }

  const EvaluateOptions& options_;
  const model::v1::Model& model_;
  const double alpha_;
  std::vector<double> scores_;
  std::vector<SetCounts> by_label_;  // Of the last row.
};

// Sequences of items, a query of labelled data each: an item's relevance is its
// label.
class Chains {
 public:
  static absl::StatusOr<Chains> Create(const model::v1::Model& model) {
    ASSIGN_OR_RETURN(ModelFeatures features, ModelFeatures::Create(model));
    return Chains(model, std::move(features));
  }

  absl::Status AddFile(const std::string& file,
                       const AddLabelInstance& add_instance) {
    const FeatureTransform* const transform = features_.transform();
    ASSIGN_OR_RETURN(
        const LabelledQueries data,
        ReadQueries(file,
                    transform == nullptr ? nullptr : &transform->schema()));
    for (const LabelledQuery& query : data.queries) {
      ASSIGN_OR_RETURN(const LabelInstance instance,
                       Judge(query, data.num_features));
      add_instance(instance, by_label_);
    }
    return absl::OkStatus();
  }

 private:
  Chains(const model::v1::Model& model, ModelFeatures features)
      : model_(model),
        features_(std::move(features)),
        scratch_(std::make_unique<ModelFeatureScratch>()),
        weights_(model.weights().begin(), model.weights().end()),
        by_label_(model.policy().label_chain().num_labels()) {}

  absl::Status Check(const LabelledQuery& query, uint32_t num_features) const {
    if (query.columns == nullptr && num_features > features_.num_inputs()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "data has ", num_features, " features, must have at most ",
          features_.num_inputs(), ", those of model '", model_.name(), "'"));
    }
    for (const uint32_t label : query.relevances) {
      if (label < by_label_.size()) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "query '", query.id, "' has label ", label, ", must be below ",
          by_label_.size(), ", the number of labels of model '", model_.name(),
          "'"));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<LabelInstance> Judge(const LabelledQuery& query,
                                      uint32_t num_features) {
    RETURN_IF_ERROR(Check(query, num_features));
    ASSIGN_OR_RETURN(const std::vector<float> rows,
                     MakeRows(features_, query, num_features, scratch_.get()));
    ASSIGN_OR_RETURN(const Candidates items,
                     Candidates::Dense(rows, features_.num_features()));
    ASSIGN_OR_RETURN(const std::vector<int32_t> predicted,
                     MostProbableLabels(model_.policy(), weights_, items));
    ASSIGN_OR_RETURN(
        const LabelFigures figures,
        LabelFiguresOf(model_.policy(), weights_, {items, query.relevances}));
    LabelInstance instance;
    instance.id = query.id;
    std::fill(by_label_.begin(), by_label_.end(), SetCounts());
    for (size_t i = 0; i < predicted.size(); ++i) {
      const auto guess = static_cast<uint32_t>(predicted[i]);
      const uint32_t label = query.relevances[i];
      for (uint32_t l = 0; l < by_label_.size(); ++l) {
        const uint8_t is_right = l == label ? 1 : 0;
        const uint8_t is_predicted = l == guess ? 1 : 0;
        by_label_[l].Add(
            CountSet(std::span(&is_predicted, 1), std::span(&is_right, 1)));
      }
    }
    for (const SetCounts& counts : by_label_) instance.counts.Add(counts);
    instance.hamming_loss = 1 - figures.by_score;
    instance.expected_hamming_loss = 1 - figures.expected;
    return instance;
  }

  const model::v1::Model& model_;
  const ModelFeatures features_;
  std::unique_ptr<ModelFeatureScratch> scratch_;
  const std::vector<double> weights_;
  std::vector<SetCounts> by_label_;  // Of the last query.
};

absl::Status CheckNoSetOptions(const EvaluateOptions& options) {
  if (!options.has_threshold() && options.relevance_cut() == 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "--threshold and --relevance_cut must be unset for a label_chain, which "
      "predicts the most probable labelling");
}

}  // namespace

absl::Status JudgeLabelSets(const EvaluateOptions& options,
                            const model::v1::Model& model,
                            const AddLabelInstance& add) {
  RETURN_IF_ERROR(CheckLabelSetModel(options, model));
  IndependentLabels labels(options, model);
  for (const std::string& file : SplitEntries(options.data())) {
    RETURN_IF_ERROR(labels.AddFile(file, add));
  }
  return absl::OkStatus();
}

absl::Status JudgeSequences(const EvaluateOptions& options,
                            const model::v1::Model& model,
                            const AddLabelInstance& add) {
  RETURN_IF_ERROR(CheckNoSetOptions(options));
  ASSIGN_OR_RETURN(Chains chains, Chains::Create(model));
  for (const std::string& file : SplitEntries(options.data())) {
    RETURN_IF_ERROR(chains.AddFile(file, add));
  }
  return absl::OkStatus();
}

}  // namespace sortition
