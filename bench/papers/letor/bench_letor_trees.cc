// Trees by XGBoost beside linear learners: NDCG@10 on five folds of LETOR.
//
// What validation queries choose, in NDCG@10 of web search, is judged on the
// test queries: of trees depth, learning rate and number, of linear learners
// the point of their grid.
#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/papers/letor/letor_methods.h"
#include "bench/support/letor_folds.h"
#include "bench/support/parallel_runs.h"
#include "bench/support/report.h"
#include "bench/support/statistics.h"
#include "core/base/status_macros.h"
#include "core/data/labelled_queries.h"
#include "core/metrics/letor_metrics.h"
#include "core/metrics/ranking_metrics.h"
#include "core/scoring/tree_ensemble.h"
#include "trainer/trees/tree_training.h"
#include "trainer/trees/xgboost_booster.h"

ABSL_FLAG(std::string, letor, "",
          "directory of MQ2008: S1.txt .. S5.txt, or Fold1 .. Fold5");
ABSL_FLAG(int, threads, 2, "learners and folds run at once");
ABSL_FLAG(int, rounds, 300, "trees at most");

namespace sortition {
namespace {

constexpr uint32_t kRanks = 10;
// One-tailed Student's t at 5 %, for many queries.
constexpr double kNoise = 1.645;

// Writes the scores of the items of a query.
using Scorer =
    std::function<void(const Candidates& items, std::span<double> scores)>;

// NDCG@10 of each query.
struct Figures {
  std::vector<double> web;    // Discount 1 / log2(rank + 2).
  std::vector<double> letor;  // Of LETOR 4.0's tool.
};

Figures Judge(std::span<const LabelledItems> queries, const Scorer& scorer) {
  Figures figures;
  for (const LabelledItems& query : queries) {
    std::vector<double> scores(query.relevances.size());
    scorer(query.items, scores);
    const TiedRanking ranking(scores, query.relevances);
    figures.web.push_back(Ndcg(ranking, kRanks));
    figures.letor.push_back(LetorFiguresOf(ranking).ndcg[kRanks - 1]);
  }
  return figures;
}

Scorer LinearScorer(std::vector<double> weights) {
  return [weights = std::move(weights)](const Candidates& items,
                                        std::span<double> scores) {
    ScoreAll(items, weights, scores);
  };
}

Scorer TreeScorer(TreeEnsemble ensemble) {
  return [ensemble = std::move(ensemble)](const Candidates& items,
                                          std::span<double> scores) {
    std::vector<uint32_t> documents(items.num_candidates());
    std::iota(documents.begin(), documents.end(), 0u);
    TreeScratch scratch;
    ensemble.Scores(items, documents, &scratch, scores);
  };
}

struct Candidate {
  std::string setting;
  Scorer scorer;
};

struct Learner {
  std::string name;
  bool is_trees = false;
  std::function<absl::StatusOr<std::vector<Candidate>>(const LetorFold&)> train;
};

Learner LinearLearner(const LetorMethod& method) {
  return {
      method.name, false,
      [train = method.train](
          const LetorFold& fold) -> absl::StatusOr<std::vector<Candidate>> {
        ASSIGN_OR_RETURN(const std::vector<LetorRanker> rankers,
                         train(fold, NdcgKind::kLetor));
        std::vector<Candidate> candidates;
        for (const LetorRanker& ranker : rankers) {
          candidates.push_back({ranker.setting, LinearScorer(ranker.weights)});
        }
        return candidates;
      }};
}

absl::StatusOr<std::vector<Candidate>> TrainGrid(
    const LetorFold& fold, config::v1::TreeOptions::Objective objective) {
  std::vector<Candidate> candidates;
  for (const uint32_t depth : {3, 6}) {
    for (const double rate : {0.05, 0.1}) {
      config::v1::TreeOptions options;
      options.set_objective(objective);
      options.set_max_depth(depth);
      options.set_learning_rate(rate);
      options.set_rounds(static_cast<uint32_t>(absl::GetFlag(FLAGS_rounds)));
      ASSIGN_OR_RETURN(const TrainedTrees trained,
                       TrainTrees(fold.train, fold.validation, options));
      ASSIGN_OR_RETURN(TreeEnsemble ensemble,
                       TreeEnsemble::Create(trained.ensemble));
      candidates.push_back(
          {absl::StrCat("depth ", depth, ", rate ", rate, ", ",
                        trained.ensemble.trees_size(), " trees"),
           TreeScorer(std::move(ensemble))});
    }
  }
  return candidates;
}

Learner TreeLearner(const std::string& name,
                    config::v1::TreeOptions::Objective objective) {
  return {name, true, [objective](const LetorFold& fold) {
            return TrainGrid(fold, objective);
          }};
}

std::vector<Learner> AllLearners() {
  std::vector<Learner> learners;
  for (const LetorMethod& method : CrfMethods()) {
    // The best of the random fields in ./dev bench letor.
    if (method.name == "KL") learners.push_back(LinearLearner(method));
  }
  for (const LetorMethod& method : LetorBaselines()) {
    learners.push_back(LinearLearner(method));
  }
  learners.push_back(
      TreeLearner("XGBoost rank:ndcg", config::v1::TreeOptions::RANK_NDCG));
  learners.push_back(TreeLearner("XGBoost rank:pairwise",
                                 config::v1::TreeOptions::RANK_PAIRWISE));
  return learners;
}

struct FoldResult {
  std::string setting;
  Figures test;
};

struct LearnerResult {
  std::string name;
  bool is_trees = false;
  std::array<FoldResult, kNumFolds> folds;

  // Means of the folds' means, as LETOR computes them.
  double MeanWeb() const {
    double sum = 0;
    for (const FoldResult& fold : folds) sum += Mean(fold.test.web);
    return sum / kNumFolds;
  }
  double MeanLetor() const {
    double sum = 0;
    for (const FoldResult& fold : folds) sum += Mean(fold.test.letor);
    return sum / kNumFolds;
  }
  // NDCG@10 of all test queries.
  std::vector<double> Queries() const {
    std::vector<double> all;
    for (const FoldResult& fold : folds) {
      all.insert(all.end(), fold.test.web.begin(), fold.test.web.end());
    }
    return all;
  }
};

absl::StatusOr<FoldResult> RunFold(const Learner& learner,
                                   const LetorFold& fold) {
  ASSIGN_OR_RETURN(const std::vector<Candidate> candidates,
                   learner.train(fold));
  double best = -1;
  FoldResult result;
  for (const Candidate& candidate : candidates) {
    const double validation =
        Mean(Judge(fold.validation, candidate.scorer).web);
    if (validation <= best) continue;
    best = validation;
    result = {candidate.setting, Judge(fold.test, candidate.scorer)};
  }
  return result;
}

void Print(const std::vector<LearnerResult>& results) {
  absl::PrintF("\n%-22s", "test NDCG@10, fold");
  for (size_t f = 1; f <= kNumFolds; ++f) absl::PrintF("      %d", f);
  absl::PrintF("    mean   by LETOR's tool\n");
  for (const LearnerResult& result : results) {
    absl::PrintF("%-22s", result.name);
    for (const FoldResult& fold : result.folds) {
      absl::PrintF(" %6.4f", Mean(fold.test.web));
    }
    absl::PrintF("  %6.4f   %6.4f\n", result.MeanWeb(), result.MeanLetor());
  }
  absl::PrintF("\nWhat validation chose for trees\n");
  for (const LearnerResult& result : results) {
    if (!result.is_trees) continue;
    for (size_t f = 0; f < kNumFolds; ++f) {
      absl::PrintF("%-22s fold %d: %s\n", result.name, f + 1,
                   result.folds[f].setting);
    }
  }
}

// Compares rank:ndcg with the linear learner whose test figure is best, which
// favours the latter.
std::vector<Target> Compare(const std::vector<LearnerResult>& results) {
  const LearnerResult* linear = nullptr;
  const LearnerResult* trees = nullptr;
  for (const LearnerResult& result : results) {
    if (result.is_trees) {
      if (trees == nullptr) trees = &result;
    } else if (linear == nullptr || result.MeanWeb() > linear->MeanWeb()) {
      linear = &result;
    }
  }
  const PairedTest test = TestPairs(trees->Queries(), linear->Queries());
  absl::PrintF("\n%s against %s: %+.4f, t = %.2f over queries\n", trees->name,
               linear->name, trees->MeanWeb() - linear->MeanWeb(), test.t);
  return {{absl::StrCat(trees->name, " against ", linear->name, ", t"), test.t,
           -kNoise, true}};
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
  const std::vector<Learner> learners = AllLearners();
  std::vector<LearnerResult> results;
  for (const Learner& learner : learners) {
    results.push_back({learner.name, learner.is_trees, {}});
  }
  const auto run = [&](size_t i) -> absl::Status {
    const size_t l = i / kNumFolds;
    const size_t f = i % kNumFolds;
    ASSIGN_OR_RETURN(results[l].folds[f], RunFold(learners[l], data.folds[f]));
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(RunInParallel(learners.size() * kNumFolds,
                                absl::GetFlag(FLAGS_threads), run));
  Print(results);
  return Compare(results);
}

}  // namespace
}  // namespace sortition

int main(int argc, char** argv) {
  return sortition::RunBenchmark(
      argc, argv,
      "Compares trees by XGBoost with linear learners on LETOR queries.",
      sortition::Run);
}
