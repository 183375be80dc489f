#pragma once
// Estimates of a policy's risk from importance weights, as learners minimise
// them: functions of the losses δᵢ and weights ρᵢ = h_w(yᵢ|xᵢ) / pᵢ of n
// tuples, with their exact derivatives. What w does to ρ is not known here
// (core/counterfactual/tuple_policy.h).
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sortition {

// R(δ, ρ). Immutable, thread-safe.
class Risk {
 public:
  virtual ~Risk() = default;

  // R where losses[i] = δᵢ and log_weights[i] = log ρᵢ, which may be -infinity.
  // Unless empty, slopes[i] becomes ∂R / ∂ log ρᵢ. Requires equal sizes, n
  // >= 2.
  virtual double Evaluate(std::span<const double> losses,
                          std::span<const double> log_weights,
                          std::span<double> slopes) const = 0;

  // True where a tuple with δᵢ = 0 adds the same to R whatever its weight: it
  // need not be computed.
  virtual bool ignores_zero_losses() const = 0;
};

// Checks the clip M and the variance weight λ of counterfactual risk
// minimisation (core/counterfactual/crm.h); M may be infinite. InvalidArgument
// if M < 1 or if λ is negative or not finite.
absl::Status ValidateClipAndLambda(double clip, double lambda);

// Self-normalised risk with its standard error by the delta method (Norm-POEM)
// [SwaminathanJoachims15b]:
//   S + λ √V,  S = Σ δᵢ ρᵢ / Σ ρᵢ,  V = Σ (δᵢ - S)² ρᵢ² / (Σ ρᵢ)².
// δ + c for every δ gives R + c, so that its minimum does not move; c · ρ gives
// R: only ratios of weights count, and none of them overflows.
class SelfNormalisedRisk : public Risk {
 public:
  // InvalidArgument where lambda λ is not finite or negative.
  static absl::StatusOr<SelfNormalisedRisk> Create(double lambda);
  // 0 where every weight is 0.
  double Evaluate(std::span<const double> losses,
                  std::span<const double> log_weights,
                  std::span<double> slopes) const override;
  bool ignores_zero_losses() const override { return false; }

 private:
  explicit SelfNormalisedRisk(double lambda) : lambda_(lambda) {}
  double lambda_;
};

// Logarithmic smoothing [SakhiEtAl24], for δ in [-1, 0]:
//   -(1 / (λ n)) Σ log(1 - λ ρᵢ δᵢ),  λ > 0;
// λ → 0 is IPS; a large weight counts by its logarithm.
class LogSmoothingRisk : public Risk {
 public:
  // InvalidArgument where lambda λ is not finite and positive.
  static absl::StatusOr<LogSmoothingRisk> Create(double lambda);
  double Evaluate(std::span<const double> losses,
                  std::span<const double> log_weights,
                  std::span<double> slopes) const override;
  bool ignores_zero_losses() const override { return true; }

 private:
  explicit LogSmoothingRisk(double lambda) : lambda_(lambda) {}
  double lambda_;
};

// -log(1 - λ ρ δ) / λ, the part of one tuple, and its derivative by log ρ.
double LogSmoothedLoss(double loss, double log_weight, double lambda);
double LogSmoothedLossSlope(double loss, double log_weight, double lambda);

// Upper bound of the true risk from R = LogSmoothingRisk(λ) of n tuples, for a
// policy that was fixed before they were seen: holds with probability at least
// 1 - η, η in (0, 1),
//   (1 - exp(-λ R - log(1/η) / n)) / λ.
// By independence E Π (1 - λ ρᵢ δᵢ) <= (1 - λ r)ⁿ for the true risk r (missing
// support only lessens the left side); Markov's inequality for the product
// gives exp(-n λ R) <= (1 - λ r)ⁿ / η but with probability η.
double LogSmoothingBound(double risk, double lambda, uint64_t num_tuples,
                         double failure_probability);

}  // namespace sortition
