#pragma once
// The objective of counterfactual risk minimisation [SwaminathanJoachims15,
// eq. 12 and Algorithm 1]:
//
//   min_w  ū + λ √(V / n) + μ ‖w‖²,
//   uᵢ = δᵢ min{M, ρᵢ},  ρᵢ = h_w(yᵢ|xᵢ) / pᵢ,  δᵢ in [-1, 0],
//   ū = Σᵢ uᵢ / n,  V = Σᵢ (uᵢ - ū)² / (n - 1).
//
// A tuple with TuplePolicy::weight() c counts as c tuples in every sum and in
// n; nothing else changes.
//
// λ = 0 is the IPS objective (eq. 2). The gradient is
//   ∇uᵢ = uᵢ ∇log h_w(yᵢ|xᵢ) where ρᵢ < M, else 0,
//   ∇√V = Σᵢ (uᵢ - ū) ∇uᵢ / ((n - 1) √V), taken as 0 where V = 0.
// Eq. 13 as printed has a further factor δᵢ/pᵢ in ∇uᵢ; that is an error of the
// paper (u already contains both), as differentiating its first line shows.
//
// This file has the parts of the objective that stochastic optimisation needs.
// Tests compare them with the whole objective, a RiskObjective
// (core/counterfactual/risk_objective.h) of the CrmRisk in
// tests/core/counterfactual/crm_risk.h.
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/counterfactual/moments.h"
#include "core/counterfactual/tuple_policy.h"

namespace sortition {

struct CrmOptions {
  double clip = 1;    // M >= 1.
  double lambda = 0;  // λ >= 0, weight of the variance term.
  double l2 = 0;      // μ >= 0.
};

// Returns uᵢ for δᵢ = `loss` and log ρᵢ = `log_weight`.
double ClippedLoss(double loss, double log_weight, double clip);

// Replaces values[i] = log ρᵢ by uᵢ, and writes d uᵢ / d log h_w(yᵢ|xᵢ), uᵢ
// where unclipped, else 0, to slopes[i]: one exponential for each tuple.
// Requires equal sizes. Clips at e^709 at most: larger weights are no doubles.
void ClippedLosses(std::span<const double> losses, double clip,
                   std::span<double> values, std::span<double> slopes);

// InvalidArgument if there are fewer than 2 tuples or their weights add up to
// less, if a loss is outside [-1, 0], if a log-propensity is not finite or is
// positive, if a weight is not finite and positive, or if an option is out of
// its range.
absl::Status ValidateCrm(const TuplePolicy& policy, const CrmOptions& options);

// Returns the moments of u of the policy that logged, whose tuples `policy`
// has, if propensities count as p^β, β = `smoothing`: its weights are p / p^β
// <= 1
// <= M, so that uᵢ = δᵢ pᵢ^(1-β), the loss itself for β = 1.
Moments MomentsOfLogging(const TuplePolicy& policy, double smoothing = 1);

// Returns λ* of sec. 4.4, at which the objective (μ = 0) of the logging policy
// is 0: ū + λ* √(V / n) = 0 of these moments gives λ* = -ū √(n / V). For a
// larger λ, a policy that avoids all logged actions (u = 0) has a lower
// objective than the logging policy. FailedPrecondition if all u are equal.
absl::StatusOr<double> CalibratedLambda(const TuplePolicy& policy,
                                        double smoothing = 1);

// A majoriser of the standard deviation at w₀ (Prop. 4):
//   √V(w) <= A Σᵢ uᵢ + B Σᵢ uᵢ² + C  for every w, with equality at w₀;
//   A = -ū₀ / ((n-1) √V₀),  B = 1 / (2 (n-1) √V₀),
//   C = n ū₀² / (2 (n-1) √V₀) + √V₀ / 2.
struct VarianceMajoriser {
  double linear = 0;     // A
  double quadratic = 0;  // B
  double constant = 0;   // C
};

// Returns the majoriser for `losses`, the moments of u at w₀. All coefficients
// are 0 if V₀ = 0, since there is no deviation to penalise.
VarianceMajoriser MajoriseStandardDeviation(const Moments& losses);

}  // namespace sortition
