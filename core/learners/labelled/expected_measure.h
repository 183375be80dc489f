#pragma once
// The expected measure of a served policy on labelled queries: exact if there
// is a closed form, otherwise the mean of draws.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/data/labelled_items.h"
#include "core/games/ranking/discounts.h"
#include "core/games/sampling/sized_set_marginals.h"
#include "core/learners/labelled/label_measure.h"
#include "core/policies/linear_policy.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

// Immutable, thread-safe.
//  - Game rankings with the measure's own discounts and without Plackett-Luce:
//    Σ d_i y_i, mixed with uniform. Other rankings: draws.
//  - Subsets: F-beta and precision are linear given the size of the set, so the
//    inclusion probabilities for each size are enough. For independent subsets,
//    the numbers of relevant and of other members are independent sums of
//    coins.
//  - Selections: Σ p_i gain_i.
//  - Accuracy of labels: label_accuracy.h, also for a policy that is not
//  served.
class ExpectedMeasure {
 public:
  static constexpr uint32_t kDraws = 256;

  // `weights`: one for each feature of the queries (accuracy: for each feature
  // and label). InvalidArgument if the policy cannot be served;
  // FailedPrecondition if the measure is of another kind of action: of rankings
  // for sets, of k-sets for sets of any size, of selections for all others. If
  // draws are needed, takes as many as are asked for.
  static absl::StatusOr<ExpectedMeasure> Create(const model::v1::Policy& policy,
                                                std::vector<double> weights,
                                                LabelMeasure measure,
                                                uint32_t draws = kDraws);

  // Number of draws whose mean is a query's value. 0: exact (for F_BETA games:
  // for the served strategy, however exactly it solves the game).
  uint32_t num_draws() const { return num_draws_; }

  // Draws are a function of `seed`. InvalidArgument if scores are larger than
  // the game can be played with.
  absl::StatusOr<double> Of(const LabelledItems& query, uint64_t seed) const;

  // The following require a query for which Of() has a value.
  // Returns the measure of the deterministic policy: MeasureByScore() with the
  // policy's threshold.
  double ByScore(const LabelledItems& query) const;
  // Returns the expected measure of a uniformly drawn action.
  double ByChance(const LabelledItems& query) const;
  // Returns the policy's entropy in nats: of what is selected or ranked first;
  // for subsets the sum over the items of the entropy of being in; for labels
  // the mean over the items. Unset for game policies.
  std::optional<double> Entropy(const LabelledItems& query) const;

 private:
  ExpectedMeasure(const model::v1::Policy& policy, std::vector<double> weights,
                  LabelMeasure measure);

  absl::StatusOr<double> ByDraws(const LabelledItems& query,
                                 uint64_t seed) const;
  double OfSelection(const LabelledItems& query) const;
  // Returns the expected measure of a ranking or subset for gains y and scores
  // s.
  absl::StatusOr<double> OfRanking(std::span<const double> gains,
                                   std::span<const double> scores) const;
  absl::StatusOr<double> OfSubset(std::span<const double> gains,
                                  std::span<const double> scores) const;
  // Returns the game's strategy, without the uniform part.
  absl::StatusOr<std::vector<SizedSetMarginals>> PlaySubset(
      std::span<const double> scores) const;
  // Writes the probability of each item to be in an independent subset of
  // `size` items; size 0: any size.
  absl::Status IndependentInclusion(std::span<const double> scores, size_t size,
                                    std::span<double> inclusion) const;
  double OfSets(std::span<const double> gains,
                const std::vector<SizedSetMarginals>& sets) const;
  Discounts DiscountsOf(size_t num_items) const;
  std::vector<double> GainsOf(const LabelledItems& query) const;
  double ByChance(std::span<const double> gains) const;

  model::v1::Policy policy_;
  std::vector<double> weights_;
  LabelMeasure measure_;
  uint32_t num_draws_ = 0;
  std::shared_ptr<const LinearPolicy> linear_;  // Null for accuracy.
};

// Returns the mean F-beta of a set that each item joins independently with its
// probability. Requires gains of 0 or 1. O(n²).
double IndependentFBeta(double beta, std::span<const double> gains,
                        std::span<const double> probabilities);

}  // namespace sortition
