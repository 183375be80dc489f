#include "core/counterfactual/bounds.h"

#include <cmath>
#include <iterator>
#include <limits>

#include "core/base/check.h"
#include "core/counterfactual/crm.h"
#include "core/counterfactual/risks.h"

namespace sortition {

double CrmGeneralisationBound(const Moments& clipped_losses, double clip,
                              double log_capacity, double failure_probability) {
  CHECK(clip >= 1);
  CHECK(log_capacity >= 0);
  CHECK(failure_probability > 0 && failure_probability < 1);
  if (clipped_losses.count() < kFewestTuplesOfTheorem3) {
    return std::numeric_limits<double>::infinity();
  }
  const double n = static_cast<double>(clipped_losses.count());
  const double q = std::log(10 / failure_probability) + log_capacity;
  return clipped_losses.mean() +
         std::sqrt(18 * clipped_losses.variance() * q / n) +
         15 * clip * q / (n - 1);
}

ClippedBound BestCrmBound(std::span<const double> losses,
                          std::span<const double> log_weights,
                          double log_capacity, double failure_probability) {
  CHECK(losses.size() == log_weights.size());
  constexpr double kClips[] = {1, 2, 5, 10, 20, 50, 100};
  ClippedBound best{std::numeric_limits<double>::infinity(), kClips[0]};
  for (const double clip : kClips) {
    Moments moments;
    for (size_t i = 0; i < losses.size(); ++i) {
      moments.Add(ClippedLoss(losses[i], log_weights[i], clip));
    }
    const double risk = CrmGeneralisationBound(
        moments, clip,
        log_capacity + std::log(static_cast<double>(std::size(kClips))),
        failure_probability);
    if (risk < best.risk) best = {risk, clip};
  }
  return best;
}

double LinearFamilyLogCapacity(const LinearFamilyBall& ball,
                               uint64_t num_tuples) {
  return static_cast<double>(ball.dimension) *
         std::log1p(4 * static_cast<double>(ball.ranks) * ball.feature_norm *
                    ball.radius * static_cast<double>(num_tuples));
}

RadiusShare ChooseRadius(double norm) {
  CHECK(norm >= 0 && std::isfinite(norm));
  double radius = 1;
  double j = 0;
  for (; radius < norm; ++j) radius *= 2;
  return {radius, 1 / ((j + 1) * (j + 2))};
}

double ChooseLogSmoothingLambda(std::span<const double> losses,
                                std::span<const double> log_weights,
                                uint64_t num_evaluation_tuples,
                                double failure_probability) {
  constexpr double kLambdas[] = {1e-4, 3e-4, 1e-3, 3e-3, 0.01,
                                 0.03, 0.1,  0.3,  1};
  double best = kLambdas[0];
  double best_bound = std::numeric_limits<double>::infinity();
  for (const double lambda : kLambdas) {
    const double risk =
        LogSmoothingRisk::Create(lambda)->Evaluate(losses, log_weights, {});
    const double bound = LogSmoothingBound(risk, lambda, num_evaluation_tuples,
                                           failure_probability);
    if (bound < best_bound) {
      best_bound = bound;
      best = lambda;
    }
  }
  return best;
}

}  // namespace sortition
