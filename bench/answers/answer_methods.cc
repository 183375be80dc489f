#include "bench/answers/answer_methods.h"

#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/answers/bandit_round.h"
#include "core/base/status_macros.h"
#include "core/learners/classes/logistic.h"
#include "core/learners/orders/list_net.h"
#include "core/scoring/tree_ensemble.h"
#include "trainer/trees/tree_training.h"
#include "trainer/trees/xgboost_booster.h"

namespace sortition {
namespace {

using config::v1::TreeOptions;

AnswerScorer LinearScorer(std::vector<double> weights) {
  return [weights = std::move(weights)](const FeatureMatrix& matrix) {
    const Candidates candidates = matrix.View();
    std::vector<uint32_t> indexes(candidates.num_candidates());
    std::iota(indexes.begin(), indexes.end(), 0u);
    std::vector<double> scores(indexes.size());
    candidates.Scores(indexes, weights, scores);
    return scores;
  };
}

// The feature of this name alone.
AnswerMethod OneFeature(const std::string& name, const std::string& feature) {
  return {name,
          [feature](const AnswerData& data) -> absl::StatusOr<AnswerScorer> {
            const FeatureTransform& transform = data.transform;
            std::vector<double> weights(transform.num_features());
            for (uint32_t j = 0; j < transform.num_dense_features(); ++j) {
              if (transform.FeatureName(j) != feature) continue;
              weights[j] = 1;
              return LinearScorer(std::move(weights));
            }
            return absl::NotFoundError(
                absl::StrCat("there is no feature '", feature, "'"));
          }};
}

// Returns the weights of the grid point with the largest mean reciprocal rank
// on the validation questions.
template <typename Train>
absl::StatusOr<AnswerScorer> ChooseByValidation(const AnswerData& data,
                                                const std::vector<double>& grid,
                                                const Train& train) {
  double best = -1;
  AnswerScorer chosen;
  for (const double strength : grid) {
    ASSIGN_OR_RETURN(std::vector<double> weights, train(strength));
    AnswerScorer scorer = LinearScorer(std::move(weights));
    const double rank = MeasureSelection(ScoreAnswers(scorer, data.validate),
                                         data.validate.relevances)
                            .mean_reciprocal_rank;
    if (rank <= best) continue;
    best = rank;
    chosen = std::move(scorer);
  }
  return chosen;
}

// Cross entropy of the best rank. A relevance of 6 leaves candidates that are
// not right e^-6 of the weight of a right one.
absl::StatusOr<AnswerScorer> LearnListNet(const AnswerData& data) {
  constexpr uint32_t kRight = 6;
  std::vector<std::vector<uint32_t>> store;
  const std::vector<LabelledItems> items = data.train.Items(kRight, &store);
  return ChooseByValidation(
      data, {1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3},
      [&](double lambda) -> absl::StatusOr<std::vector<double>> {
        ASSIGN_OR_RETURN(ListNetResult result, TrainListNet(items, lambda, {}));
        return std::move(result.weights);
      });
}

// Logistic regression of being right: scores of different questions compare.
absl::StatusOr<AnswerScorer> LearnLogistic(const AnswerData& data) {
  const uint32_t num_features = data.transform.num_features();
  std::vector<float> features;
  std::vector<uint8_t> labels;
  for (size_t i = 0; i < data.train.size(); ++i) {
    const Candidates candidates = data.train.features[i].View();
    std::vector<double> row(num_features);
    for (uint32_t k = 0; k < candidates.num_candidates(); ++k) {
      row.assign(num_features, 0.0);
      candidates.AddRow(k, 1, row);
      for (const double value : row) {
        features.push_back(static_cast<float>(value));
      }
      labels.push_back(data.train.relevances[i][k] > 0 ? 1 : 0);
    }
  }
  return ChooseByValidation(
      data, {0.1, 1, 10, 30, 100, 300, 1000},
      [&](double l2) -> absl::StatusOr<std::vector<double>> {
        config::v1::LogisticOptions options;
        options.set_l2(l2);
        ASSIGN_OR_RETURN(LogisticResult result,
                         FitLogistic({.features = features,
                                      .labels = labels,
                                      .num_features = num_features},
                                     options));
        return std::move(result.weights);
      });
}

// Gradient-boosted trees, stopped early by the validation questions.
absl::StatusOr<AnswerScorer> LearnTrees(const AnswerData& data,
                                        TreeOptions::Objective objective) {
  std::vector<std::vector<uint32_t>> store, validate_store;
  TreeOptions options;
  options.set_objective(objective);
  options.set_max_depth(4);
  options.set_learning_rate(0.05);
  ASSIGN_OR_RETURN(
      const TrainedTrees trained,
      TrainTrees(data.train.Items(1, &store),
                 data.validate.Items(1, &validate_store), options));
  ASSIGN_OR_RETURN(TreeEnsemble trees, TreeEnsemble::Create(trained.ensemble));
  return [trees = std::move(trees)](const FeatureMatrix& matrix) {
    const Candidates candidates = matrix.View();
    std::vector<uint32_t> indexes(candidates.num_candidates());
    std::iota(indexes.begin(), indexes.end(), 0u);
    std::vector<double> scores(indexes.size());
    TreeScratch scratch;
    trees.Scores(candidates, indexes, &scratch, scores);
    return scores;
  };
}

AnswerMethod Trees(const std::string& name, TreeOptions::Objective objective) {
  return {name, [objective](const AnswerData& data) {
            return LearnTrees(data, objective);
          }};
}

}  // namespace

std::vector<AnswerMethod> ListAnswerMethods() {
  std::vector<AnswerMethod> methods = {
      OneFeature("BM25 alone", "bm25(question,sentence)"),
      OneFeature("overlap alone", "idf_overlap(question,sentence)"),
      {"lexical-linear, logistic", LearnLogistic},
      {"lexical-linear, ListNet", LearnListNet}};
  if (HasXgboost()) {
    methods.push_back(Trees("trees, logistic", TreeOptions::BINARY_LOGISTIC));
    methods.push_back(Trees("trees, LambdaMART", TreeOptions::RANK_NDCG));
  }
  methods.push_back({"first model, 20 questions", FitFirstModel, 0});
  methods.push_back({"after a bandit round, POEM", LearnFromBanditRound, 0});
  return methods;
}

AnswerScores ScoreAnswers(const AnswerScorer& scorer, const AnswerPart& part) {
  AnswerScores scores;
  for (const FeatureMatrix& matrix : part.features) {
    scores.push_back(scorer(matrix));
  }
  return scores;
}

}  // namespace sortition
