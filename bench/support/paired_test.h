#pragma once
// Is one method better than another over the same runs?
#include <span>

namespace sortition {

struct PairedTest {
  double t = 0;  // Of the mean difference a - b.
  double p = 0;  // One tail: of a t as large, were the means equal.
};

// Student's t-test of the differences a[i] - b[i]. Requires two or more pairs
// whose differences are not all the same.
PairedTest TestPairs(std::span<const double> a, std::span<const double> b);

}  // namespace sortition
