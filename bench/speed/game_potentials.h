#pragma once
// Random prediction games of the kind that a model in training meets.
#include <cstdint>
#include <vector>

#include "core/base/random.h"

namespace sortition {

// Normal potentials of n items. One item in five is relevant and has the mean
// `relevant_mean`; the others are at 0.2, below the mean discount.
inline std::vector<double> RandomPotentials(size_t n, uint64_t seed,
                                            double relevant_mean,
                                            double deviation) {
  RandomSequence random(SeedKey(seed));
  std::vector<double> potentials(n);
  for (size_t i = 0; i < n; ++i) {
    potentials[i] =
        (i % 5 == 0 ? relevant_mean : 0.2) + deviation * random.Normal();
  }
  return potentials;
}

// Games with the seeds 0 .. num_games - 1. Benchmarks solve them in turn, so
// that the processor cannot learn the branches of one.
inline std::vector<std::vector<double>> RandomGames(size_t num_games, size_t n,
                                                    double relevant_mean,
                                                    double deviation) {
  std::vector<std::vector<double>> games;
  for (size_t g = 0; g < num_games; ++g) {
    games.push_back(RandomPotentials(n, g, relevant_mean, deviation));
  }
  return games;
}

}  // namespace sortition
