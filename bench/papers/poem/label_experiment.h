#pragma once
// One run of the experiment of the POEM paper [SwaminathanJoachims15, sec. 6]:
// a logging policy h0 fitted to a part of a labelled data set, and its log.
#include <memory>
#include <string>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "core/learners/multilabel/label_conversion.h"
#include "core/learners/multilabel/labels_policy.h"

namespace sortition {

// Both have a constant feature after the others: the intercept of every label.
struct LabelData {
  LabelledContexts train;
  LabelledContexts test;
};

// Reads two multi-label SVMlight files; both parts get the larger of their
// dimensions.
absl::StatusOr<LabelData> ReadLabelData(const std::string& train,
                                        const std::string& test);

struct LogOptions {
  double fraction = 0.05;  // f: share of the contexts for h0's fit.
  // C of h0's fit, a factor of the summed loss beside ‖w‖² / 2; the μ of
  // FitLabels is 1 / (2 C m).
  double c = 1;
  double inverse_temperature = 1;  // α of h0.
  uint32_t replays = 4;
  // True: a label that no context of h0's part has is never drawn, and h0's
  // loss counts it as a coin toss. This is what the authors' program does.
  bool skips_unseen_labels = false;
};

// h0 and the tuples that it drew, a quarter of them for validation.
class LabelLog {
 public:
  // The log depends only on `data`, `options` and `run`. `data` must outlive
  // it.
  static absl::StatusOr<std::unique_ptr<LabelLog>> Draw(
      const LabelData& data, const LogOptions& options, int run);

  LabelsPolicy* train() { return train_.get(); }
  LabelsPolicy* validation() { return validation_.get(); }
  const LabelContexts& contexts() const { return data_.train.contexts; }
  const LabelTuples& train_tuples() const { return train_tuples_; }
  const LabelTuples& validation_tuples() const { return validation_tuples_; }
  const LabelledContexts& test() const { return data_.test; }
  // Returns the losses of h0 on the test set.
  HammingLosses logging() const { return logging_; }
  // Returns the parameters of h0, scaled by α.
  const Eigen::VectorXd& logging_parameters() const {
    return logging_parameters_;
  }

 private:
  explicit LabelLog(const LabelData& data) : data_(data) {}

  const LabelData& data_;
  HammingLosses logging_;
  Eigen::VectorXd logging_parameters_;
  LabelTuples train_tuples_;
  LabelTuples validation_tuples_;
  std::unique_ptr<LabelsPolicy> train_;
  std::unique_ptr<LabelsPolicy> validation_;
};

// Returns the losses on the test set of the supervised learner that the paper
// calls a skyline, fitted to the right labels of three quarters of the training
// contexts; C in 10^-6 .. 1 has the lowest MAP loss on the others, which are
// drawn anew in each `run`.
absl::StatusOr<HammingLosses> Skyline(const LabelData& data, int run);

}  // namespace sortition
