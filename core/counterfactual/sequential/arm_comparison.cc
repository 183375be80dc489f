#include "core/counterfactual/sequential/arm_comparison.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"

namespace sortition {
namespace {

// Before anything is known: as strong as one round.
double MeanOf(double sum, uint64_t rounds) {
  return (sum + 0.5) / (static_cast<double>(rounds) + 1);
}

// Returns the log of the evidence that the difference is above `limit`, or
// below it.
double LogEvidence(std::span<const ArmRound> rounds, double limit,
                   bool is_below) {
  ArmEvidence evidence({.allowed = -limit, .against_better = is_below});
  double sum = 0;
  uint64_t before = 0;
  for (const ArmRound& round : rounds) {
    evidence.Add(round, MeanOf(sum, before++));
    sum += round.reward;
  }
  return evidence.bets().LogEvidence();
}

// Returns the end of the interval between `inside`, which is not refuted, and
// `outside`.
double EndOfInterval(std::span<const ArmRound> rounds, double inside,
                     double outside, double log_needed) {
  const bool is_below = outside > inside;
  constexpr int kSteps = 20;  // To 2e-6.
  for (int step = 0; step < kSteps; ++step) {
    const double middle = (inside + outside) / 2;
    const bool is_refuted = LogEvidence(rounds, middle, is_below) >= log_needed;
    (is_refuted ? outside : inside) = middle;
  }
  return outside;
}

}  // namespace

void ArmEvidence::Add(const ArmRound& round, double mean) {
  const double q = round.canary_probability;
  const double stable_weight = (1 - hypothesis_.margin) / (1 - q);
  const double constant = hypothesis_.margin * mean + hypothesis_.allowed;
  const double z =
      (round.reward - mean) * (round.is_canary ? 1 / q : -stable_weight) +
      constant;
  // What it could be at the worst, by an r of 0 or 1.
  constexpr double kLeast = 1e-6;
  if (hypothesis_.against_better) {
    const double most =
        std::max((1 - mean) / q, mean * stable_weight) + constant;
    bets_.Add(-z, std::max(most, kLeast));
  } else {
    const double least =
        std::max(mean / q, (1 - mean) * stable_weight) - constant;
    bets_.Add(z, std::max(least, kLeast));
  }
}

ArmComparison::ArmComparison(std::span<const ArmHypothesis> hypotheses)
    : evidence_(hypotheses.begin(), hypotheses.end()) {}

double ArmComparison::MeanBefore() const { return MeanOf(sum_, num_rounds_); }

void ArmComparison::Add(const ArmRound& round) {
  const double q = round.canary_probability;
  CHECK(q > 0 && q < 1 && round.reward >= 0 && round.reward <= 1);
  const double mean = MeanBefore();
  for (ArmEvidence& evidence : evidence_) evidence.Add(round, mean);
  rounds_.push_back(round);
  ++num_rounds_;
  num_canary_ += round.is_canary ? 1 : 0;
  sum_ += round.reward;
  squares_ += round.reward * round.reward;
  canary_sum_ += round.is_canary ? round.reward : 0;
  weighted_ += (round.reward - mean) * (round.is_canary ? 1 - q : -q);
  weights_ += q * (1 - q);
}

double ArmComparison::DifferenceValue() const {
  return weights_ > 0 ? std::clamp(weighted_ / weights_, -1.0, 1.0) : 0;
}

Interval ArmComparison::Difference(double confidence) const {
  Interval interval{.value = DifferenceValue(), .lower = -1, .upper = 1};
  const double log_needed = std::log(2 / (1 - confidence));
  if (LogEvidence(rounds_, interval.value, false) < log_needed) {
    interval.lower = EndOfInterval(rounds_, interval.value, -1, log_needed);
  }
  if (LogEvidence(rounds_, interval.value, true) < log_needed) {
    interval.upper = EndOfInterval(rounds_, interval.value, 1, log_needed);
  }
  return interval;
}

double ArmComparison::CanaryMean() const {
  return num_canary_ > 0 ? canary_sum_ / static_cast<double>(num_canary_) : 0;
}

double ArmComparison::StableMean() const {
  const uint64_t rounds = num_rounds_ - num_canary_;
  return rounds > 0 ? (sum_ - canary_sum_) / static_cast<double>(rounds) : 0;
}

std::optional<double> ArmComparison::RoundsNeeded(
    size_t i, double alpha, double canary_probability) const {
  const ArmHypothesis& hypothesis = evidence_[i].hypothesis();
  const double q = canary_probability;
  const double mean = MeanBefore();
  const double distance =
      (DifferenceValue() + hypothesis.margin * StableMean() +
       hypothesis.allowed) *
      (hypothesis.against_better ? -1 : 1);
  if (!(distance > 0) || num_rounds_ == 0) return std::nullopt;
  const double second = squares_ / static_cast<double>(num_rounds_);
  const double variance = std::max(second - mean * mean, 1e-9);
  const double kept = 1 - hypothesis.margin;
  const double spread = variance * (1 / q + kept * kept / (1 - q));
  const double missing = std::log(MixtureBets::kShares / alpha) -
                         std::max(evidence_[i].bets().LogWealthOfBest(), 0.0);
  return std::max(missing, 0.0) * 2 * spread / (distance * distance);
}

}  // namespace sortition
