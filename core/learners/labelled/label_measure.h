#pragma once
// What labelled queries are learned for: the measure of an action on a query's
// labels.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/data/action.h"
#include "core/data/labelled_items.h"

namespace sortition {

struct LabelMeasure {
  enum class Kind {
    kPrecision,  // Relevant ones among the first k, or in a set of k; over k.
    kDcg,        // Σ gain / log2(rank + 2) over the first k ranks; k = 0: all.
    kFBeta,      // Of a set; 1 where it is empty and nothing is relevant.
    kGain,       // Of the candidate that is selected; 0 of none.
    kAccuracy,   // Share of the items that are given their label.
  };
  Kind kind = Kind::kDcg;
  uint32_t k = 0;
  double beta = 1;
  // [relevance]: what a label counts, within [0, 1]; 0 or 1 but for graded DCG.
  std::vector<double> gains = {};

  // For people: "P@5", "DCG", "graded DCG@10", "F1", "gain", "accuracy".
  std::string Name() const;
};

// Of a ranking (kRank), a subset (kSubset) or a selection (kSelect) of the
// items, in document_indexes, given their relevances; for kAccuracy of a label
// for each item. Requires relevances below gains.size() but for kAccuracy;
// kRank for kDcg, kSubset for kFBeta, kSelect for kGain.
double EvaluateAction(const LabelMeasure& measure,
                      std::span<const uint32_t> relevances,
                      std::span<const int32_t> action);

// What scores say to do where nothing is drawn: kPrecision and kDcg, all items
// by falling score, ties by index; kGain, the first of them; kFBeta, those
// above the threshold. Requires another kind than kAccuracy, and an item.
Action ActionByScore(const LabelMeasure& measure,
                     std::span<const double> scores, double threshold = 0);

// Mean of ActionByScore() over the queries, s = w·x. Requires a query, and as
// many weights as features.
double MeanByScore(const LabelMeasure& measure,
                   std::span<const LabelledItems> queries,
                   std::span<const double> weights, double threshold = 0);

// [relevance], up to max_relevance: (2^relevance - 1) / (2^max_relevance - 1).
// Requires max_relevance <= 1000.
std::vector<double> GradedGains(uint32_t max_relevance);
// 1 from relevant_from on, else 0.
std::vector<double> BinaryGains(uint32_t max_relevance, uint32_t relevant_from);

// F-beta of a set of `size` items, `hits` of them among the `num_positives`
// relevant ones; for a mean of sets of one size, their mean hits.
double FBeta(double beta, double size, double num_positives, double hits);

}  // namespace sortition
