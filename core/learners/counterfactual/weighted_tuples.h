#pragma once
// The importance weights of a policy on logged tuples: all that an evaluation
// needs to know about the two.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "Eigen/Core"
#include "core/counterfactual/bounds.h"
#include "core/counterfactual/tuple_policy.h"

namespace sortition {

// Each vector has the values of tuple i at index i.
struct WeightedTuples {
  std::vector<double> rewards;      // Observed, in [0, 1].
  std::vector<double> log_weights;  // log ρ, as in OverlapSample.
  // log ρ of the drawn action, even if something else was shown, so that the
  // weights have mean 1. Empty: the same as log_weights.
  std::vector<double> log_drawn_weights = {};
  std::vector<double> log_propensities;
  std::vector<double> log_uniform;  // log q(y|x) of the uniform policy.
  std::vector<uint64_t> units;      // As in UnitSample.
  uint64_t shown_otherwise = 0;     // As in OverlapSample.
  uint64_t without_full_support = 0;
  uint64_t impossible = 0;

  size_t size() const { return rewards.size(); }
  // Returns the losses of the policy: -r of the tuples whose action was shown.
  std::vector<double> Losses() const;
  // Returns the tuples at these indexes. Counts over all tuples are set to 0.
  WeightedTuples At(std::span<const size_t> indexes) const;
};

struct WeightedParts {
  WeightedTuples train;  // May be empty: unknown.
  WeightedTuples validation;
  WeightedTuples test;
  // The smallest ball of its family that holds a policy learned from `train`.
  // The longest feature vector there stands for the longest possible one.
  // Unset: unknown.
  std::optional<LinearFamilyBall> ball = {};
};

// Returns log(h_w(y|x) / p) of every tuple.
std::vector<double> LogWeights(const Eigen::VectorXd& parameters,
                               TuplePolicy* policy);

// Returns the observed rewards, in [0, 1].
std::vector<double> Rewards(const TuplePolicy& policy);

// Fills in everything except log_uniform, units and the counts, which the
// policy does not know.
WeightedTuples Weigh(const Eigen::VectorXd& parameters, TuplePolicy* policy);

}  // namespace sortition
