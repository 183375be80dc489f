#pragma once
// The terms of ExposureTerms with estimated values and gradients, from N drawn
// orders for each tuple: PL-Rank-3 [Oosterhuis22], after PL-Rank
// [Oosterhuis21]. For Σ_k λ_k g_{y_k}, the derivative by the logit of d is the
// expectation over orders y of
//   R_{r+1} + Σ_{j <= min(r, K-1)} P_j(d) (λ_j g_d - R_j),  r the rank of d,
// R_j = Σ_{j <= k < K} λ_k g_{y_k}, R_j = 0 for j >= K, P_j(d) the probability
// that d is drawn at rank j of what is left. Every order says something about
// every candidate, drawn or not, and what a candidate adds itself is computed,
// not drawn. Gains are centred first: the exposures of all candidates add up to
// a constant, so that nothing else changes, and gains in [0, 1] lose nine
// tenths of their variance or more. Costs O(n + K log K) per order, beside the
// n random numbers.
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "core/base/random.h"
#include "core/counterfactual/tuple_terms.h"
#include "core/learners/rankings/exposures.h"

namespace sortition {

// Reuses its buffers. Not thread-safe.
class PlRank {
 public:
  // Returns the mean of Σ_k λ_k g_{y_k} over the orders of these streams of
  // `key`, and overwrites `gradient` with the mean of the estimates of its
  // derivatives by the logits. Both have the expectations of the exact ones.
  // Requires finite logits within ±1e4 and at least one order; uses as many of
  // the discounts λ as there are candidates.
  double Estimate(std::span<const double> logits, std::span<const double> gains,
                  std::span<const double> discounts, const Hash128& key,
                  uint32_t num_orders, std::span<double> gradient);

 private:
  // Adds the estimates from the order in order_.
  double AddOrder(std::span<const double> logits, std::span<const double> gains,
                  std::span<const double> discounts,
                  std::span<double> gradient);

  std::vector<double> centred_;  // Gains less their mean.
  std::vector<double> numbers_;
  std::vector<int32_t> order_;
  std::vector<double> log_sums_;  // L_j = log Σ exp(l) of what is left.
  std::vector<uint8_t> taken_;
};

// Draws anew at every Values(), from (seed, number of the call, tuple): the
// same sequence of calls gives the same bits. For mini-batches; an optimiser
// with a line search needs a function, which this is not.
class SampledExposureTerms : public TupleTerms {
 public:
  // InvalidArgument as ExposureTerms::Create(), and without orders.
  static absl::StatusOr<SampledExposureTerms> Create(
      const ExposureProblem& problem, std::vector<std::vector<double>> gains,
      uint32_t num_orders, uint64_t seed);

  size_t num_tuples() const override { return problem_.tuples.size(); }
  Eigen::Index dimension() const override {
    return problem_.family.dimension();
  }
  size_t block_size() const override { return 128; }
  std::span<const double> weights() const override { return problem_.weights; }
  void Values(const Eigen::VectorXd& parameters,
              std::span<const uint32_t> tuples,
              std::span<double> values) override;
  void AddGradient(std::span<const double> factors,
                   Eigen::VectorXd* gradient) override;

 private:
  SampledExposureTerms(const ExposureProblem& problem,
                       std::vector<std::vector<double>> gains,
                       uint32_t num_orders, uint64_t seed)
      : problem_(problem),
        gains_(std::move(gains)),
        num_orders_(num_orders),
        seed_(seed),
        rows_(problem.family.num_features, problem.tuples) {}

  ExposureProblem problem_;
  std::vector<std::vector<double>> gains_;
  uint32_t num_orders_;
  uint64_t seed_;
  uint64_t num_calls_ = 0;
  RowScores rows_;
  PlRank pl_rank_;
  std::vector<double> score_gradients_;  // Of all rows of the last Values().
  std::vector<double> row_factors_;
};

}  // namespace sortition
