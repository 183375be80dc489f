// Trees alone against trees with a linear correction that POEM learns from
// simulated clicks, on five folds of LETOR.
//
// Trees learn from the labels of a share of the training queries, as from a
// small set that people have judged. A softmax of their score then selects one
// candidate of a random training query, 100,000 times a fold; the user clicks
// with probability R(g) = (2^g - 1) / 2^g_max of its relevance g
// (core/simulation/user_model.h). POEM learns weights of all features and of
// the trees' score from these clicks. Both order the test queries, by NDCG@10.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/support/letor_folds.h"
#include "bench/support/parallel_runs.h"
#include "bench/support/report.h"
#include "bench/support/statistics.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"
#include "core/learners/counterfactual/counterfactual_grid.h"
#include "core/learners/counterfactual/linear_grid_data.h"
#include "core/metrics/ranking_metrics.h"
#include "core/policies/linear_policy.h"
#include "trainer/trees/tree_training.h"
#include "trainer/trees/xgboost_booster.h"

ABSL_FLAG(std::string, letor, "",
          "directory of MQ2008: S1.txt .. S5.txt, or Fold1 .. Fold5");
ABSL_FLAG(int, threads, 2, "folds run at once");
ABSL_FLAG(int, clicks, 100000, "decisions of a fold");
ABSL_FLAG(double, share, 0.1, "share of the training queries that trees see");

namespace sortition {
namespace {

constexpr uint32_t kRanks = 10;
constexpr double kMixture = 0.1;
constexpr double kValidation = 0.25;  // Of the decisions.
constexpr uint32_t kMostRelevance = 2;
// One-tailed Student's t at 5 %, for many queries.
constexpr double kNoise = 1.645;

// The model that logs: the score of the trees alone.
model::v1::Model TreesAlone(const model::v1::TreeEnsemble& trees) {
  model::v1::Model model;
  model.set_num_features(trees.num_features());
  *model.mutable_trees() = trees;
  for (uint32_t j = 0; j < trees.num_features(); ++j) model.add_weights(0);
  model.add_weights(1);
  model.mutable_policy()->mutable_softmax_selection();
  model.mutable_policy()->set_inverse_temperature(1);
  model.mutable_policy()->set_uniform_mixture(kMixture);
  return model;
}

std::vector<uint32_t> AllOf(const Candidates& items) {
  std::vector<uint32_t> documents(items.num_candidates());
  std::iota(documents.begin(), documents.end(), 0u);
  return documents;
}

// Logs clicks on random queries.
absl::StatusOr<std::vector<BanditTuple>> LogClicks(
    std::span<const LabelledItems> queries, const LinearPolicy& policy,
    uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  PolicyWorkspace workspace;
  ModelFeatureScratch scratch;
  Draw draw;
  std::vector<BanditTuple> tuples;
  const int clicks = absl::GetFlag(FLAGS_clicks);
  for (int i = 0; i < clicks; ++i) {
    const LabelledItems& asked = queries[random.Below(queries.size())];
    PolicyQuery query;
    query.candidates = asked.items;
    policy.Decide(query, SeedKey(seed, absl::StrCat(i)), &workspace, &draw);
    RETURN_IF_ERROR(workspace.refusal);
    ASSIGN_OR_RETURN(
        const Candidates features,
        policy.features().Compute({asked.items}, AllOf(asked.items), &scratch));
    BanditTuple& tuple = tuples.emplace_back();
    tuple.values.assign(features.values().begin(), features.values().end());
    tuple.num_features = features.num_features();
    tuple.action = draw.action;
    tuple.log_propensity = draw.log_propensity;
    tuple.unit = static_cast<uint64_t>(i);
    const double gain = std::exp2(asked.relevances[draw.action[0]]) - 1;
    tuple.loss = random.Uniform() < gain / std::exp2(kMostRelevance) ? -1 : 0;
  }
  return tuples;
}

// NDCG@10 of each query.
absl::StatusOr<std::vector<double>> Judge(
    std::span<const LabelledItems> queries, const ModelFeatures& features,
    std::span<const double> weights) {
  std::vector<double> figures;
  ModelFeatureScratch scratch;
  for (const LabelledItems& query : queries) {
    const std::vector<uint32_t> documents = AllOf(query.items);
    ASSIGN_OR_RETURN(const Candidates z,
                     features.Compute({query.items}, documents, &scratch));
    std::vector<double> scores(documents.size());
    z.Scores(documents, weights, scores);
    figures.push_back(Ndcg(TiedRanking(scores, query.relevances), kRanks));
  }
  return figures;
}

struct FoldFigures {
  std::vector<double> trees;
  std::vector<double> corrected;
  bool keeps_parent = false;
};

absl::StatusOr<FoldFigures> RunFold(const LetorFold& fold, uint64_t seed) {
  RandomSequence random(SeedKey(seed, "judged"));
  std::vector<LabelledItems> judged;
  for (const LabelledItems& query : fold.train) {
    if (random.Uniform() < absl::GetFlag(FLAGS_share)) judged.push_back(query);
  }
  config::v1::TreeOptions options;
  options.set_max_depth(3);
  options.set_learning_rate(0.05);
  ASSIGN_OR_RETURN(const TrainedTrees trained,
                   TrainTrees(judged, fold.validation, options));
  const model::v1::Model model = TreesAlone(trained.ensemble);
  ASSIGN_OR_RETURN(const LinearPolicy policy, LinearPolicy::Create(model));
  ASSIGN_OR_RETURN(std::vector<BanditTuple> tuples,
                   LogClicks(fold.train, policy, seed));
  const auto train = static_cast<size_t>((1 - kValidation) *
                                         static_cast<double>(tuples.size()));
  const std::span<const BanditTuple> all = tuples;
  const LinearFamily family = {.action_kind = ActionKind::kSelect,
                               .num_features = policy.features().num_features(),
                               .uniform_mixture = kMixture};
  const LinearGridData data(family, all.first(train), all.subspan(train),
                            config::v1::PoemOptions::CRM);
  GridTask task;
  task.data = &data;
  task.options.set_standardise(true);
  task.options.set_penalty(config::v1::PoemOptions::PROXIMAL);
  task.options.set_start(config::v1::PoemOptions::PARENT);
  const Eigen::VectorXd parent = *ParametersOf(family, model);
  task.parent_start = parent;
  ASSIGN_OR_RETURN(const GridOutcome outcome, TrainGrid(task));
  FoldFigures figures;
  figures.keeps_parent = outcome.keeps_parent;
  const auto judge = [&](const Eigen::VectorXd& weights) {
    return Judge(fold.test, policy.features(),
                 {weights.data(), static_cast<size_t>(weights.size())});
  };
  ASSIGN_OR_RETURN(figures.trees, judge(parent));
  ASSIGN_OR_RETURN(figures.corrected, judge(outcome.parameters));
  return figures;
}

absl::StatusOr<Report> Run() {
  const std::string letor = absl::GetFlag(FLAGS_letor);
  if (!HasXgboost() || letor.empty()) {
    absl::PrintF("skipped: %s\n", letor.empty()
                                      ? "--letor names no directory of data"
                                      : "built without SORTITION_XGBOOST");
    return Report();
  }
  ASSIGN_OR_RETURN(const LetorFolds data, ReadLetorFolds(letor));
  std::array<FoldFigures, kNumFolds> folds;
  RETURN_IF_ERROR(RunInParallel(
      kNumFolds, absl::GetFlag(FLAGS_threads), [&](size_t f) -> absl::Status {
        ASSIGN_OR_RETURN(folds[f], RunFold(data.folds[f], f));
        return absl::OkStatus();
      }));
  std::vector<double> trees;
  std::vector<double> corrected;
  absl::PrintF("\n%-22s%10s%12s\n", "test NDCG@10", "trees", "with clicks");
  for (size_t f = 0; f < kNumFolds; ++f) {
    absl::PrintF("fold %d %25.4f%12.4f%s\n", f + 1, Mean(folds[f].trees),
                 Mean(folds[f].corrected),
                 folds[f].keeps_parent ? "  (kept the trees)" : "");
    trees.insert(trees.end(), folds[f].trees.begin(), folds[f].trees.end());
    corrected.insert(corrected.end(), folds[f].corrected.begin(),
                     folds[f].corrected.end());
  }
  const PairedTest test = TestPairs(corrected, trees);
  absl::PrintF("all queries %20.4f%12.4f   t = %.2f\n", Mean(trees),
               Mean(corrected), test.t);
  return Report({{"trees with a correction against trees alone, t", test.t,
                  kNoise, true}});
}

}  // namespace
}  // namespace sortition

int main(int argc, char** argv) {
  return sortition::RunBenchmark(
      argc, argv,
      "Compares trees alone with trees and a linear correction from clicks.",
      sortition::Run);
}
