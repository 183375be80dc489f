#pragma once
// Supplies tuples with selections, rankings and subsets to `train`.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/learners/counterfactual/linear_grid_data.h"
#include "core/learners/counterfactual/linear_tuple_policy.h"
#include "sortition/model/v1/model.pb.h"
#include "trainer/frames/model_frame.h"
#include "trainer/offpolicy/train_data.h"
#include "trainer/tuples/tuple_reader.h"

namespace sortition {

// Returns the family of policies that is learned from the tuples.
LinearFamily FamilyOf(const TupleData& data,
                      const config::v1::TrainOptions& options);

// Returns the objective of the options. If they name none, it is DOUBLY_ROBUST
// for few decisions of one candidate each, by a linear policy: the log has what
// every choice earned, those that a learned policy seldom makes too, and a
// model of rewards learns from all of them. Otherwise it is CRM.
config::v1::PoemOptions::Objective ObjectiveOf(
    const TupleData& data, const config::v1::TrainOptions& options);

class LinearTrainData : public TrainData {
 public:
  LinearTrainData(TupleData data, ModelFrame frame,
                  const config::v1::TrainOptions& options);

  absl::StatusOr<std::unique_ptr<TuplePolicy>> TrainPolicy() const override {
    return grid_data_.TrainPolicy();
  }
  absl::StatusOr<std::unique_ptr<TuplePolicy>> ValidationPolicy()
      const override {
    return grid_data_.ValidationPolicy();
  }
  std::vector<double> UnreachableRewards() const override;
  Eigen::VectorXd FeatureScales() const override {
    return grid_data_.FeatureScales();
  }
  absl::StatusOr<LossModelCopies> FitLossModel(
      const LossModelFit& fit) const override {
    return grid_data_.FitLossModel(fit);
  }
  absl::StatusOr<MakeGridRisk> PrepareRisk(
      const config::v1::PoemOptions& options) const override;
  absl::StatusOr<ValidationRisk> PrepareValidationRisk(
      const config::v1::PoemOptions& options) const override;
  absl::StatusOr<WeightedParts> Weigh(
      const Eigen::VectorXd& parameters) const override;

  std::span<const BanditTuple> test_tuples() const override {
    return data_.test;
  }
  std::vector<MissingMass> MissingMassOfTest(
      const Eigen::VectorXd& parameters,
      const std::optional<model::v1::Model>& logging,
      const TrainData& logged) const override;

  const TupleCounts& counts() const override { return data_; }
  std::string drafted_features() const override {
    return frame_.drafted_features;
  }
  config::v1::PoemOptions::Objective objective() const override {
    return objective_;
  }
  size_t num_train() const override { return data_.train.size(); }
  size_t num_validation() const override { return data_.validation.size(); }
  size_t num_test() const override { return data_.test.size(); }
  std::vector<GuardedReward> guarded() const override { return data_.guarded; }
  std::vector<double> ShownLosses() const override;
  std::optional<Eigen::VectorXd> ParametersOf(
      const model::v1::Model& model) const override;
  void SetPolicy(const Eigen::VectorXd& parameters,
                 model::v1::Model* model) const override;
  absl::Status ReadStatus() const override { return data_.ReadStatus(); }
  std::vector<log::v1::Decision> Warmup() const override {
    return data_.warmup;
  }

 private:
  const TupleData data_;
  const ModelFrame frame_;
  const LinearFamily family_;
  const config::v1::PoemOptions::Objective objective_;
  const LinearGridData grid_data_;  // A view of data_.
};

}  // namespace sortition
