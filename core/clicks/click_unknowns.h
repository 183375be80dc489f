#pragma once
// The M-steps of click models: from expected counts to parameters.
#include <vector>

#include "absl/status/statusor.h"
#include "core/clicks/click_features.h"
#include "core/clicks/click_fitter.h"
#include "core/clicks/expected_counts.h"
#include "core/clicks/fitted_clicks.h"

namespace sortition {

// Knows what of the parameters is learned, and how.
class ClickMaximisation {
 public:
  // Both must outlive this.
  ClickMaximisation(const ClickFitOptions& options,
                    const ClickFeatures& features)
      : options_(options), features_(features) {}

  // Returns where EM starts: attractions near the rates of clicks, user
  // parameters from their rates by rank.
  ClickUnknowns Start(const WeightedSessions& sessions) const;

  // Returns the parameters that are most likely given these counts; with
  // features, more likely than `unknowns`.
  absl::StatusOr<ClickUnknowns> Step(const ClickUnknowns& unknowns,
                                     const ExpectedCounts& counts) const;

  // Returns the logarithm of the priors, up to a constant.
  double LogPrior(const ClickUnknowns& unknowns) const;

  // Appends all free parameters, or replaces them; probabilities that the
  // latter would put outside (0, 1) stay between `inside` and the border.
  std::vector<double> Flatten(const ClickUnknowns& unknowns) const;
  ClickUnknowns Unflatten(const std::vector<double>& values,
                          const ClickUnknowns& inside) const;

  FittedClicks Finish(const ClickUnknowns& unknowns,
                      const ExpectedCounts& counts) const;
  ClickUnknowns Unfinish(const FittedClicks& fitted) const;

 private:
  bool has_features() const { return features_.num_features > 0; }
  bool is_network() const {
    return options_.kind == ClickModelKind::kBayesianNetwork;
  }
  // Sets what is not learned.
  void Fix(ClickUnknowns* unknowns) const;
  void Predict(ClickUnknowns* unknowns) const;
  std::vector<double> Rates(const ExpectedOutcomes& outcomes,
                            const std::vector<double>& before) const;

  const ClickFitOptions& options_;
  const ClickFeatures& features_;
};

}  // namespace sortition
