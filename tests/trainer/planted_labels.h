#pragma once
// Labelled queries whose relevance follows a hidden weight vector, items with
// classes and sequences of labels of that kind, and options to train a
// prediction game.
#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "io/letor.h"
#include "io/model_store.h"
#include "sortition/config/v1/trainer.pb.h"
#include "tests/testing/status_matchers.h"
#include "tests/trainer/synthetic_tuples.h"

namespace sortition {

inline constexpr uint32_t kPlantedFeatures = 4;
// Of the truth, a score; the last feature says nothing.
inline constexpr double kTruth[kPlantedFeatures] = {2, -1, 1, 0};

inline double TrueScore(const float* features) {
  double score = 0;
  for (uint32_t j = 0; j < kPlantedFeatures; ++j)
    score += kTruth[j] * features[j];
  return score;
}

// Labels as MQ2008 has them: 1 where the true score is above 1.5, 2 above 4, a
// share of them drawn from nothing.
inline LabelledQueries Planted(int num_queries, double noise, uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  LabelledQueries data;
  data.num_features = kPlantedFeatures;
  for (int q = 0; q < num_queries; ++q) {
    LabelledQuery& query = data.queries.emplace_back();
    query.id = absl::StrCat("s", seed, "q", q);
    const auto n = static_cast<int>(5 + random.Below(15));
    for (int i = 0; i < n; ++i) {
      for (uint32_t j = 0; j < kPlantedFeatures; ++j) {
        query.features.push_back(static_cast<float>(random.Normal()));
      }
      const double score =
          TrueScore(&query.features[query.features.size() - kPlantedFeatures]);
      uint32_t relevance = score > 4 ? 2 : score > 1.5 ? 1 : 0;
      if (random.Uniform() < noise) {
        relevance = static_cast<uint32_t>(random.Below(3));
      }
      query.relevances.push_back(relevance);
    }
  }
  return data;
}

// Items of three classes: the one that a hidden weight vector of its own scores
// highest, a share of them drawn from nothing.
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

// Whole orders of up to 8 items by their true scores, some neighbours the
// other way round.
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

// Sequences of three labels that mostly stay as they are; the feature of the
// label is larger by 1 than the others, which are noise.
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

class PlantedTest : public testing::Test {
 protected:
  void SetUp() override {
    options_.set_learner("mpg");
    options_.add_data(Write("planted", Planted(200, 0, 1)));
    options_.set_model_store(dir_.Sub("models"));
    options_.mutable_game()->set_measure(config::v1::GameOptions::DCG);
    options_.mutable_game()->set_k(5);
    for (const double lambda : {0.1, 0.01, 0.001}) {
      options_.mutable_game()->add_lambda(lambda);
    }
  }

  std::string Write(const std::string& name, const LabelledQueries& data) {
    const std::string path = dir_.Sub("data") + "/" + name + ".letor";
    EXPECT_OK(WriteFile(path, FormatLetor(data)));
    return path;
  }

  ModelStore store() const { return ModelStore(options_.model_store()); }

  // Labels without any relation to the features.
  config::v1::TrainOptions NoiseOptions() {
    config::v1::TrainOptions options = options_;
    *options.mutable_data(0) = Write("noise", Planted(200, 1, 2));
    return options;
  }

  TestDir dir_;
  config::v1::TrainOptions options_;
};

}  // namespace sortition
