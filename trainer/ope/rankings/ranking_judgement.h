#pragma once
// The second pass over rewards by rank: sums of each policy, from which the
// estimators of core/counterfactual/rankings follow.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/counterfactual/evaluation/unit_sizes.h"
#include "core/counterfactual/rankings/click_relevance.h"
#include "core/counterfactual/rankings/pseudo_inverse.h"
#include "core/counterfactual/rankings/ranking_sums.h"
#include "core/counterfactual/rankings/user_tests.h"
#include "sortition/config/v1/ope.pb.h"
#include "trainer/ope/policies/judged_policy.h"
#include "trainer/ope/policies/logging_policies.h"
#include "trainer/ope/rankings/order_view.h"
#include "trainer/ope/rankings/rank_feedback.h"
#include "trainer/ope/rankings/rank_reward_fit.h"
#include "trainer/ope/rankings/ranking_options.h"

namespace sortition {

// Memory does not grow with the log. Not thread-safe.
class RankingJudgement {
 public:
  // Fewer than for the usual table: this is a side question of up to hundreds
  // of sums for each policy.
  static constexpr size_t kNumGroups = 2048;
  // The pseudo-inverse of a log that is not uniform takes a matrix of so many
  // rows, and so many orders, for each decision; of more it is left out.
  static constexpr size_t kMostIndicators = 40;
  static constexpr size_t kMostOrders = 2000;

  struct Parts {
    const config::v1::OpeOptions& options;
    RankingOptions ranking;
    std::span<const std::unique_ptr<JudgedPolicy>> policies;  // Reported ones.
    LoggingPolicies& logging;
    RankRewardFit* model = nullptr;  // Null: none.
    const UnitSizes& units;          // Sizes of the independent units.
    size_t num_ranks = 0;            // Of the longest order of the log.
  };
  // What Parts refers to must outlive it.
  static absl::StatusOr<std::unique_ptr<RankingJudgement>> Create(Parts parts);

  absl::Status Add(const LoggedDecision& decision);

  // Of decisions so far.
  struct Counts {
    uint64_t decisions = 0;  // That were judged.
    uint64_t with_rank_rewards = 0;
    uint64_t left_out = 0;  // !HasRankPropensities()
    uint64_t without_ranks = 0;
    uint64_t shown_otherwise = 0;
    uint64_t outside_range = 0;  // Rewards of ranks.
    uint64_t without_marginals = 0;
  };
  const Counts& counts() const { return counts_; }

  const RankingSums& sums() const { return *sums_; }
  const UserTestSums& tests(size_t policy) const { return tests_[policy]; }
  // Null: nobody said how probably users look at ranks. The last policy is the
  // one that logged.
  const ClickSums* clicks() const { return clicks_ ? &*clicks_ : nullptr; }
  const UnitSizes& units() const { return parts_.units; }
  size_t num_policies() const { return parts_.policies.size(); }
  const config::v1::OpeOptions& options() const { return parts_.options; }

  // Whether the policy could say how it orders, in all decisions.
  bool is_known(size_t policy) const { return states_[policy].has_law; }
  // Whether all that the estimator needs was there in all decisions.
  bool Has(size_t policy, RankingEstimatorKind kind) const;
  // Whether it is known of the log how probably items were at ranks.
  bool has_marginals() const { return has_marginals_; }
  bool has_clicks(size_t policy) const {
    return clicks_.has_value() && has_marginals_ && is_known(policy);
  }
  // Mean of OrderView::marginal_error of the policy and the log together.
  double marginal_error(size_t policy) const;

 private:
  // What is known of a policy, and its view of one decision.
  struct State {
    bool has_law = true;
    bool has_prefix_model = true;
    bool has_pseudo_inverse = true;
    double marginal_errors = 0;  // Σ over decisions.
    OrderView view;
    std::vector<double> log_marginals;
    std::vector<double> prefix_logged;
    std::vector<double> prefix_policy;
    std::vector<double> position_logged;
    std::vector<double> position_policy;
    std::optional<double> pseudo_inverse;
  };

  explicit RankingJudgement(Parts parts);
  absl::Status MakeSums();

  // Each works on the decision that Add() has taken.
  absl::Status ViewLog(const LoggedDecision& decision);
  absl::Status ViewPolicy(const LoggedDecision& decision, size_t policy);
  void ViewUnknown(State* state) const;
  void UseModel(const OrderLaw& law, State* state);
  // Fills in the weights of the pseudo-inverse.
  void Invert();
  absl::StatusOr<SlateInverse> InverseOfLog() const;
  absl::StatusOr<double> UniformWeight(const State& state) const;
  absl::Status AddClicks(uint64_t unit, double share);
  // Σ_j P(the item at logged rank k is at rank j) values[j].
  double ExpectedAt(size_t k, std::span<const double> marginals,
                    std::span<const double> values) const;

  const Parts parts_;
  std::vector<double> weights_;  // By rank.
  Counts counts_;
  std::optional<RankingSums> sums_;
  std::vector<UserTestSums> tests_;
  std::optional<ClickSums> clicks_;
  bool has_marginals_ = true;
  double log_marginal_errors_ = 0;
  std::vector<State> states_;
  OrderViewer viewer_;

  // Of one decision.
  RankFeedback feedback_;
  LoggedOrder order_;
  std::optional<OrderLaw> log_law_;
  State log_;
  std::vector<double> expected_;       // By the model, at [k * m + i].
  std::vector<double> probabilities_;  // Scratch.
  std::vector<JudgedRanking> judged_;
};

}  // namespace sortition
