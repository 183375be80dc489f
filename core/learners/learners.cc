#include "core/learners/learners.h"

#include "core/learners/classes/chain_learner.h"
#include "core/learners/classes/multiclass_learner.h"
#include "core/learners/games/mpg.h"
#include "core/learners/hinge/hinge_learner.h"
#include "core/learners/orders/crf.h"
#include "core/learners/orders/mallows.h"
#include "core/learners/orders/order_learners.h"
#include "core/learners/trees/tree_learner.h"

namespace sortition {
namespace {

using config::v1::TrainOptions;

// Calls the factory `make` with the group of options that `group` returns.
template <auto group, auto make>
absl::StatusOr<std::unique_ptr<LabelledLearner>> Make(
    const TrainOptions& options, const LabelledShape& shape) {
  return make((options.*group)(), shape);
}

}  // namespace

std::vector<LearnerInfo> ListLearners() {
  constexpr auto kNotOfTrain = TrainOptions::LEARNER_OPTIONS_NOT_SET;
  return {
      {"poem", TrainOptions::kPoem, "bandit tuples",
       "counterfactual risk minimisation; for logs with rewards"},
      {"mpg", TrainOptions::kGame, "labelled queries",
       "prediction games: optimises precision at k, DCG or F-beta itself; "
       "robust",
       &Make<&TrainOptions::game, &MakeMpgLearner>},
      {"crf", TrainOptions::kCrf, "labelled queries",
       "conditional random field over orders, served as trained: nearly "
       "equally "
       "good orders are nearly equally likely",
       &Make<&TrainOptions::crf, &MakeCrfLearner>},
      {"mallows", TrainOptions::kMallows, "labelled queries",
       "weights of several score lists, from observed orders",
       &Make<&TrainOptions::mallows, &MakeMallowsLearner>},
      {"ranksvm", TrainOptions::kRankSvm, "labelled queries",
       "hinge loss of all pairs: fast, a strong first choice for ranking",
       &Make<&TrainOptions::rank_svm, &MakeRankSvmLearner>},
      {"listnet", TrainOptions::kListNet, "labelled queries",
       "cross entropy of the first rank: smooth, calibrated for drawing",
       &Make<&TrainOptions::list_net, &MakeListNetLearner>},
      {"regression", TrainOptions::kRegression, "labelled queries",
       "least squares of the relevance: the baseline",
       &Make<&TrainOptions::regression, &MakeRegressionLearner>},
      {"trees", TrainOptions::kBoostedTrees, "labelled queries",
       "gradient-boosted trees (XGBoost): features that matter together, or "
       "not "
       "in proportion",
       &Make<&TrainOptions::boosted_trees, &MakeTreeLearner>},
      {"hinge", TrainOptions::kHinge, "labelled queries",
       "upper bounds of NDCG, Kendall's tau, F-beta and other losses",
       &Make<&TrainOptions::hinge, &MakeHingeLearner>},
      {"multiclass", TrainOptions::kMulticlass, "labelled queries",
       "one of several classes for each item; the relevance is the class",
       &Make<&TrainOptions::multiclass, &MakeMulticlassLearner>},
      {"chain", TrainOptions::kChain, "labelled queries",
       "labels of sequences, each depending on the one before; not served",
       &Make<&TrainOptions::chain, &MakeChainLearner>},
      {"logistic", kNotOfTrain, "labelled queries",
       "logistic regression per candidate: a first model that explores (fit)"},
      {"labels", kNotOfTrain, "labelled contexts",
       "logistic regression per label: the logging policy (convert)"},
  };
}

}  // namespace sortition
