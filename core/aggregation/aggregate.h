#pragma once
// One order from many score lists [IyerBilmes13, sec. 4, "Rank aggregation"].
//
// The order that minimises Σ_s w_s d(x^s‖σ) is that of the weighted mean
// Σ_s w_s x^s, for every Lovász-Bregman divergence (lemma 4.1): Σ w_s d(x^s‖σ)
// is d(Σ w_s x^s‖σ) and a constant, as d is linear in x up to f̂(x). A source
// that hardly tells items apart hardly counts.
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/aggregation/order.h"
#include "core/aggregation/submodular_function.h"
#include "core/base/parallel.h"

namespace sortition {

// How scores of different sources are made comparable. The paper assumes [0,
// 1].
enum class ScoreScale {
  kNone,
  kMinMax,  // (x - min) / (max - min); 0 where all are equal.
  kRank,    // Share of the other items that are worse; equal ones count half.
};

// Scores of `num_items` items by each source: row-major, source by source.
struct ScoreLists {
  std::span<const double> scores;
  size_t num_items = 0;
  std::span<const double> weights;  // By source; empty: all 1.
};

// InvalidArgument where there are fewer than 2 items or no source, the scores
// are not a whole number of rows, one is not finite or beyond ±1e300, or
// weights are not as many as sources, one is negative or not finite, or all are
// 0.
absl::Status ValidateScoreLists(const ScoreLists& lists);

struct Aggregation {
  Order order;               // Best first; ties by item.
  std::vector<double> mean;  // By item: weighted mean of the scaled scores.
  // Mean of |mean_i - mean_j| over pairs of items: 0 where the sources together
  // say nothing.
  double total_variation = 0;
};

// Requires valid lists. O(sources · items + items log items); kRank: sorts
// every source.
Aggregation Aggregate(const ScoreLists& lists, ScoreScale scale,
                      const ParallelFor& parallel_for);

// Mean of |x_i - x_j| over the pairs of items; `order` has x falling. Requires
// at least 2 items.
double MeanDifference(std::span<const double> x,
                      std::span<const uint32_t> order);

// Of each source, scaled, from `order`: by f of as many items. Sorts every
// source.
std::vector<double> SourceDivergences(const ScoreLists& lists, ScoreScale scale,
                                      const CardinalityFunction& f,
                                      std::span<const uint32_t> order,
                                      const ParallelFor& parallel_for);

// How sure it is that the item at `rank` belongs above the next one, were the
// sources a sample of all that there could be.
struct PairConfidence {
  uint32_t rank = 0;
  double difference = 0;  // Of the means.
  double lower = 0;       // Percentile interval of the difference over
  double upper = 0;       // resampled sources.
  double support = 0;     // Share of samples that order the two so; ties half.
};

struct BootstrapOptions {
  uint32_t samples = 1000;   // At least 1.
  double confidence = 0.95;  // In (0, 1).
  uint32_t pairs = 100;      // The first so many adjacent pairs.
  uint64_t seed = 1;
};

// Draws sources with replacement, their weights with them [Efron79].
// Deterministic for a seed. Samples in which all weights are 0 are drawn again.
std::vector<PairConfidence> BootstrapPairs(const ScoreLists& lists,
                                           ScoreScale scale,
                                           const Aggregation& aggregation,
                                           const BootstrapOptions& options);

}  // namespace sortition
