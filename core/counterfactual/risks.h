#pragma once
// Estimates of a policy's risk that learners minimise: functions of the losses
// δᵢ and importance weights ρᵢ = h_w(yᵢ|xᵢ) / pᵢ of n tuples, with their exact
// derivatives with respect to log ρ. How ρ depends on w is left to
// core/counterfactual/tuple_policy.h.
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sortition {

// Has the values of tuple i at index i.
struct RiskSample {
  std::span<const double> losses;       // δᵢ
  std::span<const double> log_weights;  // log ρᵢ, which may be -infinity.
  // How many tuples each counts as; empty: 1. The formulas of risks are for 1:
  // a tuple that counts as c is in every sum c times.
  std::span<const double> counts = {};

  double count(size_t i) const { return counts.empty() ? 1 : counts[i]; }
};

// An estimate R(δ, ρ). Immutable, thread-safe.
class Risk {
 public:
  virtual ~Risk() = default;

  // Returns R of the sample. Unless `slopes` is empty, sets slopes[i] to ∂R / ∂
  // log ρᵢ. Requires equal sizes and n >= 2.
  virtual double EvaluateSample(const RiskSample& sample,
                                std::span<double> slopes) const = 0;

  // Does the same where every tuple counts as one.
  double Evaluate(std::span<const double> losses,
                  std::span<const double> log_weights,
                  std::span<double> slopes) const {
    return EvaluateSample({losses, log_weights}, slopes);
  }

  // True if the weights of tuples with δᵢ = 0 do not affect R, so that they
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
// Adding c to every δ adds c to R, so that its minimum does not move. Only
// ratios of weights count, so that none of them can overflow.
class SelfNormalisedRisk : public Risk {
 public:
  // InvalidArgument if lambda λ is not finite or is negative.
  static absl::StatusOr<SelfNormalisedRisk> Create(double lambda);
  // Returns 0 if every weight is 0.
  double EvaluateSample(const RiskSample& sample,
                        std::span<double> slopes) const override;
  bool ignores_zero_losses() const override { return false; }

 private:
  explicit SelfNormalisedRisk(double lambda) : lambda_(lambda) {}
  double lambda_;
};

// Logarithmic smoothing [SakhiEtAl24], for δ in [-1, 0]:
//   -(1 / (λ n)) Σ log(1 - λ ρᵢ δᵢ),  λ > 0;
// The limit λ → 0 is IPS; a large weight counts by its logarithm.
class LogSmoothingRisk : public Risk {
 public:
  // InvalidArgument unless lambda λ is finite and positive.
  static absl::StatusOr<LogSmoothingRisk> Create(double lambda);
  double EvaluateSample(const RiskSample& sample,
                        std::span<double> slopes) const override;
  bool ignores_zero_losses() const override { return true; }

 private:
  explicit LogSmoothingRisk(double lambda) : lambda_(lambda) {}
  double lambda_;
};

// The term of one tuple, -log(1 - λ ρ δ) / λ, and its derivative with respect
// to log ρ.
double LogSmoothedLoss(double loss, double log_weight, double lambda);
double LogSmoothedLossSlope(double loss, double log_weight, double lambda);

// Returns an upper bound of the true risk of a policy that was fixed before the
// n tuples were seen, from R = LogSmoothingRisk(λ) of these tuples. It holds
// with probability at least 1 - η, η in (0, 1):
//   (1 - exp(-λ R - log(1/η) / n)) / λ.
// By independence E Π (1 - λ ρᵢ δᵢ) <= (1 - λ r)ⁿ for the true risk r (missing
// support only decreases the left side). Markov's inequality for the product
// gives exp(-n λ R) <= (1 - λ r)ⁿ / η, except with probability η.
double LogSmoothingBound(double risk, double lambda, uint64_t num_tuples,
                         double failure_probability);

}  // namespace sortition
