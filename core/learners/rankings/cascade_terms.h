#pragma once
// Doubly robust terms under the cascade assumption [KiyoharaEtAl22]:
// what happens at rank k depends on the ranks down to k only, and q_k models
// it.
//   t = Σ_k [ρ_{k+1} (δ_k - q_k(y_k)) + ρ_k Σ_a h_w(a|y_0..y_{k-1}) q_k(a)],
// ρ_r = h_w / p of the first r ranks, ρ_0 = 1. Every ρ_r is replaced by
// min{M_r, ρ_r}. Without clips the mean estimates Σ_k E[δ_k] for any q that was
// not fitted to the tuple's own unit. The better q, the less the weights
// matter: a model that is exact leaves only the variance of what was shown
// above.
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "core/counterfactual/tuple_terms.h"
#include "core/learners/rankings/prefix_law.h"
#include "core/learners/rankings/ranked_tuple.h"
#include "core/learners/rankings/row_scores.h"

namespace sortition {

// q: a model of the loss of a rank, fitted beforehand.
class RankLossModel {
 public:
  virtual ~RankLossModel() = default;

  // Writes, for each candidate a of tuple i, the modelled loss of rank k if a
  // is shown there below what tuple i has above; finite. Entries of candidates
  // above are not used.
  virtual void Losses(size_t i, size_t k, std::span<double> losses) const = 0;
};

// Unlike terms without a model, a tuple whose losses are 0, or whose user saw
// something else (it counts as losses of 0), costs as much as any other.
class CascadeTerms : public TupleTerms {
 public:
  // clips[r - 1] is M_r, the last one also that of more ranks; at least 1, may
  // be infinite. `model` must outlive this object. InvalidArgument as
  // ValidateRankedLog(), and where there are no clips or one is out of range.
  static absl::StatusOr<CascadeTerms> Create(const RankedLog& log,
                                             std::vector<double> clips,
                                             const RankLossModel* model);

  size_t num_tuples() const override { return log_.tuples.size(); }
  Eigen::Index dimension() const override { return log_.family.dimension(); }
  size_t block_size() const override { return 128; }
  std::span<const double> weights() const override { return log_.weights; }
  void Values(const Eigen::VectorXd& parameters,
              std::span<const uint32_t> tuples,
              std::span<double> values) override;
  void AddGradient(std::span<const double> factors,
                   Eigen::VectorXd* gradient) override;

 private:
  CascadeTerms(const RankedLog& log, std::vector<double> clips,
               const RankLossModel* model)
      : log_(log),
        clips_(std::move(clips)),
        model_(model),
        rows_(log.family.num_features, log.tuples),
        law_(log.family.uniform_mixture) {}

  // Of a clipped weight: its value, and its derivative by its logarithm.
  struct Weight {
    double value = 1;
    double slope = 0;
  };
  // Returns the clipped ρ_r, given log p of these ranks.
  Weight WeightOf(size_t r, double log_logged) const;
  // Returns the term of the k-th tuple of rows_ and keeps its slopes. Unless
  // `gradient` is null, adds factor times what the conditional probabilities
  // of the expectations contribute.
  double Evaluate(size_t k, double factor, std::vector<double>* gradient);

  RankedLog log_;
  std::vector<double> clips_;
  const RankLossModel* model_;
  RowScores rows_;
  PrefixLaw law_;
  std::vector<double> modelled_;
  std::vector<double> conditionals_;
  // Derivatives of a term by log h and log p of the first r ranks.
  std::vector<double> prefix_slopes_;
  std::vector<double> policy_slopes_;
  std::vector<double> score_gradient_;
};

}  // namespace sortition
