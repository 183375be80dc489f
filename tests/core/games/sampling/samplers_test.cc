// Samplers of slots and of sets against enumerated outcomes.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/games/sampling/sized_set_sampler.h"
#include "core/games/sampling/slot_sampler.h"
#include "core/games/sampling/systematic_sampler.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/chi_square.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::HasSubstr;

// Oracles for lotteries over slots: enumerated outcomes, and expected discounts
// that are feasible.

using Outcome = std::vector<int32_t>;

// Discounts, feasible expected discounts, and the items by falling expected
// discount.
struct Lottery {
  std::vector<double> discounts;
  std::vector<double> expected;
  std::vector<int32_t> order;
  std::vector<uint32_t> block_begins;

  SlotTargets Targets(SlotView view, uint32_t num_shown,
                      double block_mixing) const {
    return {discounts, expected,  order,       block_begins,
            view,      num_shown, block_mixing};
  }
};

std::vector<int32_t> Descending(const std::vector<double>& values) {
  std::vector<int32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return values[a] > values[b]; });
  return order;
}

// Expected discounts of a random mixture of `orders` random orders, all of
// which leave the first `fixed` items in place.
Lottery RandomLottery(std::vector<double> discounts, int orders, uint32_t fixed,
                      RandomSequence* random) {
  const size_t n = discounts.size();
  Lottery lottery{.discounts = std::move(discounts),
                  .expected = std::vector<double>(n, 0),
                  .order = {},
                  .block_begins = {}};
  std::vector<double> weights(orders);
  double total = 0;
  for (double& weight : weights) total += weight = random->Uniform();
  for (const double weight : weights) {
    std::vector<uint32_t> slots(n);
    std::iota(slots.begin(), slots.end(), 0u);
    for (size_t i = fixed; i + 1 < n; ++i) {
      std::swap(slots[i], slots[i + random->Below(n - i)]);
    }
    for (size_t i = 0; i < n; ++i) {
      lottery.expected[i] += weight / total * lottery.discounts[slots[i]];
    }
  }
  lottery.order = Descending(lottery.expected);
  return lottery;
}

std::vector<double> DcgDiscounts(size_t n, size_t cutoff) {
  std::vector<double> discounts(n, 0);
  for (size_t r = 0; r < std::min(n, cutoff); ++r) {
    discounts[r] = 1 / std::log2(static_cast<double>(r) + 2);
  }
  return discounts;
}

std::vector<double> PrecisionDiscounts(size_t n, size_t cutoff) {
  std::vector<double> discounts(n, 0);
  std::fill_n(discounts.begin(), cutoff, 1.0 / static_cast<double>(cutoff));
  return discounts;
}

void AppendOutcomes(SlotView view, size_t n, uint32_t k, Outcome* prefix,
                    std::vector<Outcome>* outcomes) {
  if (prefix->size() == k) {
    outcomes->push_back(*prefix);
    return;
  }
  const bool ascending = view == SlotView::kSet && !prefix->empty();
  for (int32_t i = ascending ? prefix->back() + 1 : 0;
       i < static_cast<int32_t>(n); ++i) {
    if (std::find(prefix->begin(), prefix->end(), i) != prefix->end()) continue;
    prefix->push_back(i);
    AppendOutcomes(view, n, k, prefix, outcomes);
    prefix->pop_back();
  }
}

// All lists or sets of k out of n items.
std::vector<Outcome> AllOutcomes(SlotView view, size_t n, uint32_t k) {
  std::vector<Outcome> outcomes;
  Outcome prefix;
  AppendOutcomes(view, n, k, &prefix, &outcomes);
  return outcomes;
}

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

TEST(SlotRefusalsTest, NameFieldValueAndRange) {
  const Lottery good = {{1, 0.5, 0}, {0.6, 0.6, 0.3}, {0, 1, 2}, {}};
  const auto expect = [&](const std::string& message, auto change) {
    Lottery lottery = good;
    SlotTargets extra;
    extra.num_shown = 2;
    change(&lottery, &extra);
    SlotTargets targets =
        lottery.Targets(SlotView::kList, extra.num_shown, extra.block_mixing);
    SlotSampler sampler;
    const absl::Status status = sampler.Build(targets);
    EXPECT_EQ(status.ok(), message.empty()) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
  };
  using L = Lottery*;
  using T = SlotTargets*;
  expect("", [](L, T) {});
  expect("size of order is 0", [](L l, T) { *l = {}; });
  expect("size of expected_discounts is 4",
         [](L l, T) { l->expected.push_back(0); });
  expect("order[1] is 0", [](L l, T) { l->order[1] = 0; });
  expect("order[1] is 0", [](L l, T) { l->order = {2, 0, 1}; });
  expect("discounts[1] is 2", [](L l, T) { l->discounts[1] = 2; });
  expect("discounts[0] is inf", [](L l, T) { l->discounts[0] = HUGE_VAL; });
  expect("discounts[2] is -1, must be in [0, 0.5]",
         [](L l, T) { l->discounts[2] = -1; });
  expect("", [](L l, T) { l->discounts.pop_back(); });
  expect("expected_discounts[2] is nan",
         [](L l, T) { l->expected[2] = std::nan(""); });
  expect("sum of expected_discounts", [](L l, T) { l->expected[0] = 1.1; });
  expect("sum of expected_discounts", [](L l, T) { l->expected[2] = 0.2; });
  expect("sum of expected_discounts", [](L l, T) { l->block_begins = {0, 2}; });
  expect("block_begins[1] is 3", [](L l, T) { l->block_begins = {0, 3}; });
  expect("num_shown is 4, must be in [1, 3]", [](L, T t) { t->num_shown = 4; });
  expect("num_shown is 0", [](L, T t) { t->num_shown = 0; });
  expect("block_mixing is 1.5", [](L, T t) { t->block_mixing = 1.5; });
}

// Samplers of sets: systematic sampling, and sets whose size is drawn first.

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
  const auto expect = [](const char* message, auto change) {
    FScorePlay play;
    change(&play);
    SizedSetSampler sampler;
    EXPECT_THAT(sampler.Build(3, play.sizes, 0.9, 0.1),
                IsInvalidArgument(message));
  };
  using P = FScorePlay*;
  expect("sum of the probabilities of sizes is 0",
         [](P p) { p->sizes.clear(); });
  expect("size is 2, must be named once", [](P p) {
    p->sizes.push_back({2, 0, p->pairs});
  });
  expect("size is 4, must be at most 3", [](P p) { p->sizes[1].size = 4; });
  expect("sum of the probabilities",
         [](P p) { p->sizes[1].probability = 0.5; });
  expect("probability of size 2 is -0.5",
         [](P p) { p->sizes[1].probability = -0.5; });
  expect("inclusion_probabilities[0] of size 2 is 1.25",
         [](P p) { p->pairs[0] = 1.25; });
  expect("sum of inclusion_probabilities of size 2 is 1.5",
         [](P p) { p->pairs[0] = 0.5; });
  expect("number of inclusion_probabilities of size 2 is 0",
         [](P p) { p->sizes[1].inclusion_probabilities = {}; });
}

}  // namespace
}  // namespace sortition
