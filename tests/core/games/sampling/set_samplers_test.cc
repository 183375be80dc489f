// Samplers of sets: systematic sampling, and sets whose size is drawn first.
#include <map>
#include <string>

#include "core/games/sampling/sized_set_sampler.h"
#include "core/games/sampling/systematic_sampler.h"
#include "gtest/gtest.h"
#include "tests/core/games/sampling/slot_oracle.h"
#include "tests/testing/chi_square.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::HasSubstr;

std::vector<Outcome> AllSets(size_t n) {
  std::vector<Outcome> sets;
  for (uint32_t k = 0; k <= n; ++k) {
    for (Outcome& set : AllOutcomes(SlotView::kSet, n, k)) {
      sets.push_back(std::move(set));
    }
  }
  return sets;
}

std::vector<double> RandomInclusions(size_t n, RandomSequence* random) {
  std::vector<double> p(n);
  for (double& value : p) {
    value = random->Uniform();
    if (random->Below(4) == 0) value = static_cast<double>(random->Below(2));
  }
  return p;
}

TEST(SystematicSamplerTest, SetsAddUpAndHaveTheInclusionProbabilities) {
  RandomSequence random(SeedKey(1));
  SystematicSampler sampler;
  for (int round = 0; round < 200; ++round) {
    const size_t n = 1 + random.Below(6);
    const std::vector<double> p = RandomInclusions(n, &random);
    double size = 0;
    for (const double value : p) size += value;
    ASSERT_OK(sampler.Build(p));
    double sum = 0;
    std::vector<double> included(n, 0);
    for (const Outcome& set : AllSets(n)) {
      const double probability = std::exp(sampler.LogPropensity(set));
      sum += probability;
      for (const int32_t i : set) included[i] += probability;
      if (probability > 0) {
        EXPECT_LT(std::abs(static_cast<double>(set.size()) - size), 1);
      }
    }
    EXPECT_NEAR(sum, 1, 1e-14);
    for (size_t i = 0; i < n; ++i) EXPECT_NEAR(included[i], p[i], 1e-14);
  }
}

// Rounding of the sum must not make an impossible size possible.
TEST(SystematicSamplerTest, WholeSumsGiveOneSize) {
  SystematicSampler sampler;
  ASSERT_OK(sampler.Build(std::vector<double>(10, 0.1)));
  for (const double number : {0x1p-53, 0.5, 1 - 0x1p-53}) {
    Outcome set;
    sampler.Draw(number, &set);
    EXPECT_EQ(set.size(), 1u);
    EXPECT_NEAR(sampler.LogPropensity(set), std::log(0.1), 1e-14);
  }
  EXPECT_EQ(sampler.LogPropensity(Outcome{}), -HUGE_VAL);
  EXPECT_EQ(sampler.LogPropensity(Outcome{1, 2}), -HUGE_VAL);
}

// 1,000 items: the set drawn with u is possible, and its interval contains u.
TEST(SystematicSamplerTest, DrawnSetsArePossible) {
  RandomSequence random(SeedKey(2));
  SystematicSampler sampler;
  const std::vector<double> p = RandomInclusions(1000, &random);
  ASSERT_OK(sampler.Build(p));
  std::map<Outcome, double> seen;
  Outcome set;
  for (int i = 0; i < 20000; ++i) {
    sampler.Draw(random.Uniform(), &set);
    const double log_p = sampler.LogPropensity(set);
    ASSERT_TRUE(std::isfinite(log_p));
    seen[set] = std::exp(log_p);
  }
  double sum = 0;
  for (const auto& [drawn, probability] : seen) sum += probability;
  EXPECT_LE(sum, 1 + 1e-12);
  EXPECT_GT(sum, 0.9);
}

TEST(SystematicSamplerTest, NamesWhatIsWrong) {
  SystematicSampler sampler;
  EXPECT_THAT(std::string(sampler.Build({}).message()), HasSubstr("0 values"));
  const std::vector<double> bad = {0.5, 1.5};
  EXPECT_THAT(std::string(sampler.Build(bad).message()),
              HasSubstr("inclusion_probabilities[1] is 1.5"));
}

// The predictor of the F1 game with ψ = (.2, .1, -.1): empty with 4/15, pairs
// with .6, all with 2/15.
struct FScorePlay {
  std::vector<double> pairs = {1, 0.75, 0.25};
  std::vector<double> all = {1, 1, 1};
  std::vector<SizedSets> sizes = {
      {0, 4. / 15, {}}, {2, 0.6, pairs}, {3, 2. / 15, all}};
};

TEST(SizedSetSamplerTest, PlaysAnFScoreGame) {
  const FScorePlay play;
  SizedSetSampler sampler;
  ASSERT_OK(sampler.Build(3, play.sizes, 0, 0));
  EXPECT_NEAR(sampler.LogPropensity(Outcome{}), std::log(4. / 15), 1e-14);
  EXPECT_NEAR(sampler.LogPropensity(Outcome{0, 1}), std::log(0.45), 1e-14);
  EXPECT_NEAR(sampler.LogPropensity(Outcome{0, 2}), std::log(0.15), 1e-14);
  EXPECT_EQ(sampler.LogPropensity(Outcome{1, 2}), -HUGE_VAL);
  EXPECT_NEAR(sampler.LogPropensity(Outcome{0, 1, 2}), std::log(2. / 15),
              1e-14);
  EXPECT_EQ(sampler.LogPropensity(Outcome{0}), -HUGE_VAL);
  EXPECT_EQ(sampler.LogPropensity(Outcome{1, 0}), -HUGE_VAL);
}

TEST(SizedSetSamplerTest, SetsAddUpAndAreDrawnAsOftenAsTheyShould) {
  const FScorePlay play;
  for (const double epsilon : {0.0, 0.1, 1.0}) {
    SizedSetSampler sampler;
    ASSERT_OK(sampler.Build(3, play.sizes, 0.9, epsilon));
    std::map<Outcome, size_t> index;
    std::vector<double> probabilities;
    double sum = 0;
    for (const Outcome& set : AllSets(3)) {
      index[set] = probabilities.size();
      probabilities.push_back(std::exp(sampler.LogPropensity(set)));
      sum += probabilities.back();
      EXPECT_GE(probabilities.back(), epsilon / 8 - 1e-15);
    }
    EXPECT_NEAR(sum, 1, 1e-14);
    std::vector<uint64_t> counts(probabilities.size());
    std::vector<double> numbers(sampler.num_numbers());
    Outcome set;
    for (uint64_t i = 0; i < 200000; ++i) {
      CounterRandom(SeedKey(i)).UniformBlocks(0, numbers);
      sampler.Draw(numbers, &set);
      ++counts[index.at(set)];
    }
    EXPECT_GT(ChiSquarePValue(counts, probabilities), 1e-4);
  }
}

// Draws match the claimed probabilities even if the sums of sizes that are
// hardly ever played are inaccurate.
TEST(SizedSetSamplerTest, SumsThatAreOffLeaveProbabilitiesExact) {
  FScorePlay play;
  play.sizes[2].probability = 2. / 15 - 1e-11;
  const std::vector<double> rare = {0.9, 0.3, 0.1};  // Adds up to 1.3.
  play.sizes.push_back({1, 1e-11, rare});
  for (double& p : play.pairs) p *= 1 + 1e-11;
  play.pairs[0] = 1;
  SizedSetSampler sampler;
  ASSERT_OK(sampler.Build(3, play.sizes, 0.5, 0));
  double sum = 0;
  double singles = 0;
  for (const Outcome& set : AllSets(3)) {
    const double p = std::exp(sampler.LogPropensity(set));
    sum += p;
    if (set.size() == 1) singles += p;
  }
  EXPECT_NEAR(sum, 1, 1e-15);
  EXPECT_NEAR(singles, 1e-11, 1e-15);
  // The probabilities are in proportion: 0.9 / 1.3.
  EXPECT_NEAR(std::exp(sampler.LogPropensity(Outcome{0})) / singles, 0.9 / 1.3,
              1e-12);
}

TEST(SizedSetSamplerTest, NamesWhatIsWrong) {
  const auto message = [](auto change) {
    FScorePlay play;
    change(&play);
    SizedSetSampler sampler;
    return std::string(sampler.Build(3, play.sizes, 0.9, 0.1).message());
  };
  using P = FScorePlay*;
  EXPECT_EQ(message([](P) {}), "");
  EXPECT_THAT(message([](P p) { p->sizes.clear(); }),
              HasSubstr("sum of the probabilities of sizes is 0"));
  EXPECT_THAT(message([](P p) {
                p->sizes.push_back({2, 0, p->pairs});
              }),
              HasSubstr("size is 2, must be named once"));
  EXPECT_THAT(message([](P p) { p->sizes[1].size = 4; }),
              HasSubstr("size is 4, must be at most 3"));
  EXPECT_THAT(message([](P p) { p->sizes[1].probability = 0.5; }),
              HasSubstr("sum of the probabilities"));
  EXPECT_THAT(message([](P p) { p->sizes[1].probability = -0.5; }),
              HasSubstr("probability of size 2 is -0.5"));
  EXPECT_THAT(message([](P p) { p->pairs[0] = 1.25; }),
              HasSubstr("inclusion_probabilities[0] of size 2 is 1.25"));
  EXPECT_THAT(message([](P p) { p->pairs[0] = 0.5; }),
              HasSubstr("sum of inclusion_probabilities of size 2 is 1.5"));
  EXPECT_THAT(message([](P p) { p->sizes[1].inclusion_probabilities = {}; }),
              HasSubstr("number of inclusion_probabilities of size 2 is 0"));
}

}  // namespace
}  // namespace sortition
