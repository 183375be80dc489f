#pragma once
// Objectives whose weights are smoothed otherwise than sortition-trainer does.
#include <memory>

#include "absl/status/statusor.h"
#include "core/learners/counterfactual/grid_risk.h"
#include "core/learners/multilabel/labels_policy.h"

namespace sortition {

// What learners since 2015 do with weights h / p.
enum class Weights {
  kPlain,
  kImplicit,  // h / (p + γ) [Neu15]
  kShrunk,    // ρ s / (ρ² + s), s = M² [SuEtAl20]
};

struct Smoothing {
  Weights weights = Weights::kPlain;
  double quantile = 0;  // kImplicit: γ is this quantile of the propensities.
  double clip = 1;      // M; kShrunk: √s.
};

// Returns the mean of δ times the smoothed weight; those of kImplicit are
// clipped at M. `contexts` must outlive it.
absl::StatusOr<std::unique_ptr<GridRisk>> MakeSmoothedRisk(
    const Smoothing& smoothing, const LabelContexts& contexts,
    const LabelTuples& tuples);

}  // namespace sortition
