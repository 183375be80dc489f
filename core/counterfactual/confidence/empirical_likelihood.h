#pragma once
// Empirical likelihood of a ratio: which values are likely if the blocks seen
// are all that can happen, each with a probability that is to be guessed
// [Owen01]. The likelihood is that of Cressie and Read's family which weighs
// logarithms; for off-policy values see [KarampatziakisLangfordMineiro20].
#include <optional>
#include <vector>

#include "core/counterfactual/confidence/ratio_blocks.h"
#include "core/counterfactual/estimators.h"

namespace sortition {

struct LikelihoodTask {
  RatioBlocks blocks;
  // Sums of something whose mean is 0, by block; empty: nothing such is known.
  std::vector<double> zero_mean;
  // The interval ends there at the latest.
  double least = 0;
  double most = 1;
};

// Returns the θ = E[numerator] / E[denominator] with
//   2 max_λ Σ_b log(1 + λ·z_b(θ)) - (the same without θ) <= F_{1,
//   B-1}(confidence)
// for z_b = (numerator_b - θ denominator_b, zero_mean_b): profile likelihood
// under the constraints E[z] = 0. A sum of ratios with different denominators
// goes by its deviations, as if they were the data. One block is added to the B
// that were seen, -max(1, log(B)/2) times their mean, so that every θ is
// possible and coverage of few blocks is better [ChenVariyathAbraham08]. The
// value of the interval is that of most likelihood. nullopt if a denominator is
// 0 or there are fewer than three blocks.
std::optional<Interval> EmpiricalLikelihoodInterval(const LikelihoodTask& task,
                                                    double confidence);

}  // namespace sortition
