#include "core/learners/labelled/label_measure.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/data/labelled_items.h"
#include "core/data/labelled_queries.h"
#include "core/metrics/tied_ranking.h"

namespace sortition {
namespace {

// Returns the measure of a ranking or selection with gain_at(rank) for each of
// its `num_ranks` ranks.
template <typename GainAt>
double SumByRank(const LabelMeasure& measure, size_t num_ranks,
                 const GainAt& gain_at) {
  if (measure.k > 0) num_ranks = std::min<size_t>(num_ranks, measure.k);
  double sum = 0;
  for (size_t rank = 0; rank < num_ranks; ++rank) {
    sum += measure.kind == LabelMeasure::Kind::kDcg
               ? gain_at(rank) / std::log2(static_cast<double>(rank) + 2)
               : gain_at(rank);
  }
  return measure.kind == LabelMeasure::Kind::kPrecision ? sum / measure.k : sum;
}

}  // namespace

std::string LabelMeasure::Name() const {
  const std::string at = k == 0 ? "" : absl::StrCat("@", k);
  switch (kind) {
    case Kind::kPrecision:
      return absl::StrCat("P", at);
    case Kind::kDcg: {
      const bool graded = std::any_of(gains.begin(), gains.end(), [](double g) {
        return g != 0 && g != 1;
      });
      return absl::StrCat(graded ? "graded " : "", "DCG", at);
    }
    case Kind::kGain:
      return "gain";
    case Kind::kAccuracy:
      return "accuracy";
    case Kind::kFBeta:
      break;
  }
  return absl::StrCat("F", beta);
}

double FBeta(double beta, double size, double num_positives, double hits) {
  if (size == 0 && num_positives == 0) return 1;
  const double beta2 = beta * beta;
  return (1 + beta2) * hits / (size + beta2 * num_positives);
}

double EvaluateAction(const LabelMeasure& measure,
                      std::span<const uint32_t> relevances,
                      std::span<const int32_t> action) {
  if (measure.kind == LabelMeasure::Kind::kAccuracy) {
    size_t right = 0;
    for (size_t i = 0; i < action.size(); ++i) {
      right += static_cast<uint32_t>(action[i]) == relevances[i] ? 1 : 0;
    }
    return static_cast<double>(right) / static_cast<double>(relevances.size());
  }
  const auto gain_at = [&](size_t rank) {
    return measure.gains[relevances[static_cast<size_t>(action[rank])]];
  };
  if (measure.kind != LabelMeasure::Kind::kFBeta) {
    return SumByRank(measure, action.size(), gain_at);
  }
  double hits = 0;
  for (size_t i = 0; i < action.size(); ++i) hits += gain_at(i);
  double num_positives = 0;
  for (const uint32_t relevance : relevances) {
    num_positives += measure.gains[relevance];
  }
  return FBeta(measure.beta, static_cast<double>(action.size()), num_positives,
               hits);
}

double MeasureByScore(const LabelMeasure& measure,
                      std::span<const uint32_t> relevances,
                      std::span<const double> scores, double threshold) {
  using Kind = LabelMeasure::Kind;
  CHECK(measure.kind != Kind::kAccuracy && !scores.empty());
  if (measure.kind == Kind::kFBeta) {
    Action above;
    for (size_t i = 0; i < scores.size(); ++i) {
      if (scores[i] > threshold) above.push_back(static_cast<int32_t>(i));
    }
    return EvaluateAction(measure, relevances, above);
  }
  const std::vector<double> gains =
      TiedRanking(scores, relevances).ExpectedGains([&](uint32_t relevance) {
        return measure.gains[relevance];
      });
  if (measure.kind == Kind::kGain) return gains[0];
  return SumByRank(measure, gains.size(),
                   [&](size_t rank) { return gains[rank]; });
}

double MeanByScore(const LabelMeasure& measure,
                   std::span<const LabelledItems> queries,
                   std::span<const double> weights, double threshold) {
  CHECK(!queries.empty());
  std::vector<double> scores;
  double sum = 0;
  for (const LabelledItems& query : queries) {
    scores.resize(query.relevances.size());
    ScoreAll(query.items, weights, scores);
    sum += MeasureByScore(measure, query.relevances, scores, threshold);
  }
  return sum / static_cast<double>(queries.size());
}

std::vector<double> GradedGains(uint32_t max_relevance) {
  std::vector<double> gains = {0};
  for (uint32_t l = 1; l <= max_relevance; ++l) {
    gains.push_back((std::exp2(l) - 1) / (std::exp2(max_relevance) - 1));
  }
  return gains;
}

std::vector<double> BinaryGains(uint32_t max_relevance,
                                uint32_t relevant_from) {
  std::vector<double> gains;
  for (uint32_t l = 0; l <= max_relevance; ++l) {
    gains.push_back(l >= relevant_from ? 1 : 0);
  }
  return gains;
}

}  // namespace sortition
