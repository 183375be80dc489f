#pragma once
// Labelled queries for tests of prediction games.
#include <cstdint>
#include <deque>
#include <vector>

#include "core/base/random.h"
#include "core/data/labelled_items.h"
#include "sortition/config/v1/games.pb.h"

namespace sortition {

// Owns what its views point to.
class TestQueries {
 public:
  // `features` by item, one row after the other.
  void Add(const std::vector<float>& features,
           const std::vector<uint32_t>& relevances) {
    const auto num_features =
        static_cast<uint32_t>(features.size() / relevances.size());
    features_.push_back(features);
    relevances_.push_back(relevances);
    views_.push_back(
        {Candidates::DenseUnchecked(features_.back(), num_features),
         relevances_.back()});
  }

  const std::vector<LabelledItems>& views() const { return views_; }

 private:
  std::deque<std::vector<float>> features_;
  std::deque<std::vector<uint32_t>> relevances_;
  std::vector<LabelledItems> views_;
};

struct RandomQueriesShape {
  int num_queries = 12;
  int most_items = 8;  // At least 1.
  uint32_t num_features = 3;
  uint32_t max_relevance = 1;
  bool rounded = false;  // To multiples of 1/2: many ties.
  double noise = 1;      // Features have standard deviation 1.
  float shift = 0;       // Added to all features.
};

// Relevance falls with a linear score plus noise. Thresholds give the middle
// half of the items relevances between the extremes.
inline TestQueries RandomQueries(const RandomQueriesShape& shape,
                                 uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  TestQueries queries;
  for (int query = 0; query < shape.num_queries; ++query) {
    const auto n = static_cast<int>(1 + random.Below(shape.most_items));
    std::vector<float> features;
    std::vector<uint32_t> relevances;
    for (int i = 0; i < n; ++i) {
      double score = shape.noise * random.Normal();
      for (uint32_t j = 0; j < shape.num_features; ++j) {
        double x = random.Normal();
        if (shape.rounded) x = std::round(2 * x) / 2;
        score += j % 2 == 0 ? x : -x / 2;
        features.push_back(static_cast<float>(x) + shape.shift);
      }
      uint32_t relevance = 0;
      while (relevance < shape.max_relevance && score > relevance) ++relevance;
      relevances.push_back(relevance);
    }
    queries.Add(features, relevances);
  }
  return queries;
}

// The options of every kind of game.
inline std::vector<config::v1::GameOptions> AllGames() {
  using config::v1::GameOptions;
  std::vector<GameOptions> games(11);
  games[0].set_measure(GameOptions::PRECISION);
  games[0].set_k(2);
  games[1].set_measure(GameOptions::DCG);
  games[2].set_measure(GameOptions::DCG);
  games[2].set_k(2);
  games[2].set_adversary(GameOptions::K_POSITIVES);
  games[3].set_measure(GameOptions::DCG);
  games[3].set_adversary(GameOptions::FREE);
  games[4].set_measure(GameOptions::GRADED_DCG);
  games[5].set_measure(GameOptions::GRADED_DCG);
  games[5].set_potentials(GameOptions::PER_LEVEL);
  games[6].set_measure(GameOptions::F_BETA);
  games[6].set_game_tolerance(1e-9);
  games[7].set_measure(GameOptions::PRECISION);
  games[7].set_k(3);
  games[7].set_centre_features(true);
  games[8].set_measure(GameOptions::NDCG);
  games[8].set_k(3);
  games[9].set_measure(GameOptions::MEAN_NDCG);
  games[9].set_discounts(GameOptions::LETOR);
  games[10].set_measure(GameOptions::GRADED_DCG);
  games[10].set_discounts(GameOptions::LETOR);
  for (GameOptions& options : games) options.set_max_relevance(2);
  return games;
}

}  // namespace sortition
