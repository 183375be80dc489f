#include <cmath>

#include "client/validation/id_sample.h"
#include "client/validation/mean_weight_check.h"
#include "core/base/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

using testing::HasSubstr;

// Draws i of m with probability p_i, in proportion to exp(spread * z_i), and
// returns the group of weights (1 / m) / (p_i + error).
Finding Draw(uint64_t seed, double spread, double factor, int n) {
  constexpr int kChoices = 20;
  WeightGroup group;
  RandomSequence random(SeedKey(seed));
  for (int i = 0; i < n; ++i) {
    double p[kChoices];
    double sum = 0;
    for (double& value : p) sum += value = std::exp(spread * random.Normal());
    double place = sum * random.Uniform();
    int chosen = 0;
    while (chosen + 1 < kChoices && place >= p[chosen]) place -= p[chosen++];
    group.Add(-std::log(kChoices * factor * p[chosen] / sum));
  }
  return group.Report("g", true);
}

TEST(MeanWeightTest, RightPropensitiesPassHoweverHeavyTheWeights) {
  for (const double spread : {0.0, 0.5, 1.0, 2.0, 3.0, 5.0}) {
    for (uint64_t seed = 1; seed <= 40; ++seed) {
      const Finding finding = Draw(seed, spread, 1, 2000);
      EXPECT_EQ(finding.level, Level::kPass)
          << "spread " << spread << " seed " << seed << ": " << finding.text;
    }
  }
}

TEST(MeanWeightTest, PropensitiesThatAreOffByAFactorFail) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    EXPECT_EQ(Draw(seed, 1, 1.5, 20000).level, Level::kFail);
    EXPECT_EQ(Draw(seed, 1, 1 / 1.5, 20000).level, Level::kFail);
  }
}

TEST(MeanWeightTest, FewWeightsSayNothing) {
  EXPECT_THAT(Draw(1, 1, 100, 99).text, HasSubstr("too few to tell"));
  EXPECT_EQ(Draw(1, 1, 100, 99).level, Level::kPass);
}

TEST(IdSampleTest, FindsEveryRepetitionWithinItsShare) {
  constexpr int kIds = 10000;
  IdSample all(1 << 20);
  IdSample some(64 << 10);
  int found_all = 0;
  int found_some = 0;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < kIds; ++i) {
      found_all += all.Insert("id" + std::to_string(i));
      found_some += some.Insert("id" + std::to_string(i));
    }
  }
  EXPECT_EQ(all.share(), 1);
  EXPECT_EQ(found_all, kIds);
  // 64 KiB hold 1,680 ids: an eighth of them. Binomial(10000, 1/8): mean 1250,
  // deviation 33; 5 of them.
  EXPECT_EQ(some.share(), 0.125);
  EXPECT_NEAR(found_some, 1250, 165);
}

}  // namespace
}  // namespace sortition
