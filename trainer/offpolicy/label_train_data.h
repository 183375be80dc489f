#pragma once
// Supplies tuples with sets of labels to `train`.
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "sortition/model/v1/model.pb.h"
#include "trainer/offpolicy/train_data.h"
#include "trainer/tuples/labels/label_reader.h"

namespace sortition {

class LabelTrainData : public TrainData {
 public:
  explicit LabelTrainData(LabelData data);

  absl::StatusOr<std::unique_ptr<TuplePolicy>> TrainPolicy() const override;
  absl::StatusOr<std::unique_ptr<TuplePolicy>> ValidationPolicy()
      const override;
  absl::StatusOr<WeightedParts> Weigh(
      const Eigen::VectorXd& parameters) const override;
  Eigen::VectorXd FeatureScales() const override;
  absl::StatusOr<LossModelCopies> FitLossModel(
      const LossModelFit& fit) const override;

  bool has_label_sets() const override { return true; }
  const TupleCounts& counts() const override { return data_; }
  size_t num_train() const override { return data_.train.size(); }
  size_t num_validation() const override { return data_.validation.size(); }
  size_t num_test() const override { return data_.test.size(); }
  std::vector<double> ShownLosses() const override {
    return data_.train.losses;
  }
  // Returns α w.
  std::optional<Eigen::VectorXd> ParametersOf(
      const model::v1::Model& model) const override;
  void SetPolicy(const Eigen::VectorXd& parameters,
                 model::v1::Model* model) const override;

 private:
  const LabelData data_;
};

}  // namespace sortition
