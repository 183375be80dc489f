#include "core/base/stable_math.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "core/base/check.h"

namespace sortition::stable {
namespace {

// log 2 in two parts: the first has 21 zero bits at its end, so that k ·
// kLn2High is exact for every exponent k.
constexpr double kLn2High = 6.93147180369123816490e-01;
constexpr double kLn2Low = 1.90821492927058770002e-10;
constexpr double kLog2E = 1.44269504088896338700;

// Below: 0 instead of a number about to be subnormal.
constexpr double kExpMin = -708;

// Branch-free, so that loops over them vectorise.

// e^x = 2^n e^r with |r| <= ½ log 2, and e^r = 1 + 2r / (2 - c(r)), FDLIBM
// e_exp.
inline __attribute__((always_inline)) double ExpKernel(double x) {
  constexpr double kP1 = 1.66666666666666019037e-01;
  constexpr double kP2 = -2.77777777770155933842e-03;
  constexpr double kP3 = 6.61375632143793436117e-05;
  constexpr double kP4 = -1.65339022054652515390e-06;
  constexpr double kP5 = 4.13813679705723846039e-08;
  constexpr double kRound = 0x1.8p52;  // Adding it rounds to an integer.
  const double clamped = x < kExpMin ? kExpMin : x;
  const double rounded = clamped * kLog2E + kRound;
  const double n = rounded - kRound;
  const double high = clamped - n * kLn2High;
  const double low = n * kLn2Low;
  const double r = high - low;
  const double t = r * r;
  const double c = r - t * (kP1 + t * (kP2 + t * (kP3 + t * (kP4 + t * kP5))));
  const double y = 1 - ((low - (r * c) / (2 - c)) - high);
  // n sits in the low bits of `rounded`; shifted left, only those remain.
  const uint64_t power = (std::bit_cast<uint64_t>(rounded) + 1023) << 52;
  return x < kExpMin ? 0 : y * std::bit_cast<double>(power);
}

// log x = k log 2 + log(1 + f), 1 + f in [√½, √2), FDLIBM e_log. Normal x only.
inline __attribute__((always_inline)) double LogKernel(double x) {
  constexpr double kLg1 = 6.666666666666735130e-01;
  constexpr double kLg2 = 3.999999999940941908e-01;
  constexpr double kLg3 = 2.857142874366239149e-01;
  constexpr double kLg4 = 2.222219843214978396e-01;
  constexpr double kLg5 = 1.818357216161805012e-01;
  constexpr double kLg6 = 1.531383769920937332e-01;
  constexpr double kLg7 = 1.479819860511658591e-01;
  constexpr uint64_t kOne = 0x3ff0000000000000;
  constexpr uint64_t kSqrtHalf = 0x3fe6a09e667f3bcd;
  constexpr uint64_t kFraction = 0x000fffffffffffff;
  const uint64_t bits = std::bit_cast<uint64_t>(x) + (kOne - kSqrtHalf);
  // The biased exponent as a double: put into the fraction of 2^52.
  const double k =
      std::bit_cast<double>((bits >> 52) | std::bit_cast<uint64_t>(0x1p52)) -
      (0x1p52 + 1023);
  const double f = std::bit_cast<double>((bits & kFraction) + kSqrtHalf) - 1;
  const double s = f / (2 + f);
  const double z = s * s;
  const double w = z * z;
  const double even = w * (kLg2 + w * (kLg4 + w * kLg6));
  const double odd = z * (kLg1 + w * (kLg3 + w * (kLg5 + w * kLg7)));
  const double half_square = 0.5 * f * f;
  return k * kLn2High -
         ((half_square - (s * (half_square + (even + odd)) + k * kLn2Low)) - f);
}

constexpr size_t kLanes = 8;

inline __attribute__((always_inline)) void ExpKernel(std::span<double> values) {
  double* const data = values.data();
  const size_t size = values.size();
  for (size_t i = 0; i < size; ++i) data[i] = ExpKernel(data[i]);
}

inline __attribute__((always_inline)) void LogKernel(std::span<double> values) {
  double* const data = values.data();
  const size_t size = values.size();
  for (size_t i = 0; i < size; ++i) data[i] = LogKernel(data[i]);
}

#if defined(__x86_64__)
// The same operations in the same order, so the same bits, only wider.
__attribute__((target("avx2"))) void ExpAvx2(std::span<double> values) {
  ExpKernel(values);
}
__attribute__((target("avx2"))) void LogAvx2(std::span<double> values) {
  LogKernel(values);
}
#endif

}  // namespace

double Exp(double x) { return ExpKernel(x); }

double Log(double x) {
  DCHECK(x > 0 && x <= std::numeric_limits<double>::max());
  if (x < std::numeric_limits<double>::min()) {
    return LogKernel(x * 0x1p54) - 54 * (kLn2High + kLn2Low);
  }
  return LogKernel(x);
}

// The rounding error of u = 1 + x is the same in log(u) and in u - 1, and
// cancels in their ratio [Higham02, sec. 1.14.1].
double Log1p(double x) {
  const double u = 1 + x;
  return u == 1 ? x : LogKernel(u) * (x / (u - 1));
}

double Expm1(double x) {
  const double u = ExpKernel(x);
  if (u == 1) return x;
  const double difference = u - 1;
  if (difference == -1) return -1;
  return difference * (x / LogKernel(u));
}

double Softplus(double x) {
  return x > 0 ? x + Log1p(ExpKernel(-x)) : Log1p(ExpKernel(x));
}

double LogAddExp(double a, double b) {
  const double high = a > b ? a : b;
  const double low = a > b ? b : a;
  if (low == -std::numeric_limits<double>::infinity()) return high;
  return high + Log1p(ExpKernel(low - high));
}

void ExpInPlace(std::span<double> values) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return ExpAvx2(values);
#endif
  ExpKernel(values);
}

void LogInPlace(std::span<double> values) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return LogAvx2(values);
#endif
  LogKernel(values);
}

void Log1pInPlace(std::span<double> values) {
  constexpr size_t kChunk = 64;
  double logarithms[kChunk];
  for (size_t begin = 0; begin < values.size(); begin += kChunk) {
    const size_t size =
        values.size() - begin < kChunk ? values.size() - begin : kChunk;
    double* const chunk = values.data() + begin;
    for (size_t i = 0; i < size; ++i) logarithms[i] = 1 + chunk[i];
    LogInPlace({logarithms, size});
    for (size_t i = 0; i < size; ++i) {
      const double u = 1 + chunk[i];
      chunk[i] = u == 1 ? chunk[i] : logarithms[i] * (chunk[i] / (u - 1));
    }
  }
}

double Sum(std::span<const double> values) {
  double lanes[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    for (size_t j = 0; j < kLanes; ++j) lanes[j] += values[i + j];
  }
  for (size_t j = 0; i + j < values.size(); ++j) lanes[j] += values[i + j];
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
         ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

double Max(std::span<const double> values) {
  DCHECK(!values.empty());
  double lanes[kLanes];
  std::fill(lanes, lanes + kLanes, values[0]);
  size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    for (size_t j = 0; j < kLanes; ++j) {
      lanes[j] = values[i + j] > lanes[j] ? values[i + j] : lanes[j];
    }
  }
  for (; i < values.size(); ++i) {
    lanes[0] = values[i] > lanes[0] ? values[i] : lanes[0];
  }
  return *std::max_element(lanes, lanes + kLanes);
}

}  // namespace sortition::stable
