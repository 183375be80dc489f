// Scores of trees against the XGBoost C API: 100 documents, one thread; and
// hashed texts, from words to scores.
//
// Both score the same query of 100 documents with 46 features by the same
// model, in turns: trees of depth 6 that XGBoost trains on made-up queries. The
// library predicts in place, which is its fastest way for a few rows.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/speed/contest_clock.h"
#include "bench/speed/text_scoring.h"
#include "bench/support/report.h"
#include "bench/support/statistics.h"
#include "core/base/check.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"
#include "core/scoring/tree_ensemble.h"
#include "io/scorers/tree_models.h"
#include "trainer/trees/xgboost_booster.h"

ABSL_FLAG(int, pairs, 31, "measurements of each of the two, in turns");

namespace sortition {
namespace {

constexpr uint32_t kFeatures = 46;
constexpr uint32_t kDocuments = 100;
constexpr int kSizes[] = {100, 1000};

std::vector<float> RandomFeatures(size_t rows, double missing, uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  std::vector<float> values(rows * kFeatures);
  for (float& value : values) {
    value = static_cast<float>(random.Normal());
    if (missing > 0 && random.Uniform() < missing) {
      value = std::numeric_limits<float>::quiet_NaN();
    }
  }
  return values;
}

// Relevances of 0, 1 and 2 from waves of the features and noise, so that trees
// have something to learn everywhere.
std::vector<uint32_t> RelevancesOf(const std::vector<float>& values) {
  RandomSequence random(SeedKey(2));
  std::vector<uint32_t> relevances;
  for (size_t row = 0; row < values.size(); row += kFeatures) {
    double worth = 3 * random.Normal();
    for (size_t j = 0; j < kFeatures; ++j) {
      const double x = static_cast<double>(values[row + j]);
      worth += (static_cast<double>(j % 7) - 3) *
               std::sin(x * static_cast<double>(j % 5 + 1));
    }
    relevances.push_back(worth > 12 ? 2 : worth > 3 ? 1 : 0);
  }
  return relevances;
}

// Returns the saved models of kSizes trees.
absl::StatusOr<std::vector<std::string>> TrainModels() {
  constexpr size_t kQueries = 200;
  constexpr size_t kItems = 40;
  const std::vector<float> values =
      RandomFeatures(kQueries * kItems, /*missing=*/0, /*seed=*/1);
  const std::vector<uint32_t> relevances = RelevancesOf(values);
  std::vector<LabelledItems> queries;
  for (size_t q = 0; q < kQueries; ++q) {
    queries.push_back({Candidates::DenseUnchecked(
                           std::span(values).subspan(q * kItems * kFeatures,
                                                     kItems * kFeatures),
                           kFeatures),
                       std::span(relevances).subspan(q * kItems, kItems)});
  }
  ASSIGN_OR_RETURN(const XgboostMatrix matrix, XgboostMatrix::Create(queries));
  ASSIGN_OR_RETURN(XgboostBooster booster,
                   XgboostBooster::Create({{"objective", "rank:ndcg"},
                                           {"tree_method", "hist"},
                                           {"max_depth", "6"},
                                           {"min_child_weight", "0"},
                                           {"eta", "0.1"}},
                                          {&matrix, 1}));
  std::vector<std::string> models;
  int round = 0;
  for (const int size : kSizes) {
    for (; round < size; ++round) {
      RETURN_IF_ERROR(booster.Update(round, matrix));
    }
    ASSIGN_OR_RETURN(std::string model, booster.Save("ubj"));
    models.push_back(std::move(model));
  }
  return models;
}

// One model in the library and in ours, and a query.
class Contest {
 public:
  static absl::StatusOr<Contest> Create(const std::string& model,
                                        double missing) {
    ASSIGN_OR_RETURN(const auto parsed, ParseTreeModel(model));
    ASSIGN_OR_RETURN(TreeEnsemble ensemble, TreeEnsemble::Create(parsed));
    ASSIGN_OR_RETURN(XgboostBooster booster, XgboostBooster::Load(model));
    return Contest(std::move(ensemble), std::move(booster), missing);
  }

  void OurScores() {
    ensemble_.Scores(Candidates::DenseUnchecked(values_, kFeatures), documents_,
                     &scratch_, scores_);
  }
  void TheirMargins() {
    CHECK(booster_.MarginsInPlace(values_, kFeatures, margins_).ok());
  }

  // Returns the largest difference between the scores.
  double Difference() {
    OurScores();
    TheirMargins();
    double largest = 0;
    for (size_t i = 0; i < kDocuments; ++i) {
      largest = std::max(
          largest, std::abs(scores_[i] - static_cast<double>(margins_[i])));
    }
    return largest;
  }

 private:
  Contest(TreeEnsemble ensemble, XgboostBooster booster, double missing)
      : ensemble_(std::move(ensemble)),
        booster_(std::move(booster)),
        values_(RandomFeatures(kDocuments, missing, /*seed=*/3)),
        documents_(kDocuments),
        scores_(kDocuments),
        margins_(kDocuments) {
    std::iota(documents_.begin(), documents_.end(), 0u);
  }

  TreeEnsemble ensemble_;
  XgboostBooster booster_;
  std::vector<float> values_;
  std::vector<uint32_t> documents_;
  std::vector<double> scores_;
  std::vector<float> margins_;
  TreeScratch scratch_;
};

absl::StatusOr<std::vector<Target>> Time(const std::string& model, int size,
                                         double missing) {
  ASSIGN_OR_RETURN(Contest contest, Contest::Create(model, missing));
  const std::string name = absl::StrCat(
      size, " trees", missing > 0 ? ", a tenth of the features missing" : "");
  std::vector<Target> targets = {
      {absl::StrCat(name, ": largest difference"), contest.Difference(), 1e-6}};
  std::vector<double> ours;
  std::vector<double> theirs;
  std::vector<double> ratios;
  for (int i = 0; i < absl::GetFlag(FLAGS_pairs); ++i) {
    ours.push_back(SecondsOf([&] { contest.OurScores(); }));
    theirs.push_back(SecondsOf([&] { contest.TheirMargins(); }));
    ratios.push_back(ours.back() / theirs.back());
  }
  const Spread ratio = SpreadOf(ratios);
  absl::PrintF(
      "%-44s %7.1f us (%4.2f ns a document and tree), XGBoost %7.1f us, ratio "
      "%.3f (%.3f to %.3f)\n",
      name, 1e6 * MedianOf(ours), 1e9 * MedianOf(ours) / kDocuments / size,
      1e6 * MedianOf(theirs), ratio.median, ratio.lowest, ratio.highest);
  targets.push_back(
      {absl::StrCat(name, ": CPU time over XGBoost's"), ratio.median, 0.5});
  return targets;
}

absl::StatusOr<Report> Run() {
  if (!HasXgboost()) {
    absl::PrintF("skipped: built without SORTITION_XGBOOST\n");
    return Report();
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> models, TrainModels());
  absl::PrintF("%d documents with %d features, CPU time of a query\n",
               kDocuments, kFeatures);
  std::vector<Target> targets;
  for (size_t i = 0; i < models.size(); ++i) {
    for (const double missing : {0.0, 0.1}) {
      ASSIGN_OR_RETURN(std::vector<Target> more,
                       Time(models[i], kSizes[i], missing));
      AppendTargets(std::move(more), &targets);
    }
  }
  ASSIGN_OR_RETURN(std::vector<Target> of_texts,
                   TimeTextScores(absl::GetFlag(FLAGS_pairs)));
  AppendTargets(std::move(of_texts), &targets);
  return targets;
}

}  // namespace
}  // namespace sortition

int main(int argc, char** argv) {
  return sortition::RunBenchmark(
      argc, argv, "Times scores of trees against the XGBoost C API.",
      sortition::Run);
}
