#include "process/drawing/scale.h"

#include <cmath>

namespace sortition {

Scale MakeScale(double low, double high, double begin, double end) {
  const double room = high > low ? 0.06 * (high - low) : 1;
  return {low - room, high + room, begin, end};
}

std::vector<double> Ticks(double low, double high) {
  if (!(high > low)) return {low};
  double step = std::pow(10, std::floor(std::log10((high - low) / 3)));
  for (const double factor : {2.0, 2.5}) {  // 1, 2, 5.
    if ((high - low) / step <= 8) break;
    step *= factor;
  }
  std::vector<double> ticks;
  const double first = std::ceil(low / step);
  for (int k = 0; k <= 8 && (first + k) * step <= high; ++k) {
    ticks.push_back((first + k) * step + 0.0);  // No negative zero.
  }
  return ticks;
}

}  // namespace sortition
