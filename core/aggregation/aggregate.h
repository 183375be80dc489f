#pragma once
// Aggregates many score lists into one order [IyerBilmes13, sec. 4, "Rank
// aggregation"].
//
// The order that minimises Σ_s w_s d(x^s‖σ) is that of the weighted mean Σ_s
// w_s x^s, for every Lovász-Bregman divergence (lemma 4.1): Σ w_s d(x^s‖σ)
// equals d(Σ w_s x^s‖σ) plus a constant, because d is linear in x except for
// the term f̂(x), which does not depend on σ. A source whose scores hardly
// differ between items has hardly any influence.
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/aggregation/order.h"
#include "core/aggregation/submodular_function.h"
#include "core/base/parallel.h"

namespace sortition {

// How the scores of different sources are made comparable. The paper assumes
// scores in [0, 1].
enum class ScoreScale {
  kNone,
  kMinMax,  // (x - min) / (max - min); 0 if all scores are equal, or differ by
            // less than 1e-308.
  kRank,    // Share of the other items that score less; ties count half.
};

// The scores that each source gives to `num_items` items: row-major, one row
// for each source.
struct ScoreLists {
  std::span<const double> scores;
  size_t num_items = 0;
  std::span<const double> weights;  // One for each source; empty: all 1.
};

// InvalidArgument if there are fewer than 2 items or no source, if the scores
// do not fill whole rows, if a score is not finite or beyond ±1e300, if the
// number of weights differs from the number of sources, if a weight is negative
// or not finite, or if all weights are 0.
absl::Status ValidateScoreLists(const ScoreLists& lists);

struct Aggregation {
  Order order;               // Best first; ties by item number.
  std::vector<double> mean;  // Weighted mean of each item's scores.
  // The mean of |mean_i - mean_j| over all pairs of items; 0 if the aggregated
  // scores do not tell any items apart.
  double total_variation = 0;
};

// Returns the weighted mean of the scaled scores and its order. Requires valid
// lists. O(sources · items + items log items); kRank also sorts every source.
// If `parallel_for` leaves calls out, because time is over, the result means
// nothing.
Aggregation Aggregate(const ScoreLists& lists, ScoreScale scale,
                      const ParallelFor& parallel_for);

// Returns the mean of |x_i - x_j| over all pairs of items. `order` must list
// the items by decreasing x. Requires at least 2 items.
double MeanDifference(std::span<const double> x,
                      std::span<const uint32_t> order);

// Returns d(x^s‖order) for the scaled scores x^s of each source s, where f must
// be a function of `lists.num_items` items. Sorts every source. 0 for those
// that `parallel_for` leaves out.
std::vector<double> SourceDivergences(const ScoreLists& lists, ScoreScale scale,
                                      const CardinalityFunction& f,
                                      std::span<const uint32_t> order,
                                      const ParallelFor& parallel_for);

// How certain it is that the item at `rank` belongs above the next one, if the
// sources are seen as a sample of all possible sources.
struct PairConfidence {
  uint32_t rank = 0;
  double difference = 0;  // Mean of the item minus mean of the next one.
  double lower = 0;       // Percentile interval of the difference over
  double upper = 0;       // resampled sources.
  double support = 0;     // Share of samples with this order; ties count half.
  uint32_t samples = 0;   // How many samples were drawn.
};

struct BootstrapOptions {
  uint32_t samples = 1000;   // At least 1.
  double confidence = 0.95;  // In (0, 1).
  uint32_t pairs = 100;      // Number of adjacent pairs, from the top.
  uint64_t seed = 1;
  // Where set, returns the share of the time for this that has passed. At half
  // of it no more sources are read and no more samples drawn, at all of it no
  // more pairs are added.
  const std::function<double()>* time_used = nullptr;
};

// Returns the confidence of the first `options.pairs` adjacent pairs, estimated
// by drawing sources, with their weights, with replacement [Efron79]. Samples
// in which all weights are 0 are drawn again. Deterministic for a given seed,
// unless time runs out. O(samples · sources · pairs).
std::vector<PairConfidence> BootstrapPairs(const ScoreLists& lists,
                                           ScoreScale scale,
                                           const Aggregation& aggregation,
                                           const BootstrapOptions& options);

}  // namespace sortition
