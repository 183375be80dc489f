#pragma once
// How tuples enter training: how much each counts, and in which units.
#include <span>
#include <vector>

#include "Eigen/Core"
#include "core/learners/counterfactual/bandit_tuple.h"
#include "core/learners/counterfactual/linear_tuple_policy.h"

namespace sortition {

// Returns how much each tuple counts in objectives: its recency, weighed down
// where its unit has many (UnitWeights).
std::vector<double> TrainingWeights(std::span<const BanditTuple> tuples);

// Returns the unit of each parameter (ScalesOf), from all rows of the tuples,
// which count as `weights`; 1 for the constant. Requires equal sizes. Reads all
// features once.
Eigen::VectorXd FeatureScales(const LinearFamily& family,
                              std::span<const BanditTuple> tuples,
                              std::span<const double> weights);

}  // namespace sortition
