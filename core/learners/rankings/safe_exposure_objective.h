#pragma once
// Exposure-based counterfactual risk minimisation, "safe" learning from clicks
// [GuptaOosterhuisDeRijke23]:
//   f(w) = t̄ + √(c v̄),  c = (1-η)/η · C / N,
//   v_i = Σ_d e_d(w)² / e_d(0) = Z d₂(ρ_w ‖ ρ_0)   (ExposureDivergenceTerms),
// t the terms of an estimated risk whose clicks are weighed by ω_d = e_d(w) /
// e_d(0), N decisions (or their weights), C the most clicks that a decision
// has.
//
// Why: a decision's estimate is X = Σ_d ω_d c_d, c_d ∈ {0, 1} clicks, and d is
// clicked with a probability of at most e_d(0). By Cauchy-Schwarz X² <= (Σ_d
// c_d) Σ_d ω_d² c_d, hence Var X <= E X² <= C Σ_d ω_d² e_d(0) = C v. The mean
// of N independent decisions has at most the variance C v̄ / N, and by
// Cantelli's inequality it is not further below its expectation than √((1-η)/η
// · C v̄ / N), except with probability η, for a w that was fixed before. So f
// bounds the true risk of such a w. The divergence is that of the paper; the
// constant is derived here, because C = 1 is right only where users click at
// most once.
//
// If users also click at rank k without interest, with probability β_k, the
// estimate is X = A - B with A = Σ_d ω_d c_d and B = Σ_d ω_d β_{k(d)}. Both are
// at least 0, so that X² <= A² + B². With the probability λ_k of a look, a
// click at rank k then has a probability of at most λ_k + β_k instead of λ_k,
// so that E A² <= C max_k(1 + β_k / λ_k) v. B has a term for each of the K
// ranks with β_k > 0, so that E B² <= K max_k(β_k² / λ_k) v. Therefore
//   C' = C max_k(1 + β_k / λ_k) + K max_k(β_k² / λ_k)
// takes the place of C (ClickMoment).
//
// With few decisions the minimum stays close to the exposures of the logging
// policy; as N grows the bound vanishes.
#include <cstdint>
#include <span>
#include <utility>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "core/counterfactual/tuple_terms.h"
#include "core/learners/rankings/exposure_terms.h"
#include "core/optim/objective.h"

namespace sortition {

struct ExposureSafety {
  double failure_probability = 0.05;  // η in (0, 1).
  double max_clicks = 1;  // C, or C' with click offsets; at least 1.
};

// Returns C' for the probabilities by rank of looks (λ, `examination`) and of
// clicks without interest (β, `click_offsets`); C = `max_clicks` if β is empty.
// Requires λ > 0 where β > 0.
double ClickMoment(std::span<const double> examination,
                   std::span<const double> click_offsets, double max_clicks);

class SafeExposureObjective : public Objective {
 public:
  // `terms` and `divergence` must be of the same tuples and outlive the
  // objective. InvalidArgument if they are not of equal size, if there are
  // fewer than 2, or if `safety` is out of its range.
  static absl::StatusOr<SafeExposureObjective> Create(
      TupleTerms* terms, ExposureDivergenceTerms* divergence,
      const ExposureSafety& safety);

  Eigen::Index dimension() const override { return risk_.dimension(); }
  double Evaluate(const Eigen::VectorXd& point,
                  Eigen::VectorXd* gradient) const override;

  // Returns ν(w₀) = √(c / v̄(w₀)) / 2. √ is concave, so t̄ + ν v̄ + const
  // majorises f and touches it at w₀: mini-batches (PoemRun) can minimise it,
  // `divergence` being the pull and ν its weight, and go on from there with a
  // new ν.
  double PullWeight(const Eigen::VectorXd& point) const;

 private:
  SafeExposureObjective(TermObjective risk, TermObjective divergence, double c)
      : risk_(std::move(risk)), divergence_(std::move(divergence)), c_(c) {}

  TermObjective risk_;        // t̄
  TermObjective divergence_;  // v̄
  double c_;
};

}  // namespace sortition
