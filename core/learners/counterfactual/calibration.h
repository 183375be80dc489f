#pragma once
// Finds the inverse temperature α at which a policy that samples abstains as
// often as its deterministic counterpart [SwaminathanJoachims15, sec. 7].
//
// The deterministic rule (MAP) takes the best candidate, or none if the abstain
// score is higher. With s_0 the abstain score, ε the mixture and c the number
// of actions, abstaining included, the served policy abstains with
//   f(α) = mean over queries of (1-ε) exp(α s_0) / Σ_d exp(α s(d)) + ε/c.
// As α → 0 the policy becomes uniform, with f = mean 1/c; as α → ∞ it becomes
// MAP mixed with uniform. Between them f need not be monotone, nor reach the
// rate of MAP. If no α gives that rate exactly, one that comes near enough is
// taken.
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/learners/counterfactual/bandit_tuple.h"
#include "core/policies/distributions/action_distribution.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

// The scores s(d) = w·x(d) of logged queries, not multiplied by α. Immutable.
class ScoredQueries {
 public:
  // Scores the tuples of all parts, in order. InvalidArgument if there is no
  // tuple, or if one has another number of features than the model.
  static absl::StatusOr<ScoredQueries> Create(
      const model::v1::Model& model,
      std::initializer_list<std::span<const BanditTuple>> parts);

  size_t size() const { return ranks_.size(); }
  bool can_abstain() const { return abstain_score_.has_value(); }
  // A view. Rankings fill as many ranks as were logged.
  ScoredCandidates operator[](size_t i) const;

 private:
  absl::Status Add(const BanditTuple& tuple, std::span<const double> weights);

  std::vector<double> scores_;
  // Where each query begins; last: number of scores.
  std::vector<size_t> begins_;
  std::vector<uint32_t> ranks_;
  std::optional<double> abstain_score_;
};

// Returns the most probable action at any α > 0 without mixture: the best
// candidate, or kAbstain if the abstain score is higher; for rankings the order
// of the scores. Ties go to the lower position, and to answering.
Action MapPrediction(ActionKind action_kind,
                     const ScoredCandidates& candidates);

// Returns the share of the queries in which MapPrediction() abstains.
double MapAbstentionRate(const ScoredQueries& queries);

// Means over the queries for the policy as served, mixture included.
struct PolicyShape {
  double abstention_rate = 0;
  double map_probability = 0;  // Probability of MapPrediction().
  double entropy = 0;  // In nats; for rankings, the entropy of the first rank.
};

// InvalidArgument for a policy out of its ranges (see MakeActionDistribution).
absl::StatusOr<PolicyShape> MeasureShape(const ScoredQueries& queries,
                                         const model::v1::Policy& policy);

struct CalibrationRange {
  double alpha_min = 1e-3;
  double alpha_max = 1e3;
  // Accepted error of the rate if it is not reached exactly.
  double tolerance = 0.01;
};

struct Calibration {
  double inverse_temperature = 1;
  double abstention_rate = 0;      // f at the chosen α.
  double map_abstention_rate = 0;  // The target of the calibration.
  bool exact = true;               // False: f is within the tolerance only.
  // All α found that give the rate exactly, ascending.
  std::vector<double> roots;
};

// Returns the α in the range at which f equals the rate of MAP. If there are
// several, takes the one whose ratio to the policy's present α is nearest to 1,
// since it changes the policy least. If there is none, takes the nearest α
// within the tolerance. Scans f in steps of 15 % of α and bisects; the relative
// error of the result is 1e-12. InvalidArgument for a policy that cannot
// abstain or a bad range; FailedPrecondition, with the rates that can be
// reached, if no α comes near enough.
absl::StatusOr<Calibration> CalibrateInverseTemperature(
    const ScoredQueries& queries, const model::v1::Policy& policy,
    const CalibrationRange& range);

}  // namespace sortition
