#pragma once
// Whether a log contradicts what estimators of orders assume of users.
//
// Rank k has the reward r_k, the log drew the order, and u is a weight that the
// log's draw of *other* ranks gives, with E[u | x, what r_k may depend on] = 1
// under the assumption. Then Cov(r_k, u) = E[r_k u] - E[r_k] E[u] = 0, since
//   E[r_k u] = E[ E[r_k | …] E[u | …] ] = E[r_k]:
// given x and what r_k may depend on, r_k and u are independent, as the log's
// draw knows nothing of users. Here, with ρ_j the ratio of policy and log at
// rank j given the ranks above, L shown ranks of N:
//  - kBelow: r_k may depend on ranks 1..k, so u = Π_{j=k+1..L} (1 - ε + ε ρ_j).
//    Each factor has the mean 1 given the ranks above it.
//  - kAbove: r_k may depend on a_k alone, so u = 1 - ε + ε ρ_{1:k} / m_k.
//    E[ρ_{1:k} | a_k = i] is Σ π(ranks above, i) / P₀(i is at k), which is m_k.
//    Decisions with m_k = 0 are left out: that is a function of a_k.
//  - kUnshown: R may depend on ranks 1..L, so u = Π_{j=L+1..N} (1 - ε + ε ρ_j).
// ε mixes the log into the policy, which keeps weights small. The policy is any
// one whose draws the log could have made; the difference is then, for ε = 1,
// about the bias that the assumption costs this very policy. The number of
// shown ranks must not depend on the order.
//
// What is tested is that Σ u r / Σ u and Σ r / n are equal: of their paired
// difference, over its standard error by groups of units, the p-value of the
// normal distribution. A large p-value does not show that the assumption
// holds: these weights look for the kind of dependence that concerns the
// policy.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/counterfactual/evaluation/group_sums.h"
#include "core/counterfactual/rankings/ranked_decision.h"

namespace sortition {

enum class UserDependence {
  kBelow,    // Against the assumption of kPrefix: rips, cascade_dr.
  kAbove,    // Against that of kMarginal: iips. Needs marginals.
  kUnshown,  // Against that of kShownPrefix.
};
// "below", "above", "unshown".
std::string UserDependenceKey(UserDependence dependence);
// The question as a sentence: "Do rewards depend on what stands below?"
std::string UserDependenceQuestion(UserDependence dependence);

struct RankDependence {
  size_t rank = 0;        // 0 for kUnshown, which is about R.
  double difference = 0;  // Σ u r / Σ u - Σ r / n
  double standard_error = 0;
  // Mean u. Far from 1, the log could not make all draws of the policy, and the
  // test means nothing.
  double mean_weight = 0;
  double p_value = 1;  // Two-sided.
};

struct DependenceTest {
  // Those that were tested: where the difference is nearly normal
  // (group_blocks.h). A few large weights would otherwise decide alone.
  std::vector<RankDependence> ranks;
  size_t num_skipped = 0;  // Ranks with decisions that were not tested.
  // Of all ranks together, by Bonferroni: the least times their number, at most
  // 1; 1 if there is none.
  double p_value = 1;
};

class UserTestSums {
 public:
  struct Options {
    RankingValue value;    // Its R, and as many ranks as it counts.
    double mixture = 0.5;  // ε in (0, 1]
    bool has_marginals = false;
    size_t num_groups = GroupSums::kDefaultGroups;  // At least 2.
  };
  // InvalidArgument if an option is out of its range.
  static absl::StatusOr<UserTestSums> Create(Options options);

  // As RankingSums::Add().
  absl::Status Add(uint64_t unit_hash, double share,
                   const RankedDecision& decision, const JudgedRanking& judged);
  // Requires equal options.
  void Merge(const UserTestSums& other);

  DependenceTest Test(UserDependence dependence) const;

 private:
  explicit UserTestSums(Options options);
  size_t EntryOf(UserDependence dependence, size_t rank) const;

  Options options_;
  GroupSums sums_;
};

}  // namespace sortition
