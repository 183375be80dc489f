#pragma once
// Orders that two ranking versions make together, to be compared by what users
// do with them (Interleave in serving.proto): team draft
// [RadlinskiKurupJoachims08] and probabilistic interleaving
// [HofmannWhitesonDeRijke11], of stochastic rankings, with the exact propensity
// of the order that came of it. Serving and verification use the same
// functions, so that they compute the same propensities.
//
// Let a_r and b_r be the probabilities that the first and the second version
// give to the candidate at rank r, given those above it. They are those of
// whole policies, with their uniform mixtures over orders: h(prefix, d) /
// h(prefix), whoever filled the prefix.
//
// PROBABILISTIC: a fair coin for each rank says who fills it,
//   P(rank r | above) = (a_r + b_r) / 2.
// TEAM_DRAFT: a fair coin for each pair of ranks r, r + 1 (r even) says who
// fills the first; the other one fills the second, given the first. The
// propensity is that of the order, over both ways to come to it,
//   P(ranks r, r + 1 | above) = (a_r b_{r+1} + b_r a_{r+1}) / 2,
// and that of the second rank given the first follows by division. A last rank
// without a second has a coin of its own.
//
// Orders are drawn in O(n + K log n) for n candidates and K ranks.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/hash.h"
#include "core/base/log_mixture.h"
#include "core/choices/log_sum_tree.h"
#include "core/policies/distributions/ranking_distribution.h"
#include "core/policies/linear_policy.h"
#include "sortition/model/v1/model.pb.h"
#include "sortition/model/v1/serving.pb.h"

namespace sortition {

// Returns the place, in [0, kSplitPlaces), of the unit, or of the decision
// where `unit_id` is empty: those below Interleave.parts get interleaved
// orders. It is independent of everything else that ids determine.
uint32_t InterleavingPlace(absl::string_view model, absl::string_view salt,
                           absl::string_view unit_id,
                           absl::string_view decision_id);

// Returns the key of an interleaved draw from the keys that the two versions
// have for a draw of their own.
Hash128 InterleavingKey(const Hash128& first, const Hash128& second);

// InvalidArgument unless orders of the policy can be interleaved: its kind must
// be plackett_luce, without parameters beside temperature and mixture.
absl::Status ValidateInterleaved(const model::v1::Policy& policy);

// Buffers of one thread, reused between queries: no allocation when warm.
struct InterleavingScratch {
  // Of the first and the second version.
  std::array<LogSumTree, 2> trees;
  std::array<std::vector<double>, 2> conditionals;
  std::vector<uint32_t> left;      // Positions that no rank has, in any order.
  std::vector<uint32_t> place_of;  // Position -> place in `left`.
};

// Immutable, thread-safe.
class Interleaver {
 public:
  using Method = model::v1::Interleave::Method;

  // A version: what decides by `policy`. `linear` must outlive the interleaver.
  struct Version {
    const LinearPolicy* linear = nullptr;
    const model::v1::Policy* policy = nullptr;
  };
  // Memory of the first and of the second version.
  using Workspaces = std::array<PolicyWorkspace*, 2>;

  // InvalidArgument unless `method` is one that there is, and
  // ValidateInterleaved() takes both policies.
  static absl::StatusOr<Interleaver> Create(Method method, const Version& first,
                                            const Version& second);

  // Draws an order in document indexes, with its log-propensity and that of
  // each rank given those above: a pure function of (query, key). Where one of
  // the models refuses the query, the refusal stands in the workspace of the
  // first, and there is no order; nor is there one, and the log-propensity is
  // -infinity, where scores are beyond what can be drawn (kMaxRankingLogit).
  // Afterwards each workspace is as LinearPolicy::Decide() leaves it.
  //
  // Rank r uses the numbers 4 r (who fills it; of a pair, that of its first
  // rank), 4 r + 1 (which part of the version's mixture draws) and 4 r + 2 (the
  // place in the distribution function of that part).
  void Decide(const PolicyQuery& query, const Hash128& key,
              const Workspaces& workspaces, InterleavingScratch* scratch,
              Draw* draw) const;

  // Returns log p(order | query), the same bits as Decide() gave; -infinity for
  // an order that is impossible or malformed. Leaves a_r and b_r, as
  // logarithms, in scratch->conditionals unless it is that.
  double LogPropensity(const PolicyQuery& query, std::span<const int32_t> order,
                       const Workspaces& workspaces,
                       InterleavingScratch* scratch) const;

  Method method() const { return method_; }

 private:
  struct Side {
    const LinearPolicy* linear;
    double alpha;
    LogMixture mixture;
    RankingDistribution distribution;
  };

  Interleaver(Method method, const Version& first, const Version& second);

  // Draws positions, given the scores of both in their workspaces.
  void DrawOrder(size_t num_ranks, const Hash128& key,
                 const Workspaces& workspaces, InterleavingScratch* scratch,
                 Action* order) const;

  Method method_;
  std::array<Side, 2> sides_;
};

// Writes the log-probability of each rank given those above, from log a_r and
// log b_r; returns their sum, that of the order.
double InterleavedConditionals(Interleaver::Method method,
                               std::span<const double> first,
                               std::span<const double> second,
                               std::vector<double>* conditionals);

// Writes, for each rank, log P(the first version filled it | order) - log P(the
// second one did), from log a_r and log b_r. It is 0 where both are the same.
void TeamLogOdds(Interleaver::Method method, std::span<const double> first,
                 std::span<const double> second, std::vector<double>* log_odds);

}  // namespace sortition
