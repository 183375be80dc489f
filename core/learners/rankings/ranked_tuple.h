#pragma once
// What is known of the single ranks of logged rankings, beside their bandit
// tuples: losses and propensities by rank.
#include <cstddef>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "core/learners/counterfactual/bandit_tuple.h"
#include "core/learners/counterfactual/linear_tuple_policy.h"

namespace sortition {

// Belongs to the BanditTuple of the same index, whose action begins with the
// ranks that were shown. The loss and the log-propensity of that tuple are not
// used where there is a RankedTuple.
struct RankedTuple {
  // δ_k in [-1, 1] of each shown rank; there are as many as were shown. A loss
  // above 0 takes back what ranks above gained.
  std::vector<double> losses;
  // Log-probability of each shown rank given those above, under the policy that
  // logged, mixture included: finite, at most 0.
  std::vector<double> log_conditionals;
  // Log-probability with which the policy that logged puts the candidate of
  // each shown rank at this rank; empty where no objective needs it.
  std::vector<double> log_marginals;

  size_t num_shown() const { return losses.size(); }
};

// Rankings and the family of policies that learns from them. Views; what they
// show must outlive what is made from them.
struct RankedLog {
  LinearFamily family = {};  // kRank, Plackett-Luce.
  std::span<const BanditTuple> tuples;
  std::span<const RankedTuple> ranks = {};  // One for each tuple.
  std::span<const double> weights = {};  // As TuplePolicy::weight(); empty: 1.

  // δ_k; 0 where something else than the action was shown.
  double loss(size_t i, size_t k) const {
    return tuples[i].action_shown ? ranks[i].losses[k] : 0;
  }
  // Returns one more than the last shown rank with a loss other than 0; 0 where
  // there is none.
  size_t lossy_ranks(size_t i) const;
  std::span<const int32_t> shown(size_t i) const {
    return std::span(tuples[i].action).first(ranks[i].num_shown());
  }
};

// InvalidArgument, naming tuple, value and permitted range, unless the family
// is Plackett-Luce with a mixture in [0, 1], sizes agree, every tuple fits the
// family, and its losses and log-conditionals are in their ranges.
absl::Status ValidateRankedLog(const RankedLog& log);

}  // namespace sortition
