#include "core/counterfactual/evaluation/decision_moments.h"

#include <algorithm>

namespace sortition {
namespace {

void AddTo(const double (&from)[kNumParameters], double (&to)[kNumParameters]) {
  for (size_t i = 0; i < kNumParameters; ++i) to[i] += from[i];
}

}  // namespace

void RewardMoments::Add(double share, double r) {
  ++count;
  reward += r;
  square += r * r;
  is_binary = is_binary && (r == 0 || r == 1);
  is_whole = is_whole && share == 1;
}

void RewardMoments::Merge(const RewardMoments& other) {
  count += other.count;
  reward += other.reward;
  square += other.square;
  is_binary = is_binary && other.is_binary;
  is_whole = is_whole && other.is_whole;
}

void WeightMoments::Add(double share, double reward, double weight) {
  if (weight == 0) return;
  square_ += share * weight * share * weight;
  largest_ = std::max(largest_, weight);
  smallest_ = std::min(smallest_, weight);
  const double regret = 1 - reward;
  for (size_t i = 0; i < kNumParameters; ++i) {
    const double w = std::min(weight, kClips[i]);
    const double gain = w * reward;
    const double loss = w * regret;
    gains_[i] += gain;
    regrets_[i] += loss;
    gain_squares_[i] += gain * reward;
    regret_squares_[i] += loss * regret;
    weight_gain_squares_[i] += gain * gain;
    weight_regret_squares_[i] += loss * loss;
  }
}

void WeightMoments::Merge(const WeightMoments& other) {
  square_ += other.square_;
  largest_ = std::max(largest_, other.largest_);
  smallest_ = std::min(smallest_, other.smallest_);
  AddTo(other.gains_, gains_);
  AddTo(other.regrets_, regrets_);
  AddTo(other.gain_squares_, gain_squares_);
  AddTo(other.regret_squares_, regret_squares_);
  AddTo(other.weight_gain_squares_, weight_gain_squares_);
  AddTo(other.weight_regret_squares_, weight_regret_squares_);
}

WeightMoments::MeanAndVariance WeightMoments::Of(
    ClippedTerm term, size_t clip, const RewardMoments& rewards) const {
  const double n = static_cast<double>(rewards.count);
  const double regret = n - rewards.reward;
  const double regret_square = n - 2 * rewards.reward + rewards.square;
  double sum = 0;
  double squares = 0;
  switch (term) {
    case ClippedTerm::kReward:
      sum = gains_[clip];
      squares = weight_gain_squares_[clip];
      break;
    case ClippedTerm::kRegret:
      sum = regrets_[clip];
      squares = weight_regret_squares_[clip];
      break;
    case ClippedTerm::kGain:
      sum = gains_[clip] - rewards.reward;
      squares =
          weight_gain_squares_[clip] - 2 * gain_squares_[clip] + rewards.square;
      break;
    case ClippedTerm::kLostRegret:
      sum = regrets_[clip] - regret;
      squares = weight_regret_squares_[clip] - 2 * regret_squares_[clip] +
                regret_square;
      break;
  }
  if (rewards.count < 2) return {n > 0 ? sum / n : 0, 0};
  // Rounding may make it slightly negative.
  return {sum / n, std::max(0.0, (squares - sum * sum / n) / (n - 1))};
}

}  // namespace sortition
