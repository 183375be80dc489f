// Compares trees with each linear learner, all with default options: NDCG@10 of
// test queries.
//
// Every learner is run as `train` runs it, without options: validation queries
// choose its λ, its epoch, or its trees. Each line compares trees with one
// linear learner, paired over the test queries of all folds.
#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/papers/letor/tree_sets.h"
#include "bench/support/clocks.h"
#include "bench/support/parallel_runs.h"
#include "bench/support/report.h"
#include "bench/support/statistics.h"
#include "core/base/status_macros.h"
#include "core/data/labelled_queries.h"
#include "core/learners/learners.h"
#include "core/metrics/letor_metrics.h"
#include "core/metrics/ranking_metrics.h"
#include "core/metrics/tied_ranking.h"
#include "core/scoring/tree_ensemble.h"
#include "trainer/trees/tree_training.h"
#include "trainer/trees/xgboost_booster.h"

ABSL_FLAG(std::string, letor, "",
          "directory of a LETOR set: S1.txt .. S5.txt, or Fold1 .. Fold5 with "
          "train.txt, vali.txt and test.txt each");
ABSL_FLAG(std::string, train, "",
          "file of training queries: LETOR or, with --features, .tsv, .csv or "
          ".jsonl; in its stead --letor");
ABSL_FLAG(std::string, validate, "", "file of validation queries");
ABSL_FLAG(std::string, test, "", "file of test queries");
ABSL_FLAG(std::string, features, "",
          "text proto sortition.model.v1.FeatureSpec for such files");
ABSL_FLAG(std::string, selqa, "",
          "directory with selqa-ass-dev.tsv (every fifth question validates, "
          "the others train) and selqa-ass-test.tsv; needs --features");
ABSL_FLAG(bool, synthetic, true, "simulate three sets, too");
ABSL_FLAG(int, threads, 2, "learners and folds run at once");

namespace sortition {
namespace {

constexpr uint32_t kRanks = 10;
// One-tailed Student's t at 1 %, for many queries. Each set has five linear
// learners, so that any comparison of a set fails by chance in at most 5 %.
constexpr double kNoise = 2.326;
constexpr std::array kNames = {"trees",      "ranksvm", "listnet",
                               "regression", "hinge",   "crf"};

struct FoldResult {
  std::vector<double> ndcg;   // NDCG@10 of each test query.
  std::vector<double> letor;  // NDCG by LETOR 4.0's tool.
  std::vector<double> average_precision;
  std::string setting;
  double seconds = 0;
};

// Writes the scores of linear weights and, if there are any, trees.
absl::Status ScoreWith(const LabelledResult& result, const Candidates& items,
                       std::span<double> scores) {
  if (!result.trees.has_value()) {
    ScoreAll(items, result.weights, scores);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const TreeEnsemble trees,
                   TreeEnsemble::Create(*result.trees));
  std::vector<uint32_t> all(items.num_candidates());
  for (uint32_t i = 0; i < all.size(); ++i) all[i] = i;
  TreeScratch scratch;
  trees.Scores(items, all, &scratch, scores);
  const std::vector<double> weights(result.weights.begin(),
                                    result.weights.end() - 1);
  for (uint32_t i = 0; i < all.size(); ++i) {
    scores[i] = result.weights.back() * scores[i] + items.Score(i, weights);
  }
  return absl::OkStatus();
}

uint32_t LargestRelevance(const LetorFold& fold) {
  uint32_t largest = 0;
  for (const auto* part : {&fold.train, &fold.validation, &fold.test}) {
    for (const LabelledItems& query : *part) {
      largest = std::max(largest, std::ranges::max(query.relevances));
    }
  }
  return largest;
}

absl::StatusOr<FoldResult> RunFold(const LearnerInfo& info,
                                   const LetorFold& fold) {
  const double start = WallSeconds();
  ASSIGN_OR_RETURN(const auto learner,
                   info.make_labelled(
                       {}, {.num_features = fold.train[0].items.num_features(),
                            .max_relevance = LargestRelevance(fold)}));
  ASSIGN_OR_RETURN(const LabelledResult result,
                   learner->Train({.training = fold.train,
                                   .validation = fold.validation,
                                   .train_trees = &TrainTrees}));
  FoldResult judged;
  judged.seconds = WallSeconds() - start;
  const LabelledPoint& chosen = result.points[result.chosen];
  judged.setting = absl::StrCat(chosen.setting, "; ", chosen.termination);
  for (const LabelledItems& query : fold.test) {
    std::vector<double> scores(query.relevances.size());
    RETURN_IF_ERROR(ScoreWith(result, query.items, scores));
    const TiedRanking ranking(scores, query.relevances);
    const LetorFigures letor = LetorFiguresOf(ranking);
    judged.ndcg.push_back(Ndcg(ranking, kRanks));
    judged.letor.push_back(letor.ndcg[kRanks - 1]);
    judged.average_precision.push_back(letor.average_precision);
  }
  return judged;
}

struct LearnerResult {
  std::string name;
  std::vector<FoldResult> folds;

  // Returns a figure of all test queries.
  std::vector<double> Queries(std::vector<double> FoldResult::*figure) const {
    std::vector<double> all;
    for (const FoldResult& fold : folds) {
      all.insert(all.end(), (fold.*figure).begin(), (fold.*figure).end());
    }
    return all;
  }
  double Seconds() const {
    double sum = 0;
    for (const FoldResult& fold : folds) sum += fold.seconds;
    return sum;
  }
};

absl::StatusOr<std::vector<LearnerResult>> RunAll(const TreeSet& set) {
  std::vector<LearnerInfo> learners;
  std::vector<LearnerResult> results;
  for (const char* name : kNames) {
    for (const LearnerInfo& info : ListLearners()) {
      if (info.name == name) learners.push_back(info);
    }
    results.push_back({name, std::vector<FoldResult>(set.folds.size())});
  }
  const auto run = [&](size_t i) -> absl::Status {
    const size_t l = i / set.folds.size();
    const size_t f = i % set.folds.size();
    ASSIGN_OR_RETURN(results[l].folds[f], RunFold(learners[l], set.folds[f]));
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(RunInParallel(learners.size() * set.folds.size(),
                                absl::GetFlag(FLAGS_threads), run));
  return results;
}

// Prints the figures of a set, and returns one target for each linear learner.
// On sets with interactions, trees must be better.
std::vector<Target> Compare(const TreeSet& set,
                            const std::vector<LearnerResult>& results) {
  absl::PrintF("\n%s: %d training, %d validation, %d test queries, %d folds\n",
               set.name, set.folds[0].train.size(),
               set.folds[0].validation.size(), set.folds[0].test.size(),
               set.folds.size());
  absl::PrintF("%-12s %8s %8s %8s %10s %6s %8s\n", "", "NDCG@10", "LETOR's",
               "MAP", "trees -", "t", "seconds");
  const LearnerResult& trees = results[0];
  std::vector<Target> targets;
  for (const LearnerResult& result : results) {
    absl::PrintF("%-12s %8.4f %8.4f %8.4f", result.name,
                 Mean(result.Queries(&FoldResult::ndcg)),
                 Mean(result.Queries(&FoldResult::letor)),
                 Mean(result.Queries(&FoldResult::average_precision)));
    if (&result == &trees) {
      absl::PrintF(" %10s %6s %8.1f\n", "", "", result.Seconds());
      continue;
    }
    const std::vector<double> a = trees.Queries(&FoldResult::ndcg);
    const std::vector<double> b = result.Queries(&FoldResult::ndcg);
    const PairedTest test = a == b ? PairedTest() : TestPairs(a, b);
    absl::PrintF(" %+10.4f %6.2f %8.1f\n", test.difference, test.t,
                 result.Seconds());
    targets.push_back({absl::StrCat(set.name, ": trees by default against ",
                                    result.name, ", t"),
                       test.t, set.has_interactions ? kNoise : -kNoise, true});
  }
  for (size_t f = 0; f < trees.folds.size(); ++f) {
    absl::PrintF("  trees, fold %d: %s\n", f + 1, trees.folds[f].setting);
  }
  return targets;
}

absl::StatusOr<std::vector<TreeSet>> ReadSets() {
  std::vector<TreeSet> sets;
  if (absl::GetFlag(FLAGS_synthetic)) sets = SyntheticTreeSets();
  if (const std::string dir = absl::GetFlag(FLAGS_letor); !dir.empty()) {
    ASSIGN_OR_RETURN(TreeSet set, ReadLetorSet(dir));
    sets.push_back(std::move(set));
  }
  const std::string features = absl::GetFlag(FLAGS_features);
  if (const std::string dir = absl::GetFlag(FLAGS_selqa); !dir.empty()) {
    ASSIGN_OR_RETURN(TreeSet set, ReadSelqaSet(dir, features));
    sets.push_back(std::move(set));
  }
  if (const std::string train = absl::GetFlag(FLAGS_train); !train.empty()) {
    ASSIGN_OR_RETURN(TreeSet set,
                     ReadFileSet(train, absl::GetFlag(FLAGS_validate),
                                 absl::GetFlag(FLAGS_test), features));
    sets.push_back(std::move(set));
  }
  return sets;
}

absl::StatusOr<Report> Run() {
  if (!HasXgboost()) {
    absl::PrintF("skipped: built without SORTITION_XGBOOST\n");
    return Report();
  }
  ASSIGN_OR_RETURN(const std::vector<TreeSet> sets, ReadSets());
  std::vector<Target> targets;
  for (const TreeSet& set : sets) {
    ASSIGN_OR_RETURN(const std::vector<LearnerResult> results, RunAll(set));
    AppendTargets(Compare(set, results), &targets);
  }
  return targets;
}

}  // namespace
}  // namespace sortition

int main(int argc, char** argv) {
  return sortition::RunBenchmark(
      argc, argv,
      "Compares trees by default with each linear learner by default.",
      sortition::Run);
}
