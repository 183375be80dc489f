#pragma once
// Which assumption about users seems best, by estimated squared error
// [KiyoharaEtAl23].
#include <cstddef>
#include <span>

#include "core/counterfactual/evaluation/group_sums.h"

namespace sortition {

// Returns the index of the candidate whose squared error seems smallest.
// Candidates are means of the same decisions, from the fewest assumptions to
// the most, where each assumption contains those before it.
//
// If that of candidate c holds, so do all before it, and its difference d_cj
// from each earlier j has the mean 0. So its squared bias is estimated by the
// largest of d_cj² - SE(d_cj)², j < c, or 0, where the difference is paired by
// decision; its variance is SE_c². Unlike in the paper, all earlier candidates
// are compared with, not the first one alone, whose noise would hide the bias
// of those that come last. If the assumption of c holds, and c is efficient
// among those before it, SE(d)² is what it saves: against one of them it is
// chosen if |d| < √2 SE(d), five times out of six. Equal errors go to the fewer
// assumptions; so does everything if errors are not known, as with fewer than
// two groups. Requires at least one candidate.
size_t ChooseBehaviour(const GroupSums& sums,
                       std::span<const Ratio> candidates);

}  // namespace sortition
