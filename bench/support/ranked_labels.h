#pragma once
// Relevance labels in the order of a ranking.
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/data/labelled_items.h"

namespace sortition {

// Returns the relevances of a query ranked by falling score w·x, ties in the
// order of the file.
std::vector<int> RelevancesByScore(const LabelledItems& query,
                                   std::span<const double> weights);

// Draws `draws` uniformly random orders of each query, one query after another,
// and calls visit(query, relevances by rank) for each. Random only in the seed.
void ForEachRandomOrder(
    std::span<const LabelledItems> queries, int draws, uint64_t seed,
    const std::function<void(size_t query, std::span<const int> relevances)>&
        visit);

}  // namespace sortition
