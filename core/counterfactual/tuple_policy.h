#pragma once
// The view that counterfactual learning has of a policy: the probability that
// it gives to each logged action, as a function of its parameters.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "Eigen/Core"
#include "core/optim/entry_groups.h"

namespace sortition {

// A parametric stochastic policy h_w over a fixed set of bandit tuples (xᵢ, yᵢ,
// δᵢ, pᵢ), i < num_tuples(). Not thread-safe: implementations keep scratch
// space, so every thread needs its own.
class TuplePolicy {
 public:
  virtual ~TuplePolicy() = default;

  virtual size_t num_tuples() const = 0;
  virtual Eigen::Index dimension() const = 0;  // Size of w.

  virtual double loss(size_t i) const = 0;            // δᵢ in [-1, 0].
  virtual double log_propensity(size_t i) const = 0;  // log pᵢ, finite, <= 0.

  // How many tuples this one counts as in objectives; finite and positive. The
  // scale matters little for means, but objectives take the sum of all weights
  // for the number of tuples.
  virtual double weight(size_t /*i*/) const { return 1; }

  // The unit that the tuple belongs to: tuples of different units are
  // independent. nullopt: units are not known, for any tuple.
  virtual std::optional<uint64_t> unit(size_t /*i*/) const {
    return std::nullopt;
  }

  // The observed reward of the logging policy, in [0, 1], even if the user was
  // shown something else.
  virtual double reward(size_t i) const { return -loss(i); }

  // Writes log h_w(yᵢ|xᵢ) for each i in `tuples` to `log_probabilities`, which
  // has the same size; -infinity for impossible actions. Keeps what
  // AddGradient() needs.
  virtual void LogProbabilities(const Eigen::VectorXd& parameters,
                                std::span<const uint32_t> tuples,
                                std::span<double> log_probabilities) = 0;

  // Adds Σ_k factors[k] · ∇_w log h_w(y|x) of the k-th tuple of the last
  // LogProbabilities() to `gradient`, at the parameters of that call. Values
  // and gradients are computed by separate calls because the factors of an
  // importance-weighted objective depend on the values. Tuples with factor 0
  // cost nothing.
  virtual void AddGradient(std::span<const double> factors,
                           Eigen::VectorXd* gradient) = 0;

  // The only entries of w that LogProbabilities() of these tuples reads and
  // that AddGradient() then adds to; nullopt if it may be all of them. Valid
  // until its next call. It comes before LogProbabilities(), if at all.
  virtual std::optional<EntryGroups> Entries(
      std::span<const uint32_t> /*tuples*/) {
    return std::nullopt;
  }

  // A hint that LogProbabilities() of these tuples comes soon. Shuffled tuples
  // are scattered in memory, and fetching them takes longer than computing.
  virtual void Prefetch(std::span<const uint32_t> /*tuples*/) const {}

  // The largest number of tuples to ask for at once. What is kept of more
  // tuples does not fit the caches and takes memory.
  virtual size_t block_size() const = 0;
  // The same where no gradient follows.
  virtual size_t value_block_size() const { return block_size(); }

  double LogProbability(const Eigen::VectorXd& parameters, size_t i) {
    const uint32_t tuple = static_cast<uint32_t>(i);
    double value = 0;
    LogProbabilities(parameters, {&tuple, 1}, {&value, 1});
    return value;
  }
};

// The same policy with pᵢ^β in place of pᵢ: exponential smoothing
// [AoualiEtAl23]. Weights h / p^β are at most 1 / p^β, and shrink most where p
// is small: less variance, and a bias to what was logged often, since their
// expectation is Σ_y h π^(1-β).
class SmoothedPropensities final : public TuplePolicy {
 public:
  // `policy` must outlive this, and may be used by others between calls as far
  // as it may be without this. β = `smoothing` is in (0, 1].
  SmoothedPropensities(TuplePolicy* policy, double smoothing)
      : policy_(policy), smoothing_(smoothing) {}

  size_t num_tuples() const override { return policy_->num_tuples(); }
  Eigen::Index dimension() const override { return policy_->dimension(); }
  double loss(size_t i) const override { return policy_->loss(i); }
  double log_propensity(size_t i) const override {
    return smoothing_ * policy_->log_propensity(i);
  }
  double weight(size_t i) const override { return policy_->weight(i); }
  double reward(size_t i) const override { return policy_->reward(i); }
  void LogProbabilities(const Eigen::VectorXd& parameters,
                        std::span<const uint32_t> tuples,
                        std::span<double> log_probabilities) override {
    policy_->LogProbabilities(parameters, tuples, log_probabilities);
  }
  void AddGradient(std::span<const double> factors,
                   Eigen::VectorXd* gradient) override {
    policy_->AddGradient(factors, gradient);
  }
  std::optional<EntryGroups> Entries(
      std::span<const uint32_t> tuples) override {
    return policy_->Entries(tuples);
  }
  void Prefetch(std::span<const uint32_t> tuples) const override {
    policy_->Prefetch(tuples);
  }
  size_t block_size() const override { return policy_->block_size(); }
  size_t value_block_size() const override {
    return policy_->value_block_size();
  }

 private:
  TuplePolicy* policy_;
  double smoothing_;
};

}  // namespace sortition
