#pragma once
// exp and log with the same bits on every machine: additions, multiplications
// and divisions of IEEE doubles in a fixed order, never fused. Those of the C
// library differ between processors (with and without FMA) and releases, and
// one bit is enough to break the replay of a logged decision. Argument
// reductions and polynomials are those of FDLIBM; the error is below 1 ulp for
// Exp and Log, 4 ulp for Log1p and Expm1.
#include <span>

namespace sortition::stable {

// e^x for x <= 709; 0 below -708, where e^x is about to be subnormal.
double Exp(double x);

// Natural logarithm; requires 0 < x < infinity.
double Log(double x);

// log(1 + x) without cancellation; requires -1 < x < infinity.
double Log1p(double x);

// e^x - 1 without cancellation; requires x <= 709.
double Expm1(double x);

// log(1 + e^x) for any finite x or -infinity: the logarithm of a sum relative
// to one of its terms.
double Softplus(double x);

// log(e^a + e^b); either may be -infinity.
double LogAddExp(double a, double b);

// Apply the functions above to each element in place, with the same bits.
void ExpInPlace(std::span<double> values);
// Requires normal numbers (no subnormals).
void LogInPlace(std::span<double> values);
// Requires numbers in [0, 1].
void Log1pInPlace(std::span<double> values);

// Returns the sum, in eight lanes (element i in lane i mod 8) that are added up
// pairwise at the end.
double Sum(std::span<const double> values);

// Returns the largest value. Requires at least one, and no NaN.
double Max(std::span<const double> values);

}  // namespace sortition::stable
