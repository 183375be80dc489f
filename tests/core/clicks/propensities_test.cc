#include "core/clicks/propensities.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/core/clicks/click_world.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

constexpr size_t kNumItems = 4;
constexpr double kTheta[kNumItems] = {.9, .6, .5, .3};
constexpr double kItemAttractions[kNumItems] = {.9, .5, .3, .1};

// Four items, usually in this order; each of the pairs (0, 1), (1, 2), (2, 3),
// one drawn per session, is swapped with probability 0.3. What is most
// attractive is most often on top, which naive rates of clicks take for
// position bias.
struct Swapped {
  ClickSessions sessions;
  std::vector<float> probabilities;
};

Clicks ClickIndependently(const Items& items, RandomSequence* random) {
  Clicks clicks;
  for (size_t r = 0; r < items.size(); ++r) {
    clicks.push_back(random->Uniform() <
                     kTheta[r] * kItemAttractions[items[r]]);
  }
  return clicks;
}

Swapped DrawSwapped(size_t num_sessions, uint64_t seed) {
  Swapped drawn = {*ClickSessions::Create(kNumItems),
                   std::vector<float>(kNumItems * kNumItems, 0)};
  RandomSequence random(SeedKey(seed));
  for (size_t s = 0; s < num_sessions; ++s) {
    Items items = {0, 1, 2, 3};
    const uint64_t upper = random.Below(3);
    if (random.Uniform() < .3) std::swap(items[upper], items[upper + 1]);
    CHECK(drawn.sessions.Add(items, ClickIndependently(items, &random)).ok());
  }
  for (size_t i = 0; i < kNumItems; ++i) {
    double stays = 1;
    for (const size_t other : {i - 1, i + 1}) {
      if (other >= kNumItems) continue;
      drawn.probabilities[i * kNumItems + other] = .1f;
      stays -= .1;
    }
    drawn.probabilities[i * kNumItems + i] = static_cast<float>(stays);
  }
  return drawn;
}

// Within five standard errors, and those are small enough to tell.
void ExpectRatios(const std::vector<PropensityRatio>& ratios, double largest) {
  ASSERT_EQ(ratios.size(), kNumItems);
  EXPECT_EQ(ratios[0].ratio, 1);
  EXPECT_EQ(ratios[0].log_standard_error, 0);
  for (size_t r = 1; r < kNumItems; ++r) {
    EXPECT_LT(std::abs(std::log(ratios[r].ratio * kTheta[0] / kTheta[r])),
              5 * ratios[r].log_standard_error)
        << r;
    EXPECT_LT(ratios[r].log_standard_error, largest) << r;
    EXPECT_LT(ratios[r].lower, ratios[r].ratio);
    EXPECT_GT(ratios[r].upper, ratios[r].ratio);
  }
}

TEST(PropensitiesTest, HarvestFollowsTheChainOfNeighbours) {
  const Swapped drawn = DrawSwapped(20000, 1);
  ASSERT_OK_AND_ASSIGN(
      const auto ratios,
      HarvestPropensities(drawn.sessions, {drawn.probabilities, kNumItems}));
  ExpectRatios(ratios, .2);
}

TEST(PropensitiesTest, HarvestNeedsItemsThatBothRanksShow) {
  const Swapped drawn = DrawSwapped(1000, 2);
  PropensityOptions options;
  options.path = PropensityPath::kPivot;
  EXPECT_THAT(HarvestPropensities(drawn.sessions,
                                  {drawn.probabilities, kNumItems}, options),
              IsInvalidArgument("clicks that compare rank 3 with rank 0"));
}

TEST(PropensitiesTest, HarvestComparesWithThePivot) {
  // All orders are equally likely.
  ClickSessions sessions = *ClickSessions::Create(kNumItems);
  RandomSequence random(SeedKey(3));
  for (int s = 0; s < 10000; ++s) {
    Items items = {0, 1, 2, 3};
    for (size_t r = 0; r < kNumItems; ++r) {
      std::swap(items[r], items[r + random.Below(kNumItems - r)]);
    }
    ASSERT_OK(sessions.Add(items, ClickIndependently(items, &random)));
  }
  const std::vector<float> probabilities(kNumItems * kNumItems, .25f);
  PropensityOptions options;
  options.path = PropensityPath::kPivot;
  ASSERT_OK_AND_ASSIGN(
      const auto ratios,
      HarvestPropensities(sessions, {probabilities, kNumItems}, options));
  ExpectRatios(ratios, .05);
}

// The standard error is how much estimates vary: the variance of 100 of them
// has a relative error of about sqrt(2 / 100) = 14 %, a standard error 7 %.
TEST(PropensitiesTest, StandardErrorsAreThoseOfRepetitions) {
  constexpr int kRepetitions = 100;
  std::vector<double> sums(kNumItems), squares(kNumItems), claimed(kNumItems);
  for (int k = 0; k < kRepetitions; ++k) {
    const Swapped drawn = DrawSwapped(3000, 100 + static_cast<uint64_t>(k));
    ASSERT_OK_AND_ASSIGN(
        const auto ratios,
        HarvestPropensities(drawn.sessions, {drawn.probabilities, kNumItems}));
    for (size_t r = 1; r < kNumItems; ++r) {
      const double error = std::log(ratios[r].ratio * kTheta[0] / kTheta[r]);
      sums[r] += error;
      squares[r] += error * error;
      claimed[r] += ratios[r].log_standard_error;
    }
  }
  for (size_t r = 1; r < kNumItems; ++r) {
    const double deviation = std::sqrt(squares[r] / kRepetitions);
    EXPECT_NEAR(claimed[r] / kRepetitions / deviation, 1, 3 * .07 + .05) << r;
    EXPECT_LT(std::abs(sums[r] / kRepetitions),
              4 * deviation / std::sqrt(kRepetitions) + .02);
  }
}

struct DrawnPairs {
  ClickSessions sessions;
  std::vector<RandomisedPair> pairs;
};

// Sessions whose pairs `draw(session, &items, &random, &pairs)` swaps.
template <typename Draw>
DrawnPairs DrawPairs(uint32_t num_sessions, uint64_t seed, const Draw& draw) {
  DrawnPairs drawn = {*ClickSessions::Create(kNumItems), {}};
  RandomSequence random(SeedKey(seed));
  for (uint32_t s = 0; s < num_sessions; ++s) {
    Items items = {0, 1, 2, 3};
    draw(s, &items, &random, &drawn.pairs);
    CHECK(drawn.sessions.Add(items, ClickIndependently(items, &random)).ok());
  }
  return drawn;
}

// FairPairs: all pairs that begin at an even rank, or all at an odd one, are
// swapped with this probability. The order that is drawn more often counts
// less.
DrawnPairs DrawFairPairs(uint32_t num_sessions, uint64_t seed,
                         double probability) {
  const auto weight = static_cast<float>(probability / (1 - probability));
  return DrawPairs(
      num_sessions, seed,
      [=](uint32_t s, Items* items, RandomSequence* random, auto* pairs) {
        for (size_t upper = random->Below(2); upper + 1 < kNumItems;
             upper += 2) {
          const bool swaps = random->Uniform() < probability;
          if (swaps) std::swap((*items)[upper], (*items)[upper + 1]);
          pairs->push_back({s, static_cast<uint16_t>(upper),
                            static_cast<uint16_t>(upper + 1),
                            swaps ? 1 : weight});
        }
      });
}

TEST(PropensitiesTest, PairsOfNeighboursMultiply) {
  const DrawnPairs drawn = DrawFairPairs(10000, 4, .5);
  ASSERT_OK_AND_ASSIGN(const auto ratios,
                       PairPropensities(drawn.sessions, drawn.pairs));
  ExpectRatios(ratios, .1);
}

// Neighbours swap with probability 0.2: the order that is drawn four times as
// often counts a quarter.
TEST(PropensitiesTest, WeightsMakeBothOrdersCountAlike) {
  DrawnPairs drawn = DrawFairPairs(20000, 6, .2);
  ASSERT_OK_AND_ASSIGN(const auto ratios,
                       PairPropensities(drawn.sessions, drawn.pairs));
  ExpectRatios(ratios, .1);
  for (RandomisedPair& pair : drawn.pairs) pair.weight = 1;
  ASSERT_OK_AND_ASSIGN(const auto naive,
                       PairPropensities(drawn.sessions, drawn.pairs));
  // Without weights, what attracts more is more often above.
  EXPECT_LT(naive[1].ratio, .8 * kTheta[1] / kTheta[0]);
}

TEST(PropensitiesTest, PairsWithTheTopAreCompared) {
  const DrawnPairs drawn = DrawPairs(
      10000, 5,
      [](uint32_t s, Items* items, RandomSequence* random, auto* pairs) {
        const auto lower =
            static_cast<uint16_t>(1 + random->Below(kNumItems - 1));
        if (random->Uniform() < .5) std::swap((*items)[0], (*items)[lower]);
        pairs->push_back({s, 0, lower});
      });
  PropensityOptions options;
  options.path = PropensityPath::kPivot;
  ASSERT_OK_AND_ASSIGN(const auto ratios,
                       PairPropensities(drawn.sessions, drawn.pairs, options));
  ExpectRatios(ratios, .1);
}

// Two sessions, clicks 2 : 1 by weight.
TEST(PropensitiesTest, TwoSessionsByHand) {
  ClickSessions sessions = *ClickSessions::Create(2);
  ASSERT_OK(sessions.Add(Items{0, 1}, Clicks{1, 0}, 2));
  ASSERT_OK(sessions.Add(Items{1, 0}, Clicks{0, 1}));
  const std::vector<RandomisedPair> pairs = {{0, 0, 1}, {1, 0, 1}};
  ASSERT_OK_AND_ASSIGN(const auto ratios, PairPropensities(sessions, pairs));
  EXPECT_DOUBLE_EQ(ratios[1].ratio, .5);
  // Influences 0/1 - 2/2 and 1/1 - 0/2.
  EXPECT_DOUBLE_EQ(ratios[1].log_standard_error, std::sqrt(2.));
  EXPECT_NEAR(ratios[1].upper, .5 * std::exp(1.959964 * std::sqrt(2.)), 1e-5);
}

TEST(PropensitiesTest, RefusesWhatIsWrong) {
  ClickSessions sessions = *ClickSessions::Create(2);
  ASSERT_OK(sessions.Add(Items{0, 1}, Clicks{1, 1}));
  std::vector<float> table = {.5f, .5f, .5f};
  EXPECT_THAT(HarvestPropensities(sessions, {table, 2}),
              IsInvalidArgument("probabilities are 3 for 2 ranks"));
  table = {.5f, .5f, .5f, 0};
  EXPECT_THAT(
      HarvestPropensities(sessions, {table, 2}),
      IsInvalidArgument("probability of item 1 at rank 1, where session 0"));
  table[1] = 2;
  EXPECT_THAT(HarvestPropensities(sessions, {table, 2}),
              IsInvalidArgument("probability of item 0 at rank 1 is 2"));
  PropensityOptions options;
  options.confidence = 0;
  EXPECT_THAT(HarvestPropensities(sessions, {table, 2}, options),
              IsInvalidArgument("confidence is 0, must be in (0, 1)"));
  const std::vector<RandomisedPair> elsewhere = {{1, 0, 1}};
  EXPECT_THAT(PairPropensities(sessions, elsewhere),
              IsInvalidArgument("pairs[0].session is 1, must be below 1"));
  const std::vector<RandomisedPair> below = {{0, 1, 2}};
  EXPECT_THAT(
      PairPropensities(sessions, below),
      IsInvalidArgument("pairs[0] has the ranks 1 and 2, must be ascending"));
  const std::vector<RandomisedPair> weightless = {{0, 0, 1, 0}};
  EXPECT_THAT(PairPropensities(sessions, weightless),
              IsInvalidArgument("pairs[0].weight is 0, must be in (0, 1]"));
  EXPECT_THAT(
      PairPropensities(sessions, {}),
      IsInvalidArgument("clicks that compare rank 1 with rank 0 are missing"));
}

}  // namespace
}  // namespace sortition
