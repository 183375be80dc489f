#pragma once
// Policies with one hidden layer (HiddenLayer in model.proto) as functions of
// their parameters over bandit tuples.
#include <cstdint>
#include <span>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "core/learners/counterfactual/linear_tuple_policy.h"
#include "sortition/config/v1/poem.pb.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

// Scores s(d) = w·x(d) + u·tanh(V x(d) + c) with H units. The parameters are
// those of the linear family, then u (H), V (H × d by rows) and c (H).
class NetworkTuplePolicy : public LinearTuplePolicy {
 public:
  // As LinearTuplePolicy::Create(); InvalidArgument for 0 units, too.
  static absl::StatusOr<NetworkTuplePolicy> Create(
      const LinearFamily& family, uint32_t num_units,
      std::span<const BanditTuple> tuples,
      HiddenActions hidden = HiddenActions::kImpossible,
      std::span<const double> weights = {});

  Eigen::Index dimension() const override;
  void LogProbabilities(const Eigen::VectorXd& parameters,
                        std::span<const uint32_t> tuples,
                        std::span<double> log_probabilities) override;

 protected:
  void ScoreRows(const Candidates& candidates,
                 const Eigen::VectorXd& parameters,
                 std::span<double> scores) override;
  void AddRows(const Candidates& candidates, std::span<const double> factors,
               Eigen::VectorXd* gradient) override;

 private:
  NetworkTuplePolicy(LinearTuplePolicy linear, uint32_t num_units)
      : LinearTuplePolicy(std::move(linear)), num_units_(num_units) {}

  // Where u, V and c begin.
  Eigen::Index OutputsAt() const { return LinearTuplePolicy::dimension(); }
  Eigen::Index InputsAt() const { return OutputsAt() + num_units_; }
  Eigen::Index BiasesAt() const {
    return InputsAt() + Eigen::Index{num_units_} * family().num_features;
  }
  // Returns tanh(v·x + c) of one unit for one row.
  double Unit(const Candidates& candidates, uint32_t row, uint32_t unit) const;

  uint32_t num_units_;
  Eigen::VectorXd parameters_;  // Of the last LogProbabilities().
};

// A layer to learn.
struct HiddenLayerTask {
  LinearFamily family;
  std::span<const BanditTuple> tuples;
  config::v1::PoemOptions options;  // Objective, clip and optimiser.
  uint32_t num_units = 8;
  uint64_t seed = 1;
};

// Learns w, u, V and c together by the objective of the options without λ, and
// returns V and c: what is left is linear in its features again, and is learned
// with all the grid's care. V begins with random weights of mean 0 and variance
// 1/d in units of the features' scales (FeatureScales). Errors as
// TrainCounterfactual().
absl::StatusOr<model::v1::HiddenLayer> LearnHiddenLayer(
    const HiddenLayerTask& task);

}  // namespace sortition
