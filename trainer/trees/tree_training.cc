#include "trainer/trees/tree_training.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/metrics/ranking_metrics.h"
#include "core/metrics/tied_ranking.h"
#include "io/scorers/tree_models.h"
#include "process/options/options.h"
#include "trainer/trees/arranged_queries.h"
#include "trainer/trees/xgboost_booster.h"

namespace sortition {
namespace {

using config::v1::TreeOptions;

// That of the early stopping.
constexpr uint32_t kValidationRanks = 10;
constexpr uint32_t kDefaultDepth = 4;
constexpr double kDefaultRate = 0.05;
// Gains are 2^relevance - 1.
constexpr uint32_t kMaxRelevance = 31;

std::string NameOf(TreeOptions::Objective objective) {
  switch (objective) {
    case TreeOptions::RANK_PAIRWISE:
      return "rank:pairwise";
    case TreeOptions::BINARY_LOGISTIC:
      return "binary:logistic";
    case TreeOptions::RANK_NDCG:
      break;
  }
  return "rank:ndcg";
}

XgboostParameters ParametersOf(const TreeOptions& given) {
  TreeOptions options = given;
  if (!options.has_max_depth()) options.set_max_depth(kDefaultDepth);
  if (!options.has_learning_rate()) options.set_learning_rate(kDefaultRate);
  if (!options.has_subsample()) options.set_subsample(1);
  XgboostParameters parameters = {
      {"objective", NameOf(options.objective())},
      {"tree_method", "hist"},
      {"max_depth", absl::StrCat(options.max_depth())},
      {"eta", absl::StrCat(options.learning_rate())},
      {"min_child_weight", absl::StrCat(options.min_child_weight())},
      {"subsample", absl::StrCat(options.subsample())},
      {"lambda", absl::StrCat(options.l2())},
      {"seed", absl::StrCat(options.seed())}};
  if (options.objective() != TreeOptions::BINARY_LOGISTIC) {
    parameters.push_back({"num_pairsample", absl::StrCat(options.pairs())});
  }
  return parameters;
}

// Checks query `i` of the training or validation queries, which should be like
// `first`.
absl::Status CheckQuery(const LabelledItems& query, size_t i,
                        const LabelledItems& first) {
  const auto wrong = [&](const auto&... text) {
    return absl::InvalidArgumentError(absl::StrCat("query ", i, " ", text...));
  };
  const Candidates& items = query.items;
  if (items.num_candidates() == 0 ||
      query.relevances.size() != items.num_candidates()) {
    return wrong("has ", items.num_candidates(), " items and ",
                 query.relevances.size(),
                 " relevances, must have as many, and at least 1");
  }
  if (items.num_features() != first.items.num_features()) {
    return wrong("has ", items.num_features(), " features, must have ",
                 first.items.num_features(), ", as the first one");
  }
  if (items.sparse() != first.items.sparse()) {
    return wrong("is ", items.sparse() ? "sparse" : "dense",
                 ", must be as the first one");
  }
  for (const float value : items.values()) {
    if (std::isinf(value)) {
      return wrong("has a feature that is ", value,
                   ", must be finite, or nan for a missing one");
    }
  }
  const uint32_t largest = std::ranges::max(query.relevances);
  if (largest > kMaxRelevance) {
    return wrong("has a relevance of ", largest, ", must be at most ",
                 kMaxRelevance);
  }
  return absl::OkStatus();
}

absl::Status CheckData(std::span<const LabelledItems> queries,
                       const LabelledItems& first) {
  for (size_t i = 0; i < queries.size(); ++i) {
    RETURN_IF_ERROR(CheckQuery(queries[i], i, first));
  }
  return absl::OkStatus();
}

size_t CountItems(std::span<const LabelledItems> queries) {
  size_t count = 0;
  for (const LabelledItems& query : queries) {
    count += query.items.num_candidates();
  }
  return count;
}

absl::Status CheckStart(std::span<const LabelledItems> queries,
                        std::span<const float> scores) {
  if (scores.empty() || scores.size() == CountItems(queries)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("start has ", scores.size(), " scores for ",
                   CountItems(queries), " candidates, must have one each"));
}

// Returns the matrix of the training queries and, if there are any, that of the
// validation queries.
absl::StatusOr<std::vector<XgboostMatrix>> MakeMatrices(
    std::span<const LabelledItems> train,
    std::span<const LabelledItems> validation, uint32_t relevant_from,
    const TreeStart& start) {
  std::vector<XgboostMatrix> matrices;
  const ArrangedQueries arranged(train);
  ASSIGN_OR_RETURN(XgboostMatrix of_train,
                   XgboostMatrix::Create(arranged.views(), relevant_from));
  if (!start.train.empty()) {
    RETURN_IF_ERROR(of_train.SetStart(arranged.Arrange(start.train)));
  }
  matrices.push_back(std::move(of_train));
  if (validation.empty()) return matrices;
  ASSIGN_OR_RETURN(XgboostMatrix of_validation,
                   XgboostMatrix::Create(validation, relevant_from));
  if (!start.validation.empty()) {
    RETURN_IF_ERROR(of_validation.SetStart(start.validation));
  }
  matrices.push_back(std::move(of_validation));
  return matrices;
}

// Returns the mean NDCG@10 over the queries with anything relevant. `margins`
// has the scores of all candidates, query after query.
double ValidationNdcg(std::span<const LabelledItems> queries,
                      std::span<const float> margins) {
  double sum = 0;
  size_t num_queries = 0;
  size_t begin = 0;
  for (const LabelledItems& query : queries) {
    const std::span<const float> of_query =
        margins.subspan(begin, query.relevances.size());
    begin += query.relevances.size();
    if (std::ranges::max(query.relevances) == 0) continue;
    const std::vector<double> scores(of_query.begin(), of_query.end());
    sum += Ndcg(TiedRanking(scores, query.relevances), kValidationRanks);
    ++num_queries;
  }
  return num_queries > 0 ? sum / static_cast<double>(num_queries) : 0;
}

// The smallest difference of NDCG that counts as better. It is above the
// rounding error of a mean whose queries are summed in another order.
constexpr double kLeastGain = 1e-12;

// The best round so far.
struct BestRound {
  uint32_t num_trees = 0;
  double ndcg = -1;
};

}  // namespace

absl::StatusOr<TrainedTrees> TrainTrees(
    std::span<const LabelledItems> train,
    std::span<const LabelledItems> validation, const TreeOptions& options,
    const TreeStart& start) {
  RETURN_IF_ERROR(ValidateOptions(options));
  if (train.empty()) {
    return absl::InvalidArgumentError("there are no training queries");
  }
  RETURN_IF_ERROR(CheckData(train, train[0]));
  RETURN_IF_ERROR(CheckData(validation, train[0]));
  RETURN_IF_ERROR(CheckStart(train, start.train));
  RETURN_IF_ERROR(CheckStart(validation, start.validation));
  const uint32_t relevant_from =
      options.objective() == TreeOptions::BINARY_LOGISTIC
          ? options.relevant_from()
          : 0;
  ASSIGN_OR_RETURN(const std::vector<XgboostMatrix> matrices,
                   MakeMatrices(train, validation, relevant_from, start));
  ASSIGN_OR_RETURN(XgboostBooster booster,
                   XgboostBooster::Create(ParametersOf(options), matrices));
  TrainedTrees trained;
  BestRound best;
  if (!start.validation.empty() && options.patience() > 0) {
    best.ndcg = ValidationNdcg(validation, start.validation);
  }
  while (trained.rounds < options.rounds()) {
    RETURN_IF_ERROR(
        booster.Update(static_cast<int>(trained.rounds), matrices[0]));
    ++trained.rounds;
    if (validation.empty()) continue;
    ASSIGN_OR_RETURN(const std::vector<float> margins,
                     booster.Margins(matrices[1]));
    const double ndcg = ValidationNdcg(validation, margins);
    if (ndcg > best.ndcg + kLeastGain || options.patience() == 0) {
      best = {trained.rounds, ndcg};
    } else if (trained.rounds - best.num_trees >= options.patience()) {
      break;
    }
  }
  ASSIGN_OR_RETURN(const std::string bytes, booster.Save("ubj"));
  ASSIGN_OR_RETURN(trained.ensemble, ParseTreeModel(bytes));
  if (!train[0].items.sparse()) {
    // Dense rows have 0 for what a sparse row would lack.
    trained.ensemble.set_absent_feature(model::v1::TreeEnsemble::ZERO);
  }
  if (!validation.empty()) {
    auto* const trees = trained.ensemble.mutable_trees();
    const auto kept = static_cast<int>(best.num_trees);
    trees->DeleteSubrange(kept, trees->size() - kept);
    trained.validation_ndcg = best.ndcg;
  }
  return trained;
}

}  // namespace sortition
