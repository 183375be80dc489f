#include "core/games/sampling/slot_sampler.h"

#include <map>
#include <string>

#include "gtest/gtest.h"
#include "tests/core/games/sampling/slot_oracle.h"
#include "tests/testing/chi_square.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

constexpr double kMixings[] = {0, 0.5, 0.9, 1};

double Probability(SlotSampler* sampler, const Outcome& outcome) {
  std::vector<double> conditionals;
  return std::exp(sampler->LogPropensity(outcome, &conditionals));
}

std::vector<double> Numbers(uint64_t seed, uint32_t size) {
  std::vector<double> numbers(size);
  CounterRandom(SeedKey(seed)).UniformBlocks(0, numbers);
  return numbers;
}

// Lotteries over n items: random mixtures of orders, single orders, the uniform
// one, with ties, and with leading items that never move.
std::vector<Lottery> Lotteries(size_t n, uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  std::vector<Lottery> lotteries;
  const auto k = static_cast<size_t>(1 + random.Below(n));
  for (const std::vector<double>& discounts :
       {DcgDiscounts(n, n), DcgDiscounts(n, k), PrecisionDiscounts(n, k)}) {
    for (const int orders : {1, 2, 5, 40}) {
      const auto fixed = static_cast<uint32_t>(random.Below(n));
      lotteries.push_back(RandomLottery(discounts, orders, fixed, &random));
      lotteries.push_back(RandomLottery(discounts, orders, 0, &random));
    }
    Lottery even = lotteries.back();
    double mean = 0;
    for (const double d : discounts) mean += d / static_cast<double>(n);
    std::fill(even.expected.begin(), even.expected.end(), mean);
    even.order = Descending(even.expected);
    even.block_begins = {0};
    lotteries.push_back(even);
  }
  return lotteries;
}

// Coins derived by hand: items 0 and 1 want 0.6, item 2 0.3; slots give 1, 0.5
// and 0. Item 0 gives 0.1 of its excess 0.4 to item 1: p = 0.1 / (1 - 0.5);
// then 0.3 to item 2: p = 0.3 / (0.9 - 0).
TEST(SlotSamplerTest, TossesTheCoinsOfTheGoldenExample) {
  const Lottery lottery = {{1, 0.5, 0}, {0.6, 0.6, 0.3}, {0, 1, 2}, {}};
  SlotSampler sampler;
  ASSERT_OK(sampler.Build(lottery.Targets(SlotView::kList, 3, 0)));
  EXPECT_NEAR(Probability(&sampler, {0, 1, 2}), 8. / 15, 1e-15);
  EXPECT_NEAR(Probability(&sampler, {1, 0, 2}), 2. / 15, 1e-15);
  // Slots of items (3,1,2): item 1 is first, item 2 second.
  EXPECT_NEAR(Probability(&sampler, {1, 2, 0}), 1. / 15, 1e-15);
  EXPECT_NEAR(Probability(&sampler, {2, 1, 0}), 4. / 15, 1e-15);
  EXPECT_EQ(Probability(&sampler, {0, 2, 1}), 0);
  EXPECT_EQ(Probability(&sampler, {2, 0, 1}), 0);
}

TEST(SlotSamplerTest, TossesTheCoinsOfTheDcgExample) {
  Lottery lottery = {DcgDiscounts(4, 4),
                     {.810309917857, .710309917857, .610309917857, 0},
                     {0, 1, 2, 3},
                     {}};
  lottery.expected[3] = lottery.discounts[3];
  SlotSampler sampler;
  ASSERT_OK(sampler.Build(lottery.Targets(SlotView::kList, 4, 0)));
  EXPECT_NEAR(Probability(&sampler, {0, 1, 2, 3}), 0.579069244117, 2e-12);
  EXPECT_NEAR(Probability(&sampler, {1, 0, 2, 3}), 0.158675130991, 2e-12);
  EXPECT_NEAR(Probability(&sampler, {1, 2, 0, 3}), 0.056406320450, 2e-12);
  EXPECT_NEAR(Probability(&sampler, {2, 1, 0, 3}), 0.205849304441, 2e-12);
}

// For every lottery the probabilities of all outcomes add up to 1, E D_slot =
// d, the probabilities of lists add up to those of their prefixes, and
// conditionals multiply.
TEST(SlotSamplerTest, OutcomesAddUpAndHaveTheExpectedDiscounts) {
  SlotSampler sampler;
  std::vector<double> conditionals;
  for (size_t n = 1; n <= 6; ++n) {
    for (const Lottery& lottery : Lotteries(n, n)) {
      for (const double mixing : kMixings) {
        const auto all = static_cast<uint32_t>(n);
        ASSERT_OK(sampler.Build(lottery.Targets(SlotView::kList, all, mixing)));
        double sum = 0;
        std::vector<double> mean(n, 0);
        for (const Outcome& outcome : AllOutcomes(SlotView::kList, n, all)) {
          const double log_p = sampler.LogPropensity(outcome, &conditionals);
          EXPECT_LE(log_p, 0);
          sum += std::exp(log_p);
          for (size_t r = 0; r < n; ++r) {
            mean[outcome[r]] += std::exp(log_p) * lottery.discounts[r];
          }
        }
        EXPECT_NEAR(sum, 1, 1e-13);
        for (size_t i = 0; i < n; ++i) {
          EXPECT_NEAR(mean[i], lottery.expected[i], 1e-13);
        }
      }
    }
  }
}

// A list of k shows the first k items of an order, and a set shows which items
// they are: their probabilities are sums over orders.
TEST(SlotSamplerTest, ListsAndSetsAreMarginalsOfOrders) {
  SlotSampler orders;
  SlotSampler shorter;
  std::vector<double> conditionals;
  for (size_t n = 1; n <= 6; ++n) {
    const auto all = static_cast<uint32_t>(n);
    for (const Lottery& lottery : Lotteries(n, 10 + n)) {
      for (const double mixing : {0., 0.9}) {
        ASSERT_OK(orders.Build(lottery.Targets(SlotView::kList, all, mixing)));
        std::vector<std::map<Outcome, double>> lists(n + 1);
        std::vector<std::map<Outcome, double>> sets(n + 1);
        for (const Outcome& order : AllOutcomes(SlotView::kList, n, all)) {
          const double p = Probability(&orders, order);
          for (size_t k = 1; k <= n; ++k) {
            Outcome prefix(order.begin(), order.begin() + k);
            lists[k][prefix] += p;
            std::sort(prefix.begin(), prefix.end());
            sets[k][prefix] += p;
          }
        }
        for (uint32_t k = 1; k <= n; ++k) {
          ASSERT_OK(shorter.Build(lottery.Targets(SlotView::kList, k, mixing)));
          for (const auto& [list, p] : lists[k]) {
            ASSERT_NEAR(Probability(&shorter, list), p, 1e-13);
          }
          ASSERT_OK(shorter.Build(lottery.Targets(SlotView::kSet, k, mixing)));
          for (const auto& [set, p] : sets[k]) {
            ASSERT_NEAR(Probability(&shorter, set), p, 1e-13);
          }
        }
      }
    }
  }
}

// P(list of r + 1) = P(list of r) · conditional, even if an order becomes
// impossible only at a later rank.
TEST(SlotSamplerTest, ConditionalsAreRatiosOfPrefixes) {
  SlotSampler orders;
  SlotSampler prefixes;
  std::vector<double> conditionals;
  std::vector<double> ignored;
  for (size_t n = 2; n <= 5; ++n) {
    const auto all = static_cast<uint32_t>(n);
    for (const Lottery& lottery : Lotteries(n, 20 + n)) {
      for (const double mixing : {0., 0.9}) {
        ASSERT_OK(orders.Build(lottery.Targets(SlotView::kList, all, mixing)));
        for (uint32_t k = 1; k <= n; ++k) {
          ASSERT_OK(
              prefixes.Build(lottery.Targets(SlotView::kList, k, mixing)));
          for (const Outcome& order : AllOutcomes(SlotView::kList, n, all)) {
            const double log_p = orders.LogPropensity(order, &conditionals);
            const double prefix =
                prefixes.LogPropensity(std::span(order).first(k), &ignored);
            double sum = 0;
            for (uint32_t r = 0; r < k; ++r) sum += conditionals[r];
            if (std::isinf(prefix)) {
              ASSERT_EQ(sum, prefix);
              ASSERT_EQ(log_p, prefix);
            } else {
              ASSERT_NEAR(sum, prefix, 1e-13 * (1 - prefix));
            }
          }
        }
      }
    }
  }
}

TEST(SlotSamplerTest, PositionMarginalsAreThoseOfTheOutcomes) {
  SlotSampler sampler;
  for (size_t n = 1; n <= 6; ++n) {
    const auto all = static_cast<uint32_t>(n);
    for (const Lottery& lottery : Lotteries(n, 30 + n)) {
      for (const double mixing : {0., 0.9}) {
        ASSERT_OK(sampler.Build(lottery.Targets(SlotView::kList, all, mixing)));
        std::vector<double> exact(n * n, 0);
        for (const Outcome& order : AllOutcomes(SlotView::kList, n, all)) {
          const double p = Probability(&sampler, order);
          for (size_t r = 0; r < n; ++r) exact[order[r] * n + r] += p;
        }
        std::vector<double> first(n);
        sampler.FirstProbabilities(first);
        for (uint32_t k = 1; k <= n; ++k) {
          ASSERT_OK(sampler.Build(lottery.Targets(SlotView::kList, k, mixing)));
          std::vector<double> marginals(n * k);
          sampler.PositionMarginals(marginals);
          for (size_t i = 0; i < n; ++i) {
            ASSERT_NEAR(first[i], exact[i * n], 1e-13);
            for (size_t r = 0; r < k; ++r) {
              ASSERT_NEAR(marginals[i * k + r], exact[i * n + r], 1e-13);
            }
          }
        }
      }
    }
  }
}

// With λ > 0 all orders within a block are possible; if all d are equal and λ =
// 1, each has probability 1/n!.
TEST(SlotSamplerTest, BlockMixingMakesEveryOrderOfABlockPossible) {
  RandomSequence random(SeedKey(4));
  SlotSampler sampler;
  for (const double mixing : {0.1, 0.9, 1.0}) {
    Lottery lottery = RandomLottery(DcgDiscounts(5, 5), 40, 0, &random);
    lottery.block_begins = {0};
    ASSERT_OK(sampler.Build(lottery.Targets(SlotView::kList, 5, mixing)));
    for (const Outcome& order : AllOutcomes(SlotView::kList, 5, 5)) {
      EXPECT_GT(Probability(&sampler, order), 0);
    }
    std::fill(lottery.expected.begin(), lottery.expected.end(),
              std::accumulate(lottery.discounts.begin(),
                              lottery.discounts.end(), 0.0) /
                  5);
    ASSERT_OK(sampler.Build(lottery.Targets(SlotView::kList, 3, mixing)));
    if (mixing < 1) continue;
    for (const Outcome& list : AllOutcomes(SlotView::kList, 5, 3)) {
      EXPECT_NEAR(Probability(&sampler, list), 1. / 60, 1e-15);
    }
  }
}

// Seeds are fixed; one of the 24 tests would fail by chance for 1 set of seeds
// in 400.
TEST(SlotSamplerTest, DrawsEveryOutcomeAsOftenAsItShould) {
  constexpr uint64_t kDraws = 200000;
  SlotSampler sampler;
  std::vector<double> conditionals;
  RandomSequence random(SeedKey(5));
  for (int round = 0; round < 4; ++round) {
    const Lottery lottery = RandomLottery(
        round % 2 == 0 ? DcgDiscounts(5, 5) : PrecisionDiscounts(5, 2), 9,
        round / 2, &random);
    for (const SlotView view : {SlotView::kList, SlotView::kSet}) {
      for (const uint32_t k : {2u, 3u, 5u}) {
        ASSERT_OK(sampler.Build(lottery.Targets(view, k, 0.5)));
        std::map<Outcome, size_t> index;
        std::vector<double> probabilities;
        for (const Outcome& outcome : AllOutcomes(view, 5, k)) {
          index[outcome] = probabilities.size();
          probabilities.push_back(Probability(&sampler, outcome));
        }
        std::vector<uint64_t> counts(probabilities.size());
        Outcome outcome(k);
        for (uint64_t i = 0; i < kDraws; ++i) {
          sampler.Draw(Numbers(i, sampler.num_numbers()), outcome);
          ++counts[index.at(outcome)];
        }
        EXPECT_GT(ChiSquarePValue(counts, probabilities), 1e-4);
      }
    }
  }
}

// Replays do not depend on earlier uses of the workspace.
TEST(SlotSamplerTest, LargeLotteriesReplayBitForBit) {
  constexpr size_t kItems = 1000;
  RandomSequence random(SeedKey(6));
  const Lottery lottery =
      RandomLottery(DcgDiscounts(kItems, kItems), 20, 10, &random);
  std::vector<double> conditionals;
  std::vector<double> again;
  for (const uint32_t k : {1u, 10u, 500u, 1000u}) {
    for (const double mixing : kMixings) {
      SlotSampler sampler;
      ASSERT_OK(sampler.Build(lottery.Targets(SlotView::kList, k, mixing)));
      SlotSampler other;  // Already used for another lottery.
      ASSERT_OK(other.Build(Lotteries(6, 1)[0].Targets(SlotView::kSet, 3, 1)));
      ASSERT_OK(other.Build(lottery.Targets(SlotView::kList, k, mixing)));
      for (uint64_t seed = 0; seed < 20; ++seed) {
        Outcome outcome(k);
        sampler.Draw(Numbers(seed, sampler.num_numbers()), outcome);
        const double log_p = sampler.LogPropensity(outcome, &conditionals);
        ASSERT_TRUE(std::isfinite(log_p));
        ASSERT_EQ(other.LogPropensity(outcome, &again), log_p);
        ASSERT_EQ(again, conditionals);
        double sum = 0;
        for (const double conditional : conditionals) sum += conditional;
        ASSERT_NEAR(sum, log_p, 1e-12 * std::abs(log_p) + 1e-12);
      }
    }
  }
}

// Items are only names: renaming the items of a lottery renames its outcomes,
// to the last bit.
TEST(SlotSamplerTest, NamesOfItemsDoNotMatter) {
  RandomSequence random(SeedKey(7));
  constexpr size_t kItems = 30;
  const Lottery lottery =
      RandomLottery(DcgDiscounts(kItems, kItems), 15, 0, &random);
  Lottery renamed = lottery;
  std::vector<int32_t> name(kItems);
  std::iota(name.begin(), name.end(), 0);
  std::reverse(name.begin(), name.end());
  std::swap(name[3], name[17]);
  for (size_t i = 0; i < kItems; ++i) {
    renamed.expected[name[i]] = lottery.expected[i];
    renamed.order[i] = name[lottery.order[i]];
  }
  SlotSampler one;
  SlotSampler two;
  ASSERT_OK(one.Build(lottery.Targets(SlotView::kList, 10, 0.9)));
  ASSERT_OK(two.Build(renamed.Targets(SlotView::kList, 10, 0.9)));
  std::vector<double> conditionals;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Outcome first(10);
    Outcome second(10);
    one.Draw(Numbers(seed, one.num_numbers()), first);
    two.Draw(Numbers(seed, two.num_numbers()), second);
    for (size_t r = 0; r < 10; ++r) {
      ASSERT_EQ(second[r], name[first[r]]);
    }
    ASSERT_EQ(one.LogPropensity(first, &conditionals),
              two.LogPropensity(second, &conditionals));
  }
}

TEST(SlotSamplerTest, IllFormedOutcomesAreImpossible) {
  const Lottery lottery = {{1, 0.5, 0}, {0.6, 0.6, 0.3}, {0, 1, 2}, {}};
  SlotSampler sampler;
  for (const SlotView view : {SlotView::kList, SlotView::kSet}) {
    ASSERT_OK(sampler.Build(lottery.Targets(view, 2, 0.5)));
    for (const Outcome& outcome : std::vector<Outcome>{
             {}, {0}, {0, 0}, {0, 3}, {-1, 0}, {0, 1, 2}, {2, 2}}) {
      EXPECT_EQ(Probability(&sampler, outcome), 0);
    }
  }
}

}  // namespace
}  // namespace sortition
