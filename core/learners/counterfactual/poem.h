#pragma once
// POEM(S): counterfactual risk minimisation by iterated variance majorisation
// and mini-batch AdaGrad [SwaminathanJoachims15, Prop. 4 and Algorithm 1].
//
//   min_w  ū + λ √(V / n) + μ ‖w‖²   (core/counterfactual/crm.h)
//
// With a frame (w₀, s) for v = (w - w₀) / s, a unit κ and a pull p it is
//   min_w  (ū + λ √(V / n)) / κ + ν p̄ + μ ‖v‖²,
// and AdaGrad's steps are those of v, so that they do not depend on the units
// of losses (κ) and features (s).
//
// Every epoch majorises √V at its first w by A Σuᵢ + B Σuᵢ² + C over all
// tuples. What remains is a mean over tuples,
//   G(w) = (1/n) Σᵢ (a uᵢ + b uᵢ²) + μ ‖w‖² + const,
//   a = 1 + λ √n A,  b = λ √n B,
// whose gradient a mini-batch estimates without bias. A tuple of weight c has c
// times its gradient; it is drawn as often as the others. The default start is
// w = 0.
//
// Deviations from Algorithm 1 as printed:
//  - Line 10 gives λ / (2 (n-1) V √n) for b, which is right for the sum of uᵢ²,
//    while line 24 uses means. b above is n times that, as in the update of
//    sec. 5.3.
//  - Line 24 uses ū ∇ū for the gradient of the mean of uᵢ²/2, which is biased.
//    Here it is the batch mean of uᵢ ∇uᵢ.
//  - The g of AdaGrad's j = g / √h is the gradient of all of G. Line 24 adds
//    2μw, unscaled, to a direction made from ∇ū alone. With one scale for all
//    terms, steps end at a stationary point of the objective.
//  - Where 2 η μ <= 4e-6, the penalty moves a parameter that a batch does not
//    read when the next one reads it (AdaGrad::CatchUp()): by as much, within
//    1e-8.
//  - Progressive validation compares epochs by the objective made from each uᵢ
//    as it was before the step that used it. `patience` epochs without a new
//    best end the run, and the parameters of the best epoch are returned, or
//    the start if that is better on all tuples.
#include <cstdint>
#include <functional>
#include <span>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/counterfactual/crm.h"
#include "core/counterfactual/tuple_policy.h"
#include "core/counterfactual/tuple_terms.h"
#include "core/optim/parameter_frame.h"
#include "sortition/config/v1/optim.pb.h"

namespace sortition {

enum class PoemTermination {
  kGradient,  // Every step's direction in an epoch was below the tolerance.
  kProgressiveValidation,  // No better epoch for `patience` epochs.
  kMaxEpochs,
};
absl::string_view PoemTerminationName(PoemTermination termination);

struct PoemResult {
  // Parameters of the best epoch, or the start if its objective is lower.
  Eigen::VectorXd parameters;
  double objective = 0;  // κ times it, over all tuples.
  uint32_t epochs = 0;   // Passes begun.
  PoemTermination termination = PoemTermination::kMaxEpochs;
};

struct PoemRun {
  config::v1::AdaGradOptions adagrad;
  CrmOptions crm;
  uint64_t seed = 1;      // Seed of the shuffles.
  Eigen::VectorXd start;  // w; empty: 0.
  ParameterFrame frame = {};
  double unit = 1;             // κ > 0
  TupleTerms* pull = nullptr;  // p, of the same tuples; null: 0.
  double pull_weight = 0;      // ν
  std::function<void(uint32_t epoch)>
      on_epoch;  // Called after each epoch; may be empty.
};

// Deterministic: the same data and run give the same bits. InvalidArgument for
// the reasons of ValidateCrm(), and if the start has the wrong size; Internal
// if a parameter became NaN or infinite.
absl::StatusOr<PoemResult> TrainPoem(TuplePolicy* policy, const PoemRun& run);

// Does the same for terms other than clipped losses, and ignores run.crm.clip.
absl::StatusOr<PoemResult> TrainPoemOnTerms(TupleTerms* terms,
                                            const PoemRun& run);

// Writes the order, a permutation of 0 … n - 1, in which an epoch (counted from
// 1) of a run with `seed` visits the tuples.
void ShuffleTuples(uint64_t seed, uint32_t epoch, std::span<uint32_t> order);

// Returns the default of PoemOptions.clip, M: the ratio of the 90th to the 10th
// percentile of the propensities (sec. 6), limited to [10, 1000]. 10 without
// tuples.
double DefaultClip(const TuplePolicy& policy);

}  // namespace sortition
