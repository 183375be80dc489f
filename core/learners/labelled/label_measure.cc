#include "core/learners/labelled/label_measure.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/data/labelled_items.h"
#include "core/data/labelled_queries.h"

namespace sortition {

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
  double sum = 0;
  for (size_t rank = 0; rank < action.size(); ++rank) {
    if (measure.kind != LabelMeasure::Kind::kFBeta && measure.k > 0 &&
        rank >= measure.k) {
      break;
    }
    const auto item = static_cast<size_t>(action[rank]);
    const double gain = measure.gains[relevances[item]];
    sum += measure.kind == LabelMeasure::Kind::kDcg
               ? gain / std::log2(static_cast<double>(rank) + 2)
               : gain;
  }
  if (measure.kind == LabelMeasure::Kind::kPrecision) return sum / measure.k;
  if (measure.kind == LabelMeasure::Kind::kDcg ||
      measure.kind == LabelMeasure::Kind::kGain) {
    return sum;
  }
  double num_positives = 0;
  for (const uint32_t relevance : relevances) {
    num_positives += measure.gains[relevance];
  }
  return FBeta(measure.beta, static_cast<double>(action.size()), num_positives,
               sum);
}

Action ActionByScore(const LabelMeasure& measure,
                     std::span<const double> scores, double threshold) {
  using Kind = LabelMeasure::Kind;
  CHECK(measure.kind != Kind::kAccuracy && !scores.empty());
  Action action(scores.size());
  std::iota(action.begin(), action.end(), 0);
  std::stable_sort(action.begin(), action.end(), [&](int32_t a, int32_t b) {
    return scores[static_cast<size_t>(a)] > scores[static_cast<size_t>(b)];
  });
  if (measure.kind == Kind::kGain) action.resize(1);
  if (measure.kind == Kind::kFBeta) {
    std::erase_if(action, [&](int32_t item) {
      return scores[static_cast<size_t>(item)] <= threshold;
    });
  }
  return action;
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
    sum += EvaluateAction(measure, query.relevances,
                          ActionByScore(measure, scores, threshold));
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
