#pragma once
// What the single ranks of logged orders earned, and how probable they were,
// for objectives that learn from rewards by rank (core/learners/rankings).
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/learners/counterfactual/bandit_tuple.h"
#include "core/learners/rankings/ranked_tuple.h"
#include "core/learners/rankings/ranking_risk.h"
#include "sortition/config/v1/poem.pb.h"
#include "sortition/config/v1/train.pb.h"
#include "sortition/log/v1/log.pb.h"
#include "trainer/tuples/rank_use.h"
#include "trainer/tuples/reward_range.h"
#include "trainer/tuples/scan/overrides.h"

namespace sortition {

// Writes P(row i is at rank k) under the policy that logged the order at
// [k * m + i], k < num_ranks, with m eligible candidates. FailedPrecondition,
// naming version and decision, where nobody knows.
using RankMarginals = std::function<absl::Status(
    const log::v1::Decision& decision, size_t num_ranks,
    std::vector<double>* marginals)>;

// Beside a training tuple.
struct RankOutcome {
  RankedTuple ranks;
  ExposedTuple exposed;
  bool has_rewards = false;  // Feedback named ranks that count.
  // The order counts as one action: nobody knows which rank earned what, or how
  // probable each was.
  bool is_one = false;

  // Returns the memory held, with that of the copy that is trained on.
  size_t bytes() const;
};

// Returns "poem.rank_weights is PREFIXES" or "poem.objective is EXPOSURE".
// Requires options that need something (NeedsOf).
std::string RankOptionText(const config::v1::PoemOptions& options);

// Reads what NeedsOf(options.poem()) asks for.
//
// Losses are -r_k / reward_max of the ranks that count (PrefixOf). They add up
// to that of the tuple, by which a policy is judged: reward that names none of
// them belongs to the last one, if all of them weigh that
// (PoemOptions.PREFIXES). So does all of the reward where an order counts as
// one.
//
// Where rewards are clamped, or may be negative, PREFIXES reads the ranks from
// the top: with S_k the sum of the rewards down to rank k, clamped to the range
// of rewards, and L(S) the loss of a tuple with the reward S (RewardToLoss()),
//   δ_0 = L(S_0),  δ_k = L(S_k) - L(S_{k-1}).
// They add up to the loss of the clamped sum, and δ_k depends on what happened
// down to rank k alone, as the weights of PREFIXES assume. The other objectives
// learn from -r_k / (reward_max - reward_min) without a clamp of the sum, which
// belongs to no single rank.
//
// EXPOSURE counts clicks c_k = r_k, at least 0 and at most 1, at the ranks that
// were shown. Of a candidate at rank k, the gain is (c_k - β_k) / e(0), β
// `click_offsets`, e(0) its exposure Σ_k λ_k P(at rank k) under the policy that
// logged, λ `examination`. So Σ gain · e(w) estimates the clicks of policy w
// that an interest makes: its reward, where each click has the reward 1.
class RankOutcomes {
 public:
  // InvalidArgument if LOG_SMOOTHING, which needs losses of at most 0, would
  // learn from rewards by rank that are clamped or may be negative. `marginals`
  // must be set where they are needed.
  static absl::StatusOr<RankOutcomes> Create(
      const config::v1::TrainOptions& options, Overrides overrides, RankUse use,
      RankMarginals marginals);

  bool are_needed() const { return needs_.any(); }
  const RankingNeeds& needs() const { return needs_; }

  // Returns the first reward of a rank outside the range of rewards; null if
  // there is none, if rewards are clamped, or if nothing is needed.
  const log::v1::RankReward* FindOutside(
      const log::v1::BanditTuple& logged) const;

  // Reads what belongs to `tuple`, made of `logged`. Requires are_needed() and
  // FindOutside() to be null. InvalidArgument, naming the decision, if it is no
  // ranking, or its rewards by rank add up to more than its reward, or to less
  // where each must have its rank; FailedPrecondition if something is needed
  // that the log does not tell, or as `marginals`.
  absl::StatusOr<std::unique_ptr<RankOutcome>> Read(
      const log::v1::BanditTuple& logged, const BanditTuple& tuple) const;

 private:
  RankOutcomes(const config::v1::TrainOptions& options, Overrides overrides,
               RankUse use, RankMarginals marginals);

  // Whether a reward must be that of one rank alone.
  bool ascribes() const { return needs_.marginals || needs_.exposures; }
  // Returns the rewards of the ranks that count.
  absl::StatusOr<std::vector<double>> RewardsOf(
      const log::v1::BanditTuple& logged, const RankPrefix& prefix,
      RankOutcome* outcome) const;
  absl::Status NoPropensities(const log::v1::Decision& decision) const;
  // An error if an order may not count as one action.
  absl::Status CheckOne(const log::v1::BanditTuple& logged) const;
  // Returns the losses of the ranks whose rewards are given.
  std::vector<double> LossesOf(const std::vector<double>& rewards,
                               bool is_one) const;
  absl::Status FillRanks(const log::v1::BanditTuple& logged,
                         const BanditTuple& tuple, std::vector<double> losses,
                         RankedTuple* ranks) const;
  absl::Status FillMarginals(const log::v1::Decision& decision,
                             const BanditTuple& tuple,
                             RankedTuple* ranks) const;
  absl::Status FillExposures(const log::v1::BanditTuple& logged,
                             const std::vector<double>& rewards, bool is_hidden,
                             size_t num_rows, ExposedTuple* exposed) const;

  config::v1::PoemOptions options_;
  RewardRange range_;
  Overrides overrides_;
  RankUse use_;
  RankMarginals marginals_;
  RankingNeeds needs_;
};

}  // namespace sortition
