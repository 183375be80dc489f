#pragma once
// Metrics of models whose policies give sets of labels or a label for each item
// of a sequence (independent_labels, label_chain in model.proto), as `evaluate`
// reports them. Predicted are the most probable labels.
//
//   hamming_loss           share of the labels that are wrong: of the labels of
//                          all lines, or of the items of a sequence.
//   expected_hamming_loss  its expectation where labels are drawn by the
//   policy. subset_accuracy        share of the lines, or sequences, without a
//   wrong
//                          label.
//   jaccard, f1_samples    mean over the lines of |P ∩ L| / |P ∪ L| and of F1,
//                          for predicted labels P and right ones L; 1 if both
//                          are empty.
//   f1_micro               F1 of all labels of all lines together.
//   f1_macro               mean over the labels of the F1 of each. A label that
//                          no line has or is predicted to have does not count.
#include "absl/status/statusor.h"
#include "sortition/config/v1/evaluate.pb.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

// Returns whether the policy of the model is one of these.
bool IsLabelModel(const model::v1::Model& model);

// Computes the metrics that options.metrics names; none: all. Writes
// options.per_query if it is set. InvalidArgument names an option that has no
// meaning for such a model, or what in the data does not fit it.
absl::Status EvaluateLabels(const config::v1::EvaluateOptions& options,
                            const model::v1::Model& model,
                            config::v1::EvaluateReport* report);

}  // namespace sortition
