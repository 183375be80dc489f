#pragma once
// exp and log with the same bits on every machine: additions, multiplications
// and divisions of IEEE doubles in a fixed order, never fused. The C library's
// differ between processors (with and without FMA) and releases, and one bit is
// enough to break the replay of a logged decision. Reductions and arguments as
// in FDLIBM; error below 1 ulp for Exp and Log, 4 ulp for Log1p and Expm1.
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

// Element by element, in place; the same bits as the functions above.
void ExpInPlace(std::span<double> values);
// Requires normal numbers (no subnormals).
void LogInPlace(std::span<double> values);
// Requires numbers in [0, 1].
void Log1pInPlace(std::span<double> values);

// In eight lanes (element i in lane i mod 8), added up pairwise at the end.
double Sum(std::span<const double> values);

// Largest; requires values not empty, no NaN.
double Max(std::span<const double> values);

}  // namespace sortition::stable
