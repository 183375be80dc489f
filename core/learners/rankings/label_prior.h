#pragma once
// Labels as prior, clicks as correction: what logged decisions train is pulled
// towards parameters w_L that labelled queries taught,
//   min_w  t̄ + (S / N) ‖(w - w_L) / s‖²,
// N decisions (or their weights). S says how many decisions the labels are
// worth: with N well below S the result stays near w_L, and as N grows the
// clicks decide. It is the penalty of a frame (core/optim/parameter_frame.h)
// whose origin is w_L, so that any terms and either optimiser take it. A pull
// on what the policy does instead of on w is LikelihoodTerms
// (core/counterfactual/likelihood_terms.h), towards the policies that logged.
#include <span>

#include "Eigen/Core"
#include "core/counterfactual/tuple_terms.h"
#include "core/learners/counterfactual/poem.h"

namespace sortition {

struct LabelPrior {
  Eigen::VectorXd parameters;  // w_L
  double decisions = 100;      // S >= 0
};

// Makes a run over these terms start at w_L and be pulled there; the units s
// are those of the run's frame. Replaces its l2.
inline void PullToLabels(const LabelPrior& prior, const TupleTerms& terms,
                         PoemRun* run) {
  double total = 0;
  for (const double weight : terms.weights()) total += weight;
  if (terms.weights().empty()) total = static_cast<double>(terms.num_tuples());
  run->frame.origin = prior.parameters;
  run->start = prior.parameters;
  run->crm.l2 = prior.decisions / total;
}

}  // namespace sortition
