#pragma once
// Empirical likelihood of a ratio of means whose terms have a known smallest
// value [Owen01, KarampatziakisLangfordMineiro20].
#include "core/counterfactual/confidence/ratio_blocks.h"

namespace sortition {

struct LikelihoodTask {
  // θ = E[numerator] / E[denominator], by block.
  RatioColumn column;
  // The smallest value that the numerator of one decision can have, even if no
  // decision of the blocks has it.
  double least_term = 0;
  double least = 0;  // θ is at least this.
};

// Returns the smallest θ whose log-likelihood ratio is at most
// `most_log_ratio`. Let Q be a distribution over the B blocks b and one further
// block e, which has the numerator `least_term` and the denominator 1. The
// log-likelihood ratio of θ is
//   min_Q { -Σ_b log(B Q_b) : E_Q[numerator - θ denominator] = 0 } =
//   sup { Σ_b log(1 + λ z_b) : λ >= 0, 1 + λ z_e >= 0 },
//   z_b = numerator_b - θ denominator_b
// [KarampatziakisLangfordMineiro20, sec. 3; e stands for its extreme weights].
// Without e, a sample that happens to lack the rare small terms would bound θ
// as if there were none. The supremum is the log-wealth of the best constant
// bet λ against θ [WaudbySmithRamdas24, sec. 5]. For terms of two values it is
// the exponent of Chernoff's bound. Returns the ratio of the totals if no
// smaller θ is likely enough, and `least` if there is no block.
//
// Twice the ratio is asymptotically the square of a standard normal variable.
// For many blocks, `most_log_ratio` = t² / 2 with Student's quantile t
// therefore gives a bound that fails with the probability of t.
double LikelihoodLowerBound(const LikelihoodTask& task, double most_log_ratio);

// Returns the same for terms that may be rare. Where the best bet λ against the
// bound loses more than half of its wealth by one smallest term, λ |z_e| > 1/2,
// the ratio is at least ln(1 / failure_probability). For terms of one size, of
// which k were seen and m are expected at the bound, λ |z_e| is 1 - k / m: more
// than half means that fewer than eight were seen at 95 %. If none was seen,
// that the bound fails has the probability e^-m, and m is the ratio: that of
// t² / 2 would fail 1.25 t times as often as t.
double CautiousLowerBound(const LikelihoodTask& task, double most_log_ratio,
                          double failure_probability);

}  // namespace sortition
