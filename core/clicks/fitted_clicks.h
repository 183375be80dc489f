#pragma once
// A click model whose parameters were learned from sessions.
#include <cstdint>
#include <span>
#include <vector>

#include "Eigen/Core"
#include "core/clicks/click_model.h"
#include "core/clicks/click_sessions.h"

namespace sortition {

struct FittedClicks {
  ClickModel model;
  // By item. Those of items without any evidence are the mean of the others, or
  // what their features say.
  std::vector<double> attractions;
  std::vector<double> satisfactions = {};  // Bayesian network only.
  // Where attraction is a function of features: one weight per feature, then
  // the intercept; else empty.
  Eigen::VectorXd attraction_weights = {};
  Eigen::VectorXd satisfaction_weights = {};  // Bayesian network only.

  double log_likelihood = 0;  // Σ over sessions of weight · log P(clicks).
  // With the logarithms of the priors: what was maximised.
  double objective = 0;
  uint32_t iterations = 0;  // Passes over the sessions.
  bool converged = false;   // False: ended by max_iterations.
  // The objective before each step that was taken; never falls, but for
  // rounding.
  std::vector<double> trace = {};
};

// The items of a session, by rank, as a fitted model sees them. Reusable.
class FittedList {
 public:
  // Returns a view of this object, valid until the next call. Requires items
  // below the number of items of `fitted`.
  ShownList Look(const FittedClicks& fitted, const ClickSession& session);
  // The clicks of that session.
  std::span<const uint8_t> clicks() const { return clicks_; }

 private:
  std::vector<double> attractions_;
  std::vector<double> satisfactions_;
  std::vector<uint8_t> clicks_;
};

enum class ClickParameterKind {
  kExamination,         // θ_r, by rank.
  kSlope,               // α_r, by rank.
  kOffset,              // β_r, by rank.
  kContinuation,        // λ_r, by rank.
  kPerseverance,        // γ
  kAttractionWeight,    // By feature, the intercept last.
  kSatisfactionWeight,  // By feature, the intercept last.
  kAttraction,          // By item.
  kSatisfaction,        // By item.
};
// "examination", "slope", ..., "satisfaction".
absl::string_view ClickParameterName(ClickParameterKind kind);

struct ClickParameter {
  ClickParameterKind kind;
  uint32_t index = 0;
  double value = 0;
};

// Returns what was learned, the user's part and the weights first and in the
// order above; the items too if `with_items`.
std::vector<ClickParameter> ClickParametersOf(const FittedClicks& fitted,
                                              bool with_items);

}  // namespace sortition
