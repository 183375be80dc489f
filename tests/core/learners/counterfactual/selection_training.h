#pragma once
// Families of selections and options of short trainings, for the tests of this
// folder.
#include "core/learners/counterfactual/linear_tuple_policy.h"
#include "sortition/config/v1/poem.pb.h"

namespace sortition {

// Selections by four features.
inline const LinearFamily kSelections{ActionKind::kSelect, 4, false, 0.05};
inline const LinearFamily kSelectionsOrNone{ActionKind::kSelect, 4, true, 0.1};

inline config::v1::PoemOptions MakeOptions(
    config::v1::PoemOptions::Objective objective,
    config::v1::PoemOptions::Optimiser optimiser) {
  config::v1::PoemOptions options;
  options.set_objective(objective);
  options.set_optimiser(optimiser);
  return options;
}

// Few steps: for tests that compare trainings, which need not converge.
inline config::v1::PoemOptions ShortOptions(
    config::v1::PoemOptions::Objective objective,
    config::v1::PoemOptions::Optimiser optimiser) {
  config::v1::PoemOptions options = MakeOptions(objective, optimiser);
  options.mutable_adagrad()->set_max_epochs(4);
  options.mutable_lbfgs()->set_max_iterations(10);
  return options;
}

}  // namespace sortition
