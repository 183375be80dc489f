#pragma once
// Models of the reward of a candidate, for doubly robust evaluation:
//   q_h(x) + ρ (r - q(x, y)),  q_h(x) = Σ_y h(y|x) q(x, y).
// A model must come from other units than those that it judges. Otherwise it
// has learned their rewards, and what ρ (r - q) corrects is gone.
#include <cstdint>
#include <span>

namespace sortition {

enum class RewardModelKind {
  kNone,   // Predicts 0: doubly robust estimates are then those without model.
  kRidge,  // Linear: ridge_sums.h.
  kTrees,  // Boosted regression trees: boosted_trees.h.
  kBest,   // Of ridge and trees that with less squared error on other units.
};

class RewardModel {
 public:
  explicit RewardModel(double abstain_reward)
      : abstain_reward_(abstain_reward) {}
  virtual ~RewardModel() = default;

  // Returns the expected reward of a candidate, in [0, 1]. `features` has as
  // many finite numbers as the examples had. Thread-safe.
  virtual double Predict(std::span<const float> features) const = 0;

  // Returns the expected reward of abstaining, an action without features: the
  // mean reward of those that abstained, or of all if none did.
  double abstain_reward() const { return abstain_reward_; }

 private:
  double abstain_reward_;
};

// One decision to learn from.
struct RewardExample {
  std::span<const float> features;  // Of the logged candidate; a dense row.
  bool abstained = false;           // Then without features.
  double reward = 0;                // In [0, 1].
  double weight = 1;                // Of its squared error.
  uint64_t unit_hash = 0;           // Of what is independent: UnitKey().
};

// Returns the fold of a unit, in {0 .. num_folds - 1}. It hashes `unit_hash`
// once more, with a tag of its own. So folds are independent of the groups of
// GroupSums, which are the low bits of `unit_hash`, and of the parts of a log,
// which are a hash of the unit's id in another domain.
uint32_t FoldOf(uint64_t unit_hash, uint32_t num_folds);

// Returns a number in [0, 1) by which a part of the units of a fold is set
// aside: independent of FoldOf() and of all that it is independent of.
double SetAsideNumber(uint64_t unit_hash);

// Returns the weight of a logged decision in the regression that makes the
// variance of the doubly robust estimate of one policy h small ("more robust"
// [FarajtabarChowGhavamzadeh18]); p is the propensity, h(y|x) the policy's
// probability of the logged action:
//   h(y|x) (1 - p) / p²
// Derivation. Let e(y) = E[r|x, y] - q(x, y). Given x, the variance of
// q_h + ρ (r - q) is a part that does not depend on q and
//   Σ_y h²/p e² - (Σ_y h e)².
// For a policy that always chooses z this is e(z)² (1 - p(z)) / p(z). The
// estimate for h is the mean over z ~ h of those for policies that always
// choose z, so by Jensen's inequality its variance is at most
//   Σ_z h(z) (1 - p(z)) / p(z) e(z)²,
// with equality for deterministic h: the objective of the paper. An action z is
// logged with probability p(z), so that the logged (r - q)² needs the weight
// above to have this as its expectation, up to the noise of r. Only what is
// known of the logged action enters. Weights beyond e^200 become e^200, so that
// sums of them stay finite.
double MoreRobustWeight(double log_propensity, double log_probability);

}  // namespace sortition
