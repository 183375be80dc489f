#pragma once
// What counterfactual learning sees of a policy: the probability that it gives
// to each logged action, as a function of its parameters.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "Eigen/Core"
#include "core/optim/adagrad.h"

namespace sortition {

// A parametric stochastic policy h_w over a fixed set of bandit tuples
// (xᵢ, yᵢ, δᵢ, pᵢ), i < num_tuples(). Not thread-safe: implementations keep
// scratch space; every thread has its own.
class TuplePolicy {
 public:
  virtual ~TuplePolicy() = default;

  virtual size_t num_tuples() const = 0;
  virtual Eigen::Index dimension() const = 0;  // Of w.

  virtual double loss(size_t i) const = 0;            // δᵢ in [-1, 0].
  virtual double log_propensity(size_t i) const = 0;  // log pᵢ, finite, <= 0.

  // Observed, in [0, 1], whatever the user saw: what the logging policy got.
  virtual double reward(size_t i) const { return -loss(i); }

  // log h_w(yᵢ|xᵢ) of each i in `tuples`, -infinity where it is impossible,
  // into `log_probabilities`, of the same size. What AddGradient() needs of it
  // is remembered.
  virtual void LogProbabilities(const Eigen::VectorXd& parameters,
                                std::span<const uint32_t> tuples,
                                std::span<double> log_probabilities) = 0;

  // Adds Σ_k factors[k] · ∇_w log h_w(y|x) to `gradient`, k-th of the tuples of
  // the last LogProbabilities(), at its parameters. The factors of every
  // importance-weighted objective depend on the values, which come first; what
  // has the factor 0 costs nothing.
  virtual void AddGradient(std::span<const double> factors,
                           Eigen::VectorXd* gradient) = 0;

  // The entries of w outside which AddGradient() adds nothing, for the last
  // LogProbabilities(); empty where that may be all of them. Valid until the
  // next call of any function.
  virtual std::optional<EntryGroups> gradient_entries() { return std::nullopt; }

  // A hint: LogProbabilities() of these comes soon. Shuffled tuples lie
  // scattered in memory, which is slower than the work on them.
  virtual void Prefetch(std::span<const uint32_t> /*tuples*/) const {}

  // At most so many tuples should be asked for at once: more is remembered
  // beyond the caches, and in memory.
  virtual size_t block_size() const = 0;

  double LogProbability(const Eigen::VectorXd& parameters, size_t i) {
    const uint32_t tuple = static_cast<uint32_t>(i);
    double value = 0;
    LogProbabilities(parameters, {&tuple, 1}, {&value, 1});
    return value;
  }
};

}  // namespace sortition
