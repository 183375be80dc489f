#pragma once
// Finds roots of sums of clipped lines, which allocate a total among items.
#include <algorithm>
#include <cmath>

namespace sortition {

// The value and slope of a non-decreasing piecewise linear function at a point.
struct ClippedSum {
  double value;
  double slope;
};

// An interval that holds the root: value(low) <= total <= value(high). `start`
// is the first guess.
struct ClippedSumBracket {
  double low;
  double high;
  double start;
  double total;
  double tolerance;  // Allowed error of the value; rounding error at least.
};

// Returns t with |evaluate(t).value - total| <= tolerance, or as close as
// doubles permit; an end of the bracket if there is no root inside. Uses
// Newton's method within a bracket that shrinks, which is exact once it reaches
// the piece that has the root.
template <typename Evaluate>
double SolveClippedSum(const ClippedSumBracket& bracket, Evaluate evaluate) {
  constexpr int kMaxSteps = 120;  // Bisection alone needs some 60.
  double low = bracket.low;
  double high = bracket.high;
  double t = std::clamp(bracket.start, low, high);
  double last_error = HUGE_VAL;
  for (int step = 0; step < kMaxSteps; ++step) {
    const ClippedSum at = evaluate(t);
    const double error = bracket.total - at.value;
    if (std::abs(error) <= bracket.tolerance) break;
    (error > 0 ? low : high) = t;
    const double newton =
        t + error / at.slope;  // This is not finite on a flat piece.
    const bool halved = std::abs(error) <= last_error / 2;
    last_error = std::abs(error);
    const double middle = low + (high - low) / 2;
    const double next =
        halved && newton > low && newton < high ? newton : middle;
    if (next == t) break;
    t = next;
  }
  return t;
}

}  // namespace sortition
