#pragma once
// Labelled queries whose relevance is generated from a hidden weight vector,
// and options to train a prediction game.

#include "io/datasets/letor.h"
#include "io/files.h"
#include "sortition/config/v1/games.pb.h"
#include "sortition/config/v1/train.pb.h"
#include "tests/trainer/synthetic_tuples.h"

namespace sortition {

inline constexpr uint32_t kPlantedFeatures = 4;
// Weights of the true score; the last feature is noise.
inline constexpr double kTruth[kPlantedFeatures] = {2, -1, 1, 0};

inline double TrueScore(const float* features) {
  double score = 0;
  for (uint32_t j = 0; j < kPlantedFeatures; ++j)
    score += kTruth[j] * features[j];
  return score;
}

// Returns queries with labels like those of MQ2008: 1 if the true score is
// above 1.5, 2 if above 4, and random ones for a share of the items.
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

  TempDir dir_;
  config::v1::TrainOptions options_;
};

}  // namespace sortition
