#include "core/learners/learners.h"

#include "core/learners/classes/chain_learner.h"
#include "core/learners/classes/multiclass_learner.h"
#include "core/learners/games/mpg.h"
#include "core/learners/hinge/hinge_learner.h"
#include "core/learners/orders/crf.h"
#include "core/learners/orders/mallows.h"
#include "core/learners/orders/order_learners.h"

namespace sortition {

std::vector<LearnerInfo> ListLearners() {
  return {
      {"poem", "PoemOptions", "bandit tuples",
       "counterfactual risk minimisation: where logs and rewards are at hand"},
      {"mpg", "GameOptions", "labelled queries",
       "prediction games: precision at k, DCG, F-beta as they are; robust",
       &MakeMpgLearner},
      {"crf", "CrfOptions", "labelled queries",
       "random field over orders, drawn as it was trained: orders that are "
       "nearly as good are nearly as likely",
       &MakeCrfLearner},
      {"mallows", "MallowsOptions", "labelled queries",
       "how much each score list is worth, from orders that were seen",
       &MakeMallowsLearner},
      {"ranksvm", "RankSvmOptions", "labelled queries",
       "hinge of all pairs: a strong order to begin with, quick",
       &MakeRankSvmLearner},
      {"listnet", "ListNetOptions", "labelled queries",
       "cross entropy of the first rank: smooth, scores in units of draws",
       &MakeListNetLearner},
      {"regression", "RegressionOptions", "labelled queries",
       "least squares of the relevance: what every other is to beat",
       &MakeRegressionLearner},
      {"hinge", "HingeOptions", "labelled queries",
       "bounds of NDCG, Kendall's tau, F-beta, .. of the best answer",
       &MakeHingeLearner},
      {"multiclass", "MulticlassOptions", "labelled queries",
       "one of several classes for each item; relevance is the class",
       &MakeMulticlassLearner},
      {"chain", "ChainOptions", "labelled queries",
       "labels of sequences, each after the one before; not served",
       &MakeChainLearner},
      {"logistic", "LogisticOptions", "labelled queries",
       "logistic regression per candidate: a first model that explores (fit)"},
      {"labels", "LbfgsOptions", "labelled contexts",
       "logistic regression per label: the logging policy (convert)"},
  };
}

}  // namespace sortition
