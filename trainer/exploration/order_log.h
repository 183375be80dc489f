#pragma once
// Logged orders with the scores of a version: what any exploration of these
// scores would have done there.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/learners/counterfactual/bandit_tuple.h"
#include "core/learners/counterfactual/calibration.h"
#include "core/policies/distributions/action_distribution.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

// Orders are cut to the ranks that count, as the tuples are. Vectors have the
// value of tuple i at index i. Immutable.
class OrderLog {
 public:
  // Takes the scores from `model`. `tuples` must outlive this. InvalidArgument
  // if there is no tuple, or if one has another number of features.
  static absl::StatusOr<OrderLog> Create(const model::v1::Model& model,
                                         std::span<const BanditTuple> tuples);

  size_t size() const { return tuples_.size(); }
  const BanditTuple& tuple(size_t i) const { return tuples_[i]; }
  const std::vector<double>& rewards() const { return rewards_; }  // In [0, 1].
  double mean_reward() const;
  uint32_t most_ranks() const;  // That count.

  // Returns the log-probability of each order; -infinity where the user saw
  // something else.
  std::vector<double> LogProbabilities(
      const ActionDistribution& distribution) const;
  std::vector<double> LogWeights(
      std::span<const double> log_probabilities) const;

  // Returns why the log cannot support estimates with these weights, or nothing
  // if it can.
  std::optional<std::string> WhyUnsupported(
      std::span<const double> log_weights) const;

  // Expected shares of the decisions that differ from the order by score, in
  // their first rank and in any rank that counts.
  struct Departure {
    double first = 0;
    double order = 0;
  };
  Departure DepartureOf(const ActionDistribution& distribution) const;

 private:
  OrderLog(ScoredQueries queries, std::span<const BanditTuple> tuples);

  ScoredQueries queries_;
  std::span<const BanditTuple> tuples_;
  std::vector<Action> by_score_;
  std::vector<double> rewards_;
  std::vector<double> log_propensities_;
  std::vector<double> log_uniform_;
  uint64_t shown_otherwise_ = 0;
  uint64_t without_full_support_ = 0;
};

}  // namespace sortition
