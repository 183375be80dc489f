#pragma once
// Sums over single decisions, for the bounds that take each decision for
// independent of the others.
#include <cstddef>
#include <cstdint>

#include "core/counterfactual/evaluation/estimator.h"

namespace sortition {

// Of the rewards r of a log.
struct RewardMoments {
  uint64_t count = 0;
  double reward = 0;      // Σ r
  double square = 0;      // Σ r²
  bool is_binary = true;  // Every reward is 0 or 1.
  bool is_whole = true;   // Every decision counts fully.

  void Add(double share, double r);
  void Merge(const RewardMoments& other);
};

// What a bound is about, as a variable of each decision; w = min(ρ, M).
enum class ClippedTerm {
  kReward,      // w r
  kRegret,      // w (1 - r)
  kGain,        // (w - 1) r
  kLostRegret,  // (w - 1) (1 - r)
};

// Of the weights ρ of a policy.
class WeightMoments {
 public:
  void Add(double share, double reward, double weight);
  void Merge(const WeightMoments& other);

  // Σ (share ρ)²
  double square() const { return square_; }
  double largest() const { return largest_; }
  // Every weight is 0 or largest().
  bool has_one_weight() const { return smallest_ >= largest_ * (1 - 1e-12); }

  // Mean and sample variance of a term with M = kClips[clip]. Requires
  // `rewards` of the same decisions, all of which count fully.
  struct MeanAndVariance {
    double mean = 0;
    double variance = 0;
  };
  MeanAndVariance Of(ClippedTerm term, size_t clip,
                     const RewardMoments& rewards) const;

 private:
  double square_ = 0;
  double largest_ = 0;
  double smallest_ = 1e308;  // Above 0.
  // By M: Σ w r, Σ w (1 - r), and the same of w r², w (1 - r)², w² r², w² (1 -
  // r)².
  double gains_[kNumParameters] = {};
  double regrets_[kNumParameters] = {};
  double gain_squares_[kNumParameters] = {};
  double regret_squares_[kNumParameters] = {};
  double weight_gain_squares_[kNumParameters] = {};
  double weight_regret_squares_[kNumParameters] = {};
};

}  // namespace sortition
