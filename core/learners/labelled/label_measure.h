#pragma once
// Measures of an action by a query's labels, which learners optimise.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/data/action.h"
#include "core/data/labelled_items.h"

namespace sortition {

struct LabelMeasure {
  enum class Kind {
    kPrecision,  // Share of relevant ones among the first k, or in a set of k.
    kDcg,        // Σ gain / log2(rank + 2) over the first k ranks; k = 0: all.
    kFBeta,      // F-beta of a set; 1 if it is empty and nothing is relevant.
    kGain,       // Gain of the selected candidate; 0 if none is selected.
    kAccuracy,   // Share of the items that get their own label.
  };
  Kind kind = Kind::kDcg;
  uint32_t k = 0;
  double beta = 1;
  // [relevance]: the gain of a label, within [0, 1]; 0 or 1 except for graded
  // DCG.
  std::vector<double> gains = {};

  // For people: "P@5", "DCG", "graded DCG@10", "F1", "gain", "accuracy".
  std::string Name() const;
};

// Returns the measure of a ranking (kRank), subset (kSubset) or selection
// (kSelect) of items with the given relevances; `action` has document_indexes,
// for kAccuracy a label for each item. Requires relevances below gains.size(),
// except for kAccuracy; kRank for kDcg, kSubset for kFBeta, kSelect for kGain.
double EvaluateAction(const LabelMeasure& measure,
                      std::span<const uint32_t> relevances,
                      std::span<const int32_t> action);

// Returns the measure of the deterministic action by score: for kPrecision and
// kDcg all items by falling score; for kGain the first of them; for kFBeta the
// items above the threshold. If scores are equal, returns the expectation over
// random orders of the tied items (core/metrics/tied_ranking.h). Requires a
// kind other than kAccuracy, and an item.
double MeasureByScore(const LabelMeasure& measure,
                      std::span<const uint32_t> relevances,
                      std::span<const double> scores, double threshold = 0);

// Returns the mean of MeasureByScore() over the queries, s = w·x. Requires a
// query, and as many weights as features.
double MeanByScore(const LabelMeasure& measure,
                   std::span<const LabelledItems> queries,
                   std::span<const double> weights, double threshold = 0);

// Returns the gains (2^relevance - 1) / (2^max_relevance - 1) by relevance.
// Requires max_relevance <= 1000.
std::vector<double> GradedGains(uint32_t max_relevance);
// Returns gains by relevance: 1 from relevant_from on, otherwise 0.
std::vector<double> BinaryGains(uint32_t max_relevance, uint32_t relevant_from);

// Returns F-beta of a set of `size` items, `hits` of which are among the
// `num_positives` relevant ones. For a mean over sets of equal size, pass the
// mean number of hits.
double FBeta(double beta, double size, double num_positives, double hits);

}  // namespace sortition
