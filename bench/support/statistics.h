#pragma once
// Statistics of repeated measurements.
#include <span>
#include <utility>
#include <vector>

namespace sortition {

struct Spread {
  double median = 0;
  double lowest = 0;
  double highest = 0;
};

// Requires at least one value.
Spread SpreadOf(std::vector<double> values);
double MedianOf(std::vector<double> values);
double Mean(std::span<const double> values);

// Returns the exponent e of seconds ~ size^e, by least squares on the
// logarithms of the points (size, seconds). Requires two different sizes.
double GrowthExponent(std::span<const std::pair<double, double>> points);

struct PairedTest {
  double t = 0;               // Student's t of the mean difference a - b.
  double p = 0;               // One-tailed: P(T > t) if the means were equal.
  double difference = 0;      // Mean of a - b.
  double standard_error = 0;  // Of that mean.
};

// Tests by Student's t-test of the differences a[i] - b[i] whether one method
// is better than another over the same runs. Requires at least two pairs, whose
// differences must not all be the same.
PairedTest TestPairs(std::span<const double> a, std::span<const double> b);

}  // namespace sortition
