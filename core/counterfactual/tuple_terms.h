#pragma once
// Objectives made from one term per tuple:
//   f(w) = t̄ + λ √(V / n) + μ ‖w‖²   (core/counterfactual/penalised_mean.h)
// where tᵢ(w) depends on the i-th tuple only and counts as weights()[i] terms.
// It can be minimised as a whole (TermObjective) or in mini-batches
// (core/learners/counterfactual/poem.h).
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "core/counterfactual/moments.h"
#include "core/counterfactual/tuple_policy.h"
#include "core/optim/entry_groups.h"
#include "core/optim/objective.h"

namespace sortition {

// tᵢ(w), i < num_tuples(). Not thread-safe: every thread needs its own.
class TupleTerms {
 public:
  virtual ~TupleTerms() = default;

  virtual size_t num_tuples() const = 0;
  virtual Eigen::Index dimension() const = 0;  // Size of w.
  // The largest number of tuples to ask for at once.
  virtual size_t block_size() const = 0;
  // The same where no gradient follows.
  virtual size_t value_block_size() const { return block_size(); }
  // TuplePolicy::weight() of each tuple; empty: all are 1.
  virtual std::span<const double> weights() const { return {}; }

  // Writes tᵢ for each i in `tuples` to `values`, which has the same size.
  // Keeps what AddGradient() needs.
  virtual void Values(const Eigen::VectorXd& parameters,
                      std::span<const uint32_t> tuples,
                      std::span<double> values) = 0;

  // A hint that Values() of these tuples comes soon.
  virtual void Prefetch(std::span<const uint32_t> /*tuples*/) const {}

  // Adds Σ_k factors[k] · ∇_w t of the k-th tuple of the last Values().
  virtual void AddGradient(std::span<const double> factors,
                           Eigen::VectorXd* gradient) = 0;

  // The only entries of w that Values() of these tuples reads and that
  // AddGradient() then adds to; nullopt if it may be all of them. Valid until
  // its next call. It comes before Values(), if at all.
  virtual std::optional<EntryGroups> Entries(
      std::span<const uint32_t> /*tuples*/) {
    return std::nullopt;
  }
};

// Returns all tᵢ at `parameters`, computed block by block.
std::vector<double> AllValues(const Eigen::VectorXd& parameters,
                              TupleTerms* terms);

// Returns the moments of all `values` of the terms.
Moments MomentsOf(const TupleTerms& terms, std::span<const double> values);

// Returns the weights of the policy's tuples; empty if all are 1.
std::vector<double> WeightsOf(const TuplePolicy& policy);

// The value costs one pass over the tuples. The gradient costs a second one,
// unless all tuples are one block.
class TermObjective : public Objective {
 public:
  // `terms` must outlive the objective. InvalidArgument if there are fewer than
  // 2 tuples, or if lambda λ or l2 μ is not finite or is negative.
  static absl::StatusOr<TermObjective> Create(TupleTerms* terms, double lambda,
                                              double l2);

  Eigen::Index dimension() const override { return terms_->dimension(); }
  double Evaluate(const Eigen::VectorXd& point,
                  Eigen::VectorXd* gradient) const override;

 private:
  TermObjective(TupleTerms* terms, double lambda, double l2)
      : terms_(terms), lambda_(lambda), l2_(l2) {}

  TupleTerms* terms_;
  double lambda_;
  double l2_;
};

}  // namespace sortition
