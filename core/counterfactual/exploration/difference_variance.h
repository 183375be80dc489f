#pragma once
// How many decisions, logged under an exploration, tell two policies apart:
// predicted before anything is logged under it.
//
// Let e be the exploration, t and c two policies, each the probability of the
// logged action y, and r̄ any constant. N decisions that e logs estimate the
// difference of the values of t and c by the mean of
//   f = (t - c) / e · (r - r̄).
// E_e[f] = Σ_y (t - c) (r - r̄) is that difference whatever r̄ is, since the
// probabilities of t and of c add up to 1. With r̄ near the mean reward, the
// variance does not depend on where rewards begin. The mean has the variance
// Var_e(f) / N. A normal interval that fails with probability γ tells a
// difference of Δ from 0 with the given power if
//   Δ = (z_{1-γ/2} + z_power) √(Var_e(f) / N), so
//   N = (z_{1-γ/2} + z_power)² Var_e(f) / Δ².
//
// Var_e(f) = E_e[f²] - E_e[f]² follows from the log of another policy p, whose
// decisions are weighed by e / p:
//   E_e[f²] = E_p[e / p · f²] = E_p[(t - c)² / (p e) (r - r̄)²],
//   E_e[f]  = E_p[(t - c) / p · (r - r̄)], both where e > 0.
// So p need not have tried all that e does, only what t and c do differently.
//
// Where e = 0, the exploration never logs what t and c do. With rewards in
// [0, 1] that hides at most
//   m = max(m⁺, m⁻),  m± = E_p[(t - c)± / p] where e = 0,
// of the difference: t gains at most 1 - r̄ there, or c loses at most r̄. Only
// the rest, Δ - m, is left for the decisions to tell.
#include <cstdint>
#include <optional>

namespace sortition {

// A decision of p. Logs are natural; -infinity: impossible.
struct ComparedAction {
  double reward = 0;           // r, in [0, 1].
  double log_propensity = 0;   // log p, finite.
  double log_target = 0;       // log t
  double log_present = 0;      // log c
  double log_exploration = 0;  // log e
};

struct DifferenceSpread {
  double variance = 0;  // Var_e(f); infinity if nothing was added.
  double unseen = 0;    // m
  double distance = 0;  // E_p[|t - c| / p], 0 where both do the same.
  // (Σ g)² / Σ g² of the terms g of E_e[f²]: how many terms the variance rests
  // on. With few of them it is not known.
  double effective_terms = 0;
};

// One pass in constant memory.
class DifferenceVariance {
 public:
  // `mean_reward` is r̄.
  explicit DifferenceVariance(double mean_reward) : mean_reward_(mean_reward) {}

  void Add(const ComparedAction& action);

  DifferenceSpread Spread() const;

 private:
  const double mean_reward_;
  uint64_t decisions_ = 0;
  double squares_ = 0;         // Σ g
  double square_squares_ = 0;  // Σ g²
  double seen_ = 0;            // Σ (t - c) / p · (r - r̄) where e > 0
  double unseen_more_ = 0;     // Σ (t - c)⁺ / p where e = 0
  double unseen_less_ = 0;
  double distance_ = 0;
};

// Returns N; nothing where Δ = `difference` is not above m, so that no number
// of decisions tells it. Requires difference > 0, and confidence 1 - γ and
// power in (0, 1). The largest number where the variance is infinite.
std::optional<uint64_t> DecisionsToTell(const DifferenceSpread& spread,
                                        double difference, double confidence,
                                        double power);

}  // namespace sortition
