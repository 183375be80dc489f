#include "core/learners/learners.h"

namespace sortition {

std::vector<LearnerInfo> ListLearners() {
  return {
      {"poem", "PoemOptions", "bandit tuples",
       "Counterfactual risk minimisation with variance regularisation"},
      {"logistic", "LogisticOptions", "labelled queries",
       "L2-regularised logistic regression per candidate"},
      {"labels", "LbfgsOptions", "labelled contexts",
       "L2-regularised logistic regression per label, by L-BFGS"},
  };
}

}  // namespace sortition
