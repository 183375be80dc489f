#include "core/counterfactual/confidence/ratio_blocks.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/stable_math.h"

namespace sortition {
namespace {

double Product(std::span<const double> a, std::span<const double> b) {
  constexpr size_t kLanes = 4;
  double lanes[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= a.size(); i += kLanes) {
    for (size_t j = 0; j < kLanes; ++j) lanes[j] += a[i + j] * b[i + j];
  }
  for (size_t j = 0; i + j < a.size(); ++j) lanes[j] += a[i + j] * b[i + j];
  return (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
}

// Adds the contributions of one ratio with the given totals.
void AddRatio(const RatioColumn& ratio, double numerator, double denominator,
              Deviations* deviations) {
  if (denominator == 0) {
    deviations->is_known = false;
    return;
  }
  const double value = numerator / denominator;
  const double scale = ratio.factor / denominator;
  deviations->value += ratio.factor * value;
  for (size_t b = 0; b < ratio.numerator.size(); ++b) {
    deviations->blocks[b] +=
        scale * (ratio.numerator[b] - value * ratio.denominator[b]);
  }
}

void Clear(const RatioBlocks& blocks, Deviations* deviations) {
  deviations->value = 0;
  deviations->blocks.assign(blocks.front().numerator.size(), 0);
  deviations->is_known = true;
}

double Square(double x) { return x * x; }

}  // namespace

double Deviations::StandardError() const {
  const double n = static_cast<double>(blocks.size());
  if (n < 2 || !is_known) return std::numeric_limits<double>::infinity();
  return std::sqrt(n / (n - 1) * Product(blocks, blocks));
}

double Deviations::SquaredSkewness() const {
  double squares = 0;
  double cubes = 0;
  for (const double deviation : blocks) {
    squares += deviation * deviation;
    cubes += deviation * deviation * deviation;
  }
  return squares > 0 ? Square(cubes / squares) / squares
                     : std::numeric_limits<double>::infinity();
}

double Deviations::LargestShare() const {
  double squares = 0;
  double largest = 0;
  for (const double deviation : blocks) {
    squares += deviation * deviation;
    largest = std::max(largest, deviation * deviation);
  }
  return squares > 0 ? largest / squares : 1;
}

Deviations DeviationsOf(const RatioBlocks& blocks) {
  Deviations deviations;
  Clear(blocks, &deviations);
  for (const RatioColumn& ratio : blocks) {
    AddRatio(ratio, stable::Sum(ratio.numerator),
             stable::Sum(ratio.denominator), &deviations);
  }
  return deviations;
}

void DeviationsOfDrawn(const RatioBlocks& blocks,
                       std::span<const double> counts, Deviations* deviations) {
  Clear(blocks, deviations);
  for (const RatioColumn& ratio : blocks) {
    AddRatio(ratio, Product(ratio.numerator, counts),
             Product(ratio.denominator, counts), deviations);
  }
}

}  // namespace sortition
