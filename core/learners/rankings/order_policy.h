#pragma once
// Linear Plackett-Luce policies, mixed with uniform orders, as functions of
// their parameters over ranked tuples: the log-probabilities of the first r
// ranks of each logged order. Those of single ranks given the ranks above are
// their differences.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "core/learners/rankings/prefix_law.h"
#include "core/learners/rankings/ranked_tuple.h"
#include "core/learners/rankings/row_scores.h"

namespace sortition {

// What is trained is what will be served: log-probabilities are those of
// RankingDistribution::ConditionalLogPropensities(), but for rounding. Not
// thread-safe.
class OrderPolicy {
 public:
  // InvalidArgument as ValidateRankedLog().
  static absl::StatusOr<OrderPolicy> Create(const RankedLog& log);

  size_t num_tuples() const { return log_.tuples.size(); }
  Eigen::Index dimension() const { return log_.family.dimension(); }
  size_t block_size() const { return 128; }
  const RankedLog& log() const { return log_; }

  // For the first depths[k] shown ranks of each tuple k in `tuples`, writes
  // log h of the ranks down to each of them, one tuple after the other.
  // Requires sum(depths) log-probabilities. Keeps what AddGradient() needs.
  void LogPrefixes(const Eigen::VectorXd& parameters,
                   std::span<const uint32_t> tuples,
                   std::span<const uint32_t> depths,
                   std::span<double> log_prefixes);

  // Adds Σ factors[j] · ∇ log h of the j-th entry of the last LogPrefixes(), at
  // its parameters. Tuples whose factors are 0 cost nothing.
  void AddGradient(std::span<const double> factors, Eigen::VectorXd* gradient);

  // Writes the log-probability of each shown rank of tuple i given those above.
  void LogConditionals(const Eigen::VectorXd& parameters, size_t i,
                       std::span<double> log_conditionals);

 private:
  explicit OrderPolicy(const RankedLog& log)
      : log_(log),
        rows_(log.family.num_features, log.tuples),
        law_(log.family.uniform_mixture) {}

  RankedLog log_;
  RowScores rows_;
  PrefixLaw law_;
  std::vector<uint32_t> depths_;  // Of the last LogPrefixes().
  std::vector<double> prefix_factors_;
  std::vector<double> score_gradient_;
};

}  // namespace sortition
