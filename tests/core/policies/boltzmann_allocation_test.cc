// A thread that has ranked a list of some length allocates nothing for the next
// ones, whether lists fit into the head or are longer.
#include <cmath>

#include "core/base/random.h"
#include "tests/core/policies/enumeration.h"
#include "tests/testing/allocation_counter.h"

namespace sortition {
namespace {

TEST(BoltzmannAllocationTest, WarmRankingsAllocateNothing) {
  for (const size_t n : {size_t{10}, size_t{200}}) {
    DistributionCase c = BoltzmannCase("", std::vector<double>(n), 10, 8);
    c.top_k = n == 10 ? 10 : 50;
    c.boltzmann->set_plackett_luce_mixture(0.3);
    c.uniform_mixture = 0.1;
    const auto distribution = c.Distribution();
    DistributionScratch scratch;
    Draw draw;
    std::vector<double> gradient(n);
    double sum = 0;
    const auto rank = [&] {
      for (uint64_t seed = 0; seed < 50; ++seed) {
        RandomSequence random(SeedKey(seed));
        for (double& score : c.scores) score = random.Normal();
        ScoredCandidates candidates = c.Candidates();
        candidates.scratch = &scratch;
        distribution->Sample(candidates, CounterRandom(SeedKey(seed)), &draw);
        double none = 0;
        sum += distribution->LogPropensity(candidates, draw.action) +
               distribution->LogPropensityGradient(candidates, draw.action,
                                                   gradient, &none);
      }
    };
    rank();
    const int64_t before = NumAllocations();
    rank();
    EXPECT_EQ(NumAllocations(), before);
    EXPECT_TRUE(std::isfinite(sum));
  }
}

}  // namespace
}  // namespace sortition
