// A thread that has ranked a list of some length allocates nothing for the next
// ones.
#include <cmath>

#include "core/base/random.h"
#include "tests/core/policies/enumeration.h"
#include "tests/testing/allocation_counter.h"

namespace sortition {
namespace {

void ExpectNoAllocations(DistributionCase c) {
  c.uniform_mixture = 0.1;
  const auto distribution = c.Distribution();
  DistributionScratch scratch;
  Draw draw;
  std::vector<double> gradient(c.scores.size());
  double sum = 0;
  const auto rank = [&] {
    for (uint64_t seed = 0; seed < 50; ++seed) {
      RandomSequence random(SeedKey(seed));
      for (double& score : c.scores) score = random.Normal();
      ScoredCandidates candidates = c.Candidates();
      candidates.scratch = &scratch;
      distribution->Sample(candidates, CounterRandom(SeedKey(seed)), &draw);
      sum += distribution->LogPropensity(candidates, draw.action);
      if (!distribution->has_gradient()) continue;
      double none = 0;
      sum += distribution->LogPropensityGradient(candidates, draw.action,
                                                 gradient, &none);
    }
  };
  rank();
  const int64_t before = NumAllocations();
  rank();
  EXPECT_EQ(NumAllocations(), before);
  EXPECT_TRUE(std::isfinite(sum));
}

TEST(RankingAllocationTest, WarmRankingsAllocateNothing) {
  for (const size_t n : {size_t{10}, size_t{200}}) {
    const std::vector<double> scores(n);
    const uint32_t top_k = n == 10 ? 10 : 50;
    ExpectNoAllocations(Factored({3, 2, 0.5}, scores, top_k));
    ExpectNoAllocations(Sorted(0.4, scores, top_k, 0.3, 5));
    // Whether lists fit into the head or are longer.
    DistributionCase boltzmann = BoltzmannCase("", scores, top_k, 8);
    boltzmann.boltzmann->set_plackett_luce_mixture(0.3);
    ExpectNoAllocations(boltzmann);
  }
}

}  // namespace
}  // namespace sortition
