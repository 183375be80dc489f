#pragma once
// POEM(S) and IPS(S) as the program of the paper's authors descends, for
// figures by their protocol. It differs from [SwaminathanJoachims15] as
// printed, and from core/learners/counterfactual/poem.h:
//  - Losses are in [-q, 0], the number of right labels, not in [-1, 0]. AdaGrad
//    begins with h = 1, so that this makes steps larger.
//  - The step is η (A + 2 B ū) j, j = ḡ / √h, where h adds up the squares of ḡ,
//    the batch mean of ∇u. A = 1 - λ √n ū / ((n-1) √V) grows with λ: for small
//    gradients the variance penalty is a factor of the step, and B ū, smaller
//    by a factor of n, does nothing. `scales_majoriser` is for the update of
//    sec. 5.3 instead: j is made from the batch mean of (A + 2 B n u) ∇u.
//  - The clip M is at least e and has no upper limit.
//  - Every 50 batches their mean loss is compared with the lowest so far; five
//    comparisons without a lower one, after the first epoch, end the run at the
//    parameters of the lowest.
#include <cstdint>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "core/counterfactual/tuple_policy.h"

namespace sortition {

struct AuthorDescent {
  double clip = 1;         // M
  double lambda = 0;       // λ
  double loss_factor = 1;  // q
  double step = 1;         // η
  bool scales_majoriser = false;
  // Or as many as two epochs have, if that is more.
  uint32_t most_batches = 1000;
  uint64_t seed = 1;  // Seed of the shuffles.
};

// Descends from w = 0.
absl::StatusOr<Eigen::VectorXd> DescendAsAuthors(TuplePolicy* policy,
                                                 const AuthorDescent& run);

// Returns the ratio of the 90th to the 10th percentile of the propensities, at
// least e.
double AuthorClip(const TuplePolicy& policy);

}  // namespace sortition
