#pragma once
// The objective of counterfactual risk minimisation as one function of all
// tuples: slow, and simple enough to compare the optimisers' parts with
// (core/counterfactual/crm.h).
#include <cmath>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/check.h"
#include "core/counterfactual/crm.h"
#include "core/counterfactual/moments.h"
#include "core/counterfactual/penalised_mean.h"
#include "core/counterfactual/risks.h"

namespace sortition {

// Returns d uᵢ / d log h_w(yᵢ|xᵢ) of ClippedLoss(): uᵢ where unclipped, else 0.
inline double ClippedLossSlope(double loss, double log_weight, double clip) {
  const double weight = std::exp(log_weight);
  return weight < clip ? loss * weight : 0;
}

// Counterfactual risk minimisation [SwaminathanJoachims15, eq. 10]:
//   ū + λ √(V / n),  uᵢ = δᵢ min{M, ρᵢ},  V = Σ (uᵢ - ū)² / (n - 1).
// λ = 0: clipped IPS (eq. 2 with M); M = infinity too: IPS (eq. 1).
class CrmRisk : public Risk {
 public:
  // InvalidArgument as ValidateClipAndLambda().
  static absl::StatusOr<CrmRisk> Create(double clip, double lambda) {
    const absl::Status status = ValidateClipAndLambda(clip, lambda);
    if (!status.ok()) return status;
    return CrmRisk(clip, lambda);
  }

  double EvaluateSample(const RiskSample& sample,
                        std::span<double> slopes) const override {
    const auto& [losses, log_weights, counts] = sample;
    DCHECK(losses.size() == log_weights.size());
    std::vector<double> values(log_weights.begin(), log_weights.end());
    std::vector<double> own_slopes(slopes.empty() ? losses.size() : 0);
    const std::span<double> value_slopes = slopes.empty() ? own_slopes : slopes;
    ClippedLosses(losses, clip_, values, value_slopes);
    Moments moments;
    if (counts.empty()) {
      moments.Add(values);
    } else {
      moments.Add(values, counts);
    }
    const PenalisedMean risk(moments, lambda_);
    // A slope is u itself where unclipped, else 0.
    for (size_t i = 0; i < slopes.size(); ++i) {
      if (slopes[i] == 0) continue;
      slopes[i] *= sample.count(i) * risk.Slope(slopes[i]);
    }
    return risk.value();
  }
  bool ignores_zero_losses() const override { return true; }

 private:
  CrmRisk(double clip, double lambda) : clip_(clip), lambda_(lambda) {}
  double clip_;
  double lambda_;
};

}  // namespace sortition
