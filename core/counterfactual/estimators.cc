#include "core/counterfactual/estimators.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numbers>

#include "core/base/check.h"

namespace sortition {
namespace {

// Keeps ρ² and its sums finite. Weights this large are useless anyway, so that
// their exact size does not matter.
constexpr double kMaxLogWeight = 300;

Interval Around(const Moments& moments, double range, double failure) {
  const double slack = EmpiricalBernsteinSlack(moments, range, failure);
  return {moments.mean(), moments.mean() - slack, moments.mean() + slack};
}

Interval CutTo(Interval interval, double lowest, double highest) {
  interval.lower = std::clamp(interval.lower, lowest, highest);
  interval.upper = std::clamp(interval.upper, lowest, highest);
  return interval;
}

}  // namespace

double EmpiricalBernsteinSlack(const Moments& moments, double range,
                               double failure_probability) {
  return EmpiricalBernsteinSlack(moments.total(), moments.variance(), range,
                                 failure_probability);
}

double EmpiricalBernsteinSlack(double count, double variance, double range,
                               double failure_probability) {
  if (!(count >= 2)) return std::numeric_limits<double>::infinity();
  const double log_term = std::log(2 / failure_probability);
  return std::sqrt(2 * variance * log_term / count) +
         range * 7 * log_term / (3 * (count - 1));
}

double NormalQuantile(double probability) {
  CHECK(probability > 0 && probability < 1);
  // Bisection of Φ(z) = erfc(-z/√2) / 2: 60 halvings of [-40, 40] leave 7e-17.
  double low = -40;
  double high = 40;
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    const double below = std::erfc(-middle / std::sqrt(2.0)) / 2;
    (below < probability ? low : high) = middle;
  }
  return (low + high) / 2;
}

double StudentQuantile(double probability, uint64_t freedom) {
  CHECK(probability > 0.5 && probability < 1);
  CHECK(freedom >= 1);
  // P(|T| < t) for θ = atan(t / √ν). With c = cos θ, the terms are 1, c² 1/2,
  // c⁴ (1·3)/(2·4), .. below c^ν if ν is even, and c, c³ 2/3, .. if it is odd.
  const auto within = [freedom](double angle) {
    const double cosine2 = std::cos(angle) * std::cos(angle);
    const bool odd = freedom % 2 == 1;
    double term = odd ? std::cos(angle) : 1;
    double sum = 0;
    for (uint64_t power = odd ? 1 : 0; power + 2 <= freedom; power += 2) {
      sum += term;
      const auto k = static_cast<double>(power);
      term *= cosine2 * (k + 1) / (k + 2);
    }
    sum *= std::sin(angle);
    return odd ? 2 / std::numbers::pi * (angle + sum) : sum;
  };
  double low = 0;
  double high = std::numbers::pi / 2;
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    (within(middle) < 2 * probability - 1 ? low : high) = middle;
  }
  return std::tan(low) * std::sqrt(static_cast<double>(freedom));
}

OffPolicyEstimator::OffPolicyEstimator(double clip) : clip_(clip) {
  CHECK(clip >= 1);
}

void OffPolicyEstimator::Add(double reward, double log_weight, double count) {
  const double weight = std::exp(std::fmin(log_weight, kMaxLogWeight));
  const double clipped = std::fmin(weight, clip_);
  if (weight > clip_) clipped_ += count;
  reward_.Add(reward, count);
  clipped_reward_.Add(reward * clipped, count);
  clipped_regret_.Add((1 - reward) * clipped, count);
  improvement_lower_.Add(reward * clipped - reward, count);
  improvement_upper_.Add((1 - reward) * (1 - clipped), count);
  weighted_reward_.Add(reward * weight, count);
  weight_ += count * weight;
  const double square = count * weight * weight;
  weight_squares_ += square;
  weight_squares_reward_ += square * reward;
  weight_squares_reward_2_ += square * reward * reward;
}

OffPolicyEstimates OffPolicyEstimator::Estimate(double confidence) const {
  CHECK(confidence > 0 && confidence < 1);
  const double failure = (1 - confidence) / 2;  // For one side.
  OffPolicyEstimates result;
  result.num_tuples = reward_.count();
  if (reward_.count() == 0) return result;
  result.logging = CutTo(Around(reward_, 1, failure), 0, 1);

  const Interval below = Around(clipped_reward_, clip_, failure);
  const Interval regret = Around(clipped_regret_, clip_, failure);
  result.ips = CutTo({below.value, below.lower, 1 - regret.lower}, 0, 1);

  const Interval lower = Around(improvement_lower_, clip_, failure);
  const Interval upper = Around(improvement_upper_, clip_, failure);
  result.improvement = CutTo({lower.value, lower.lower, upper.upper}, -1, 1);

  result.unclipped_ips = weighted_reward_.mean();
  result.clipped_fraction = clipped_ / reward_.total();
  // Smaller squares have lost digits to underflow, so that such weights cannot
  // be used.
  if (weight_squares_ >= std::numeric_limits<double>::min()) {
    result.effective_sample_size = weight_ * weight_ / weight_squares_;
    const double value = weighted_reward_.mean() * reward_.total() / weight_;
    // Σ ρ²(r-S)², which rounding may make slightly negative.
    const double squares = std::fmax(0, weight_squares_reward_2_ -
                                            2 * value * weight_squares_reward_ +
                                            value * value * weight_squares_);
    const double slack =
        NormalQuantile(1 - failure) * std::sqrt(squares) / weight_;
    result.snips = CutTo({value, value - slack, value + slack}, 0, 1);
  } else {
    result.snips = {0, 0, 1};  // No information.
  }
  return result;
}

double ChooseEvaluationClip(std::span<const double> rewards,
                            std::span<const double> log_weights,
                            uint64_t num_evaluation_tuples, double confidence,
                            std::span<const double> counts) {
  CHECK(rewards.size() == log_weights.size());
  CHECK(counts.empty() || counts.size() == rewards.size());
  constexpr double kClips[] = {1,  1.5, 2,  3,   5,   7,   10,  15,  20,
                               30, 50,  70, 100, 150, 200, 300, 500, 1000};
  static_assert(std::size(kClips) == kNumEvaluationClips);
  const double n =
      static_cast<double>(std::max<uint64_t>(num_evaluation_tuples, 2));
  const double log_term = std::log(4 / (1 - confidence));
  double best = kClips[0];
  double best_lower = -std::numeric_limits<double>::infinity();
  for (const double clip : kClips) {
    Moments difference;
    for (size_t i = 0; i < rewards.size(); ++i) {
      const double weight = std::fmin(std::exp(log_weights[i]), clip);
      difference.Add(rewards[i] * weight - rewards[i],
                     counts.empty() ? 1 : counts[i]);
    }
    const double lower = difference.mean() -
                         std::sqrt(2 * difference.variance() * log_term / n) -
                         clip * 7 * log_term / (3 * (n - 1));
    if (lower > best_lower) {
      best_lower = lower;
      best = clip;
    }
  }
  return best;
}

}  // namespace sortition
