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
  double fraction = 0.05;          // f: share of the contexts for h0's fit.
  double l2 = 0.09;                // μ of h0's fit.
  double inverse_temperature = 1;  // α of h0.
  uint32_t replays = 4;
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

}  // namespace sortition
