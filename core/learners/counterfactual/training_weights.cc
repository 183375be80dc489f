#include "core/learners/counterfactual/training_weights.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/counterfactual/unit_weights.h"
#include "core/learners/counterfactual/feature_block.h"
#include "core/optim/parameter_frame.h"

namespace sortition {

std::vector<double> TrainingWeights(std::span<const BanditTuple> tuples) {
  // What is this old no longer matters, but weights must be positive.
  constexpr double kLeastRecency = 1e-12;
  std::vector<uint64_t> units;
  std::vector<double> recencies;
  for (const BanditTuple& tuple : tuples) {
    units.push_back(tuple.unit);
    recencies.push_back(std::max(tuple.recency, kLeastRecency));
  }
  return UnitWeights(units, recencies);
}

Eigen::VectorXd FeatureScales(const LinearFamily& family,
                              std::span<const BanditTuple> tuples,
                              std::span<const double> weights) {
  CHECK(weights.size() == tuples.size());
  const Eigen::Index size = family.num_features;
  ColumnSums sums{Eigen::VectorXd::Zero(size), Eigen::VectorXd::Zero(size)};
  FeatureBlock features;
  for (size_t i = 0; i < tuples.size(); ++i) {
    const Candidates& candidates = features.Load(tuples[i]);
    const std::span<const float> values = candidates.values();
    sums.rows += weights[i] * candidates.num_candidates();
    for (size_t k = 0; k < values.size(); ++k) {
      const double value = values[k];
      if (value == 0) continue;
      const Eigen::Index column =
          candidates.sparse()
              ? candidates.columns()[k]
              : static_cast<Eigen::Index>(k % family.num_features);
      sums.squares[column] += weights[i] * value * value;
      sums.counts[column] += weights[i];
    }
  }
  Eigen::VectorXd scales = Eigen::VectorXd::Ones(family.dimension());
  scales.head(size) = ScalesOf(sums);
  return scales;
}

}  // namespace sortition
