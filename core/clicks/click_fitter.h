#pragma once
// Learns click models by expectation maximisation [DempsterLairdRubin77].
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "absl/status/statusor.h"
#include "core/clicks/click_features.h"
#include "core/clicks/click_sessions.h"
#include "core/clicks/expected_counts.h"
#include "core/clicks/fitted_clicks.h"

namespace sortition {

struct ClickFitOptions {
  ClickModelKind kind = ClickModelKind::kPositionBased;
  uint32_t max_iterations = 500;  // Passes over the sessions; at least 1.
  // EM ends when a step raises the objective, in nats over all sessions, by
  // less than this. Near the optimum a standard error is half a nat away. At
  // least 0.
  double tolerance = 1e-4;
  // Extrapolates pairs of EM steps [VaradhanRoland08], and takes the result
  // only if the objective does not fall.
  bool accelerate = true;
  // Pseudo-observations of each item, of its attraction and its satisfaction: a
  // Beta(prior_hits + 1, prior_misses + 1) prior whose mode is the estimate. At
  // 0 an item that was never clicked has attraction 0, and a click on it in
  // held-out sessions is impossible. At least 0; not used with features.
  double prior_hits = 0;
  double prior_misses = 0;
  // Trust bias: β_0 in [0, 1), not learned. Since all β_r >= 0, it must be
  // large enough where trust falls with the rank.
  double first_offset = 0;
  // Trust bias: α_0 in (0, 1 - β_0], the unit of attraction, not learned:
  // P(click at rank 0) = β_0 + α_0 a. Unset: 1 - β_0. Since all α_r + β_r <= 1,
  // it must be small enough where α_r is above α_0 at some rank.
  std::optional<double> first_slope = std::nullopt;
  // Bayesian network: γ in [0, 1] if it is known; 1 is the simplified network.
  std::optional<double> perseverance = std::nullopt;
  // With features: weight of the penalty l2/2 ‖w‖², the intercept left out; at
  // least 0.
  double l2 = 1e-3;

  // α_0, given or not.
  double FirstSlope() const { return first_slope.value_or(1 - first_offset); }
};

// Immutable after Create(); thread-safe. Needs 4 bytes per impression and 10
// per pair of item and rank for independent clicks, and per call of Fit() 16
// bytes per such pair or 4 per session, and some per item. Position-based
// attractions are those of rank 0: θ_0 = 1. Each step is monotone in the
// objective, the log-likelihood and the logarithms of priors or penalties.
class ClickFitter {
 public:
  // `sessions` and what `features` views must outlive the fitter. With features
  // attraction (and satisfaction) are logistic functions of them, else one
  // number per item. InvalidArgument if an option is outside its range, there
  // are no sessions or 2^32 impressions or more, features are wrong, or a
  // session has two clicks and the kind is kCascade (UntilFirstClick() helps).
  static absl::StatusOr<ClickFitter> Create(const ClickSessions* sessions,
                                            const ClickFitOptions& options,
                                            const ClickFeatures& features = {});

  // Internal if the logistic regression diverges.
  absl::StatusOr<FittedClicks> Fit() const { return Fit({}, nullptr); }
  // Fits with the weight of session s multiplied by multipliers[s] >= 0 (empty:
  // 1), starting at `start` where it is not null: a result of this fitter.
  // InvalidArgument if the number of multipliers is wrong, one is negative or
  // not finite, or all are 0.
  absl::StatusOr<FittedClicks> Fit(std::span<const double> multipliers,
                                   const FittedClicks* start) const;

  const ClickSessions& sessions() const { return *sessions_; }
  const ClickFitOptions& options() const { return options_; }
  bool has_features() const { return features_.num_features > 0; }

 private:
  ClickFitter(const ClickSessions* sessions, const ClickFitOptions& options,
              const ClickFeatures& features);

  std::unique_ptr<ClickExpectation> Expectation(
      std::span<const double> multipliers) const;

  const ClickSessions* sessions_;
  ClickFitOptions options_;
  ClickFeatures features_;
  std::shared_ptr<const ClickCells> cells_;  // Null for users who read on.
};

}  // namespace sortition
