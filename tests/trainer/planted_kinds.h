#pragma once
// Items with classes, whole orders, and sequences of labels, generated from
// hidden weight vectors.
#include <algorithm>

#include "core/data/labelled_queries.h"
#include "tests/trainer/planted_labels.h"

namespace sortition {

// Returns items of three classes. The class is the one whose hidden weight
// vector gives the highest score, or a random one for a share of the items.
inline LabelledQueries PlantedClasses(int num_queries, double noise,
                                      uint64_t seed) {
  constexpr double kOfClass[3][kPlantedFeatures] = {
      {2, 0, -1, 0}, {-1, 2, 0, 0}, {-1, -2, 1, 0}};
  LabelledQueries data = Planted(num_queries, 0, seed);
  RandomSequence random(SeedKey(seed + 1'000'000));
  for (LabelledQuery& query : data.queries) {
    for (size_t i = 0; i < query.relevances.size(); ++i) {
      double best = -HUGE_VAL;
      for (uint32_t l = 0; l < 3; ++l) {
        double score = 0;
        for (uint32_t j = 0; j < kPlantedFeatures; ++j) {
          score += kOfClass[l][j] * query.features[i * kPlantedFeatures + j];
        }
        if (score > best) query.relevances[i] = l;
        best = std::max(best, score);
      }
      if (random.Uniform() < noise) {
        query.relevances[i] = static_cast<uint32_t>(random.Below(3));
      }
    }
  }
  return data;
}

// Returns whole orders of up to 8 items by their true scores, with some
// neighbours exchanged.
inline LabelledQueries PlantedOrders(int num_queries, uint64_t seed) {
  LabelledQueries data = Planted(num_queries, 0, seed);
  RandomSequence random(SeedKey(seed + 3'000'000));
  for (LabelledQuery& query : data.queries) {
    const size_t n = std::min<size_t>(8, query.relevances.size());
    query.features.resize(n * kPlantedFeatures);
    query.relevances.assign(n, 0);
    std::vector<double> scores;
    for (size_t i = 0; i < n; ++i) {
      scores.push_back(TrueScore(&query.features[i * kPlantedFeatures]) +
                       0.2 * random.Normal());
    }
    for (size_t i = 0; i < n; ++i) {
      for (const double score : scores)
        query.relevances[i] += score < scores[i];
    }
  }
  return data;
}

// Returns sequences of three labels that mostly stay the same from place to
// place. The feature of the label is larger by 1 than the others, which are
// noise.
inline LabelledQueries PlantedSequences(int num_queries, uint64_t seed) {
  LabelledQueries data = Planted(num_queries, 0, seed);
  RandomSequence random(SeedKey(seed + 2'000'000));
  for (LabelledQuery& query : data.queries) {
    auto label = static_cast<uint32_t>(random.Below(3));
    for (size_t i = 0; i < query.relevances.size(); ++i) {
      if (random.Uniform() < 0.2) {
        label = static_cast<uint32_t>(random.Below(3));
      }
      query.relevances[i] = label;
      query.features[i * kPlantedFeatures + label] += 1;
    }
  }
  return data;
}

}  // namespace sortition
