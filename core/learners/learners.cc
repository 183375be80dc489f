#include "core/learners/learners.h"

#include "core/learners/mpg.h"

namespace sortition {

std::vector<LearnerInfo> ListLearners() {
  return {
      {"poem", "PoemOptions", "bandit tuples",
       "counterfactual risk minimisation: where logs and rewards are at hand"},
      {"mpg", "GameOptions", "labelled queries",
       "prediction games: precision at k, DCG, F-beta as they are; robust",
       &MakeMpgLearner},
      {"logistic", "LogisticOptions", "labelled queries",
       "logistic regression per candidate: a first model that explores (fit)"},
      {"labels", "LbfgsOptions", "labelled contexts",
       "logistic regression per label: the logging policy of convert"},
  };
}

}  // namespace sortition
