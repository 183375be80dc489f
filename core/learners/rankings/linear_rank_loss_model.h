#pragma once
// A model of the loss of a rank for cascade terms: what users do is to look at
// a rank or not, and to like what they see there, as position-based users do
// [CraswellEtAl08],
//   q_k(a) = e_k α(a),  α(a) = v·x_a + b, clipped to [-1, 0],  e_k in [0, 1],
// one e for each of the first 10 ranks and one for all below. What is above
// has no part in it. A sum v·x_a + b_k would say that a better candidate gains
// as much at the last rank as at the first one.
//
// e starts as the mean losses of the ranks, over the largest of them. Given e,
// v and b are a ridge regression of the losses on the shown candidates, in rows
// e_k (x_a, 1) without a penalty on b; given α, e is one number for each rank;
// given that, v and b are fitted again. The first step takes what good
// candidates earn for what their ranks do, the others undo most of it. Terms
// are unbiased with this q as with any other: a poor one leaves more variance.
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/learners/rankings/cascade_terms.h"
#include "core/learners/rankings/ranked_tuple.h"

namespace sortition {

// Immutable, of one float for each candidate. What it says of a tuple comes
// from a model that was fitted without the tuple's fold of units, so that no
// unit corrects a model that has seen it [ChernozhukovEtAl18].
class LinearRankLossModel : public RankLossModel {
 public:
  // `l2` is the weight of ‖v‖² beside the sum of squared errors, each of them
  // with the weight of its tuple. A rank whose tuple was shown otherwise counts
  // with the loss 0, as in the terms. InvalidArgument as ValidateRankedLog()
  // and ValidateLossModelFit(). For each fold it passes over the log six times;
  // with kMaxDirectColumns features and more (core/optim/ridge.h) twice for
  // each of many steps.
  static absl::StatusOr<LinearRankLossModel> Fit(const RankedLog& log,
                                                 double l2, uint32_t folds);

  void Losses(size_t i, size_t k, std::span<double> losses) const override;

  // Returns e_k of the model that speaks of tuple i.
  double Examination(size_t i, size_t k) const;

 private:
  std::vector<uint32_t> folds_;                    // By tuple.
  std::vector<std::vector<double>> examinations_;  // By fold and rank.
  std::vector<float> attractions_;                 // α of all candidates.
  std::vector<uint64_t> begins_;  // Where those of each tuple begin.
};

}  // namespace sortition
