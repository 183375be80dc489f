#pragma once
// Compares the labels that a label model predicts with the right ones.
#include <functional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "core/metrics/set_metrics.h"
#include "sortition/config/v1/evaluate.pb.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

// A line with a set of labels, or a sequence of items with a label each.
struct LabelInstance {
  std::string id;    // Of the query; for sets the number of the row, from 1.
  SetCounts counts;  // Of all pairs of an item and a label.
  double hamming_loss = 0;
  double expected_hamming_loss = 0;

  bool has_labels() const {
    return counts.true_positives + counts.false_negatives > 0;
  }
};

// Gets the next instance and its counts for each label.
using AddLabelInstance = std::function<void(
    const LabelInstance& instance, std::span<const SetCounts> by_label)>;

// Sets of labels by a policy of independent_labels: a line of multi-label
// SVMlight each. A label is predicted if its score is above options.threshold.
// InvalidArgument for data that the model does not take.
absl::Status JudgeLabelSets(const config::v1::EvaluateOptions& options,
                            const model::v1::Model& model,
                            const AddLabelInstance& add);

// Sequences by a policy of label_chain: a query of labelled data each, with the
// label of an item as its relevance. Predicted is the most probable labelling.
// InvalidArgument for data that the model does not take.
absl::Status JudgeSequences(const config::v1::EvaluateOptions& options,
                            const model::v1::Model& model,
                            const AddLabelInstance& add);

}  // namespace sortition
