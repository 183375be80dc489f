// A thread that has ranked a list of some length by rank factors, or by score
// with swaps, allocates nothing for the next ones.
#include <cmath>

#include "core/base/random.h"
#include "tests/core/policies/enumeration.h"
#include "tests/testing/allocation_counter.h"

namespace sortition {
namespace {

void ExpectNoAllocations(DistributionCase c) {
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

TEST(ExplorationAllocationTest, WarmRankingsAllocateNothing) {
  for (const size_t n : {size_t{10}, size_t{200}}) {
    DistributionCase c;
    c.kind = ActionKind::kRank;
    c.scores.resize(n);
    c.top_k = n == 10 ? 10 : 50;
    c.uniform_mixture = 0.1;
    c.rank_factors = {3, 2, 0.5};
    ExpectNoAllocations(c);
    c.rank_factors.clear();
    c.sorted.emplace().set_swap_probability(0.4);
    c.sorted->set_shuffle_probability(0.3);
    c.sorted->set_shuffle_ranks(5);
    ExpectNoAllocations(c);
  }
}

}  // namespace
}  // namespace sortition
