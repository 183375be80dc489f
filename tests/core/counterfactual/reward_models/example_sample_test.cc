#include "core/counterfactual/reward_models/example_sample.h"

#include <algorithm>
#include <vector>

#include "gtest/gtest.h"
#include "tests/core/counterfactual/reward_models/toy_examples.h"

namespace sortition {
namespace {

using namespace testing_reward_models;  // NOLINT

constexpr size_t kMost = 50;

// What a sample holds: unit, reward, weight, features, in the order of keys.
std::vector<std::vector<double>> ContentsOf(const ExampleSample& sample) {
  std::vector<SampledExample> examples(sample.examples().begin(),
                                       sample.examples().end());
  std::sort(examples.begin(), examples.end(), &ExampleSample::Before);
  std::vector<std::vector<double>> contents;
  for (const SampledExample& example : examples) {
    contents.push_back({static_cast<double>(example.unit_hash), example.reward,
                        example.weight});
    for (const float feature : sample.RowOf(example)) {
      contents.back().push_back(feature);
    }
  }
  return contents;
}

void AddTo(const ToyExample& example, ExampleSample* sample) {
  sample->Add(example.features, example.unit_hash, example.reward,
              example.weight);
}

TEST(ExampleSampleTest, DoesNotDependOnOrderOrParts) {
  const std::vector<ToyExample> examples = LinearExamples(1000, 3, 1);
  ExampleSample forwards(3, kMost);
  ExampleSample backwards(3, kMost);
  ExampleSample parts[2] = {{3, kMost}, {3, kMost}};
  for (size_t i = 0; i < examples.size(); ++i) {
    AddTo(examples[i], &forwards);
    AddTo(examples[examples.size() - 1 - i], &backwards);
    AddTo(examples[i], &parts[i % 3 == 0 ? 0 : 1]);
  }
  parts[1].Merge(parts[0]);
  EXPECT_EQ(forwards.examples().size(), kMost);
  EXPECT_EQ(ContentsOf(backwards), ContentsOf(forwards));
  EXPECT_EQ(ContentsOf(parts[1]), ContentsOf(forwards));
  EXPECT_EQ(parts[1].num_seen(), 1000);
}

TEST(ExampleSampleTest, KeepsAllWhereTheyFit) {
  const std::vector<ToyExample> examples = LinearExamples(kMost, 3, 2);
  ExampleSample sample(3, kMost);
  for (const ToyExample& example : examples) AddTo(example, &sample);
  EXPECT_EQ(sample.examples().size(), kMost);
  double sum = 0;
  for (const SampledExample& example : sample.examples()) {
    sum += example.reward;
  }
  for (const ToyExample& example : examples) sum -= example.reward;
  EXPECT_NEAR(sum, 0, 1e-12);
}

// The sample mean of 20,000 examples with standard deviation 0.15 has an error
// of 0.15 / √4000; 4 of them are passed with probability 6e-5.
TEST(ExampleSampleTest, IsAFairSample) {
  const std::vector<ToyExample> examples = LinearExamples(20'000, 2, 3);
  ExampleSample sample(2, 4000);
  double mean = 0;
  for (const ToyExample& example : examples) {
    AddTo(example, &sample);
    mean += example.reward / 20'000;
  }
  double sampled = 0;
  for (const SampledExample& example : sample.examples()) {
    sampled += example.reward / 4000;
  }
  EXPECT_NEAR(sampled, mean, 4 * 0.15 / std::sqrt(4000));
}

}  // namespace
}  // namespace sortition
