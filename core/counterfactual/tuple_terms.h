#pragma once
// Objectives made from one term per tuple:
//   f(w) = t̄ + λ √(V / n) + μ ‖w‖²   (core/counterfactual/penalised_mean.h)
// with tᵢ(w) a function of the i-th tuple alone. Both optimisers minimise it:
// as a whole (TermObjective) and in mini-batches
// (core/learners/counterfactual/poem.h).
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "core/optim/adagrad.h"
#include "core/optim/objective.h"

namespace sortition {

// tᵢ(w), i < num_tuples(). Not thread-safe: every thread has its own.
class TupleTerms {
 public:
  virtual ~TupleTerms() = default;

  virtual size_t num_tuples() const = 0;
  virtual Eigen::Index dimension() const = 0;  // Of w.
  // At most so many tuples should be asked for at once.
  virtual size_t block_size() const = 0;

  // tᵢ of each i in `tuples` into `values`, of the same size. What
  // AddGradient() needs of it is remembered.
  virtual void Values(const Eigen::VectorXd& parameters,
                      std::span<const uint32_t> tuples,
                      std::span<double> values) = 0;

  // A hint: Values() of these comes soon.
  virtual void Prefetch(std::span<const uint32_t> /*tuples*/) const {}

  // Adds Σ_k factors[k] · ∇_w t of the k-th tuple of the last Values().
  virtual void AddGradient(std::span<const double> factors,
                           Eigen::VectorXd* gradient) = 0;

  // The entries of w outside which AddGradient() adds nothing, for the last
  // Values(); empty where that may be all of them. Valid until the next call of
  // any function.
  virtual std::optional<EntryGroups> gradient_entries() { return std::nullopt; }
};

// All tᵢ at `parameters`, block by block.
std::vector<double> AllValues(const Eigen::VectorXd& parameters,
                              TupleTerms* terms);

// Cost: one pass over the tuples for the value; for the gradient a second one,
// unless all tuples are one block.
class TermObjective : public Objective {
 public:
  // `terms` must outlive the objective. InvalidArgument where there are fewer
  // than 2 tuples, or lambda λ or l2 μ is not finite or negative.
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
