#include "core/counterfactual/exploration/difference_variance.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/counterfactual/evaluation/planning.h"

namespace sortition {
namespace {

// Keeps squares and their sums finite, as in diagnostics.cc.
constexpr double kMaxLogWeight = 300;

double BoundedExp(double log_value) {
  return std::exp(std::fmin(log_value, kMaxLogWeight));
}

// Returns log |exp(a) - exp(b)|, also where both are too small for exp().
double LogDistance(double a, double b) {
  if (a == b) return -HUGE_VAL;
  return std::fmax(a, b) + std::log(-std::expm1(-std::fabs(a - b)));
}

}  // namespace

void DifferenceVariance::Add(const ComparedAction& action) {
  ++decisions_;
  const double log_distance =
      LogDistance(action.log_target, action.log_present);
  if (log_distance == -HUGE_VAL) return;
  const bool more = action.log_target > action.log_present;
  const double change = BoundedExp(log_distance - action.log_propensity);
  distance_ += change;
  if (action.log_exploration == -HUGE_VAL) {
    (more ? unseen_more_ : unseen_less_) += change;
    return;
  }
  const double residual = action.reward - mean_reward_;
  const double square = BoundedExp(2 * log_distance - action.log_propensity -
                                   action.log_exploration) *
                        residual * residual;
  squares_ += square;
  square_squares_ += square * square;
  seen_ += (more ? change : -change) * residual;
}

DifferenceSpread DifferenceVariance::Spread() const {
  DifferenceSpread spread;
  if (decisions_ == 0) {
    spread.variance = std::numeric_limits<double>::infinity();
    return spread;
  }
  const double n = static_cast<double>(decisions_);
  const double mean = seen_ / n;
  spread.variance = std::fmax(0, squares_ / n - mean * mean);
  spread.unseen = std::fmax(unseen_more_, unseen_less_) / n;
  spread.distance = distance_ / n;
  if (square_squares_ > 0) {
    spread.effective_terms = squares_ * squares_ / square_squares_;
  }
  return spread;
}

std::optional<uint64_t> DecisionsToTell(const DifferenceSpread& spread,
                                        double difference, double confidence,
                                        double power) {
  if (!(difference > spread.unseen)) return std::nullopt;
  return DecisionsToSee(std::sqrt(spread.variance), 1,
                        difference - spread.unseen, (1 - confidence) / 2,
                        power);
}

}  // namespace sortition
