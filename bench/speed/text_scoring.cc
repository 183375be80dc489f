#include "bench/speed/text_scoring.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "bench/speed/contest_clock.h"
#include "bench/speed/text_requests.h"
#include "bench/support/statistics.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/features/feature_transform.h"
#include "core/scoring/tree_ensemble.h"
#include "io/scorers/tree_models.h"
#include "trainer/trees/xgboost_booster.h"

namespace sortition {
namespace {

constexpr uint32_t kCandidates = 50;
constexpr int kTrees = 100;
constexpr uint64_t kQueries = 64;

// The features of requests, as sparse rows.
std::vector<FeatureMatrix> FeaturesOf(
    const FeatureTransform& transform,
    const std::vector<v1::Columns>& requests) {
  FeatureScratch scratch;
  std::vector<FeatureMatrix> matrices(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    CHECK(transform.Apply(requests[i], &scratch, &matrices[i]).ok());
  }
  return matrices;
}

// Returns a model that prefers texts with some words, saved.
absl::StatusOr<std::string> TrainModel(
    const std::vector<FeatureMatrix>& matrices) {
  std::vector<std::vector<uint32_t>> relevances;
  std::vector<LabelledItems> queries;
  for (const FeatureMatrix& matrix : matrices) {
    std::vector<uint32_t>& of_query = relevances.emplace_back();
    for (uint32_t row = 0; row < kCandidates; ++row) {
      uint32_t liked = 0;
      for (uint32_t i = matrix.row_offsets[row];
           i < matrix.row_offsets[row + 1]; ++i) {
        liked += matrix.columns[i] % 16 == 0 ? 1 : 0;
      }
      of_query.push_back(std::min(liked / 2, 3u));
    }
  }
  for (size_t i = 0; i < matrices.size(); ++i) {
    queries.push_back({matrices[i].View(), relevances[i]});
  }
  ASSIGN_OR_RETURN(const XgboostMatrix matrix, XgboostMatrix::Create(queries));
  ASSIGN_OR_RETURN(XgboostBooster booster,
                   XgboostBooster::Create({{"objective", "rank:pairwise"},
                                           {"tree_method", "approx"},
                                           {"max_depth", "6"},
                                           {"min_child_weight", "0"}},
                                          {&matrix, 1}));
  for (int round = 0; round < kTrees; ++round) {
    RETURN_IF_ERROR(booster.Update(round, matrix));
  }
  return booster.Save("ubj");
}

}  // namespace

absl::StatusOr<std::vector<Target>> TimeTextScores(int pairs) {
  const model::v1::Features learned = TextFeatures(kHashedText);
  ASSIGN_OR_RETURN(const FeatureTransform transform,
                   FeatureTransform::Create(learned));
  std::vector<v1::Columns> requests;
  for (uint64_t i = 0; i < kQueries; ++i) {
    requests.push_back(RandomTextRequest(kCandidates, /*ascii=*/true, i));
  }
  const std::vector<FeatureMatrix> matrices = FeaturesOf(transform, requests);
  ASSIGN_OR_RETURN(const std::string model, TrainModel(matrices));
  ASSIGN_OR_RETURN(const auto parsed, ParseTreeModel(model));
  ASSIGN_OR_RETURN(const TreeEnsemble ensemble, TreeEnsemble::Create(parsed));
  ASSIGN_OR_RETURN(const XgboostBooster booster, XgboostBooster::Load(model));
  std::vector<uint32_t> documents(kCandidates);
  std::iota(documents.begin(), documents.end(), 0u);
  const std::vector<uint32_t> no_relevances(kCandidates);

  FeatureScratch scratch;
  TreeScratch trees;
  FeatureMatrix made;
  std::vector<double> scores(kCandidates);
  std::vector<float> margins;
  size_t next = 0;
  const auto features_alone = [&](size_t i) {
    CHECK(transform.Apply(requests[i], &scratch, &made).ok());
  };
  const auto ours = [&](size_t i) {
    features_alone(i);
    ensemble.Scores(made.View(), documents, &trees, scores);
  };
  const auto theirs = [&](size_t i) {
    const LabelledItems query = {matrices[i].View(), no_relevances};
    const auto matrix = XgboostMatrix::Create({&query, 1});
    CHECK(matrix.ok());
    margins = booster.Margins(*matrix).value();
  };
  double largest = 0;
  for (size_t i = 0; i < kQueries; ++i) {
    ours(i);
    theirs(i);
    for (size_t row = 0; row < kCandidates; ++row) {
      largest = std::max(
          largest, std::abs(scores[row] - static_cast<double>(margins[row])));
    }
  }
  std::vector<double> feature_seconds;
  std::vector<double> our_seconds;
  std::vector<double> their_seconds;
  std::vector<double> ratios;
  for (int i = 0; i < pairs; ++i) {
    feature_seconds.push_back(
        SecondsOf([&] { features_alone(next++ % kQueries); }));
    our_seconds.push_back(SecondsOf([&] { ours(next++ % kQueries); }));
    their_seconds.push_back(SecondsOf([&] { theirs(next++ % kQueries); }));
    ratios.push_back(our_seconds.back() / their_seconds.back());
  }
  const Spread ratio = SpreadOf(ratios);
  absl::PrintF(
      "%d texts of 30 words, features %.1f us, with %d trees %.1f us, XGBoost "
      "from features %.1f us, ratio %.3f (%.3f to %.3f)\n",
      kCandidates, 1e6 * MedianOf(feature_seconds), kTrees,
      1e6 * MedianOf(our_seconds), 1e6 * MedianOf(their_seconds), ratio.median,
      ratio.lowest, ratio.highest);
  return std::vector<Target>{
      {"hashed text: largest difference", largest, 1e-6},
      {"hashed text, features and scores: CPU time over XGBoost's scores",
       ratio.median, 0.5}};
}

}  // namespace sortition
