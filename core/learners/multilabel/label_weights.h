#pragma once
// How tuples of labels enter training: how much each counts, and in which
// units.
#include <vector>

#include "Eigen/Core"
#include "core/learners/multilabel/label_tuples.h"

namespace sortition {

// Returns how much each tuple counts: a context is a unit (UnitWeights).
std::vector<double> LabelTrainingWeights(const LabelTuples& tuples);

// Returns the unit of each parameter (ScalesOf), from the contexts of the
// tuples, each once.
Eigen::VectorXd LabelFeatureScales(const LabelContexts& contexts,
                                   const LabelTuples& tuples);

}  // namespace sortition
