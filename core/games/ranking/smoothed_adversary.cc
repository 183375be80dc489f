#include "core/games/ranking/smoothed_adversary.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/games/ranking/clipped_sum.h"

namespace sortition {

absl::StatusOr<double> SmoothAdversary(
    std::span<const double> psi, std::span<const double> expected_discounts,
    const PositivesBound& positives, double mu, std::span<double> q) {
  RETURN_IF_ERROR(CheckPotentials(psi));
  RETURN_IF_ERROR(CheckPositives(positives, psi.size()));
  if (!(mu > 0 && mu < HUGE_VAL)) {
    return absl::InvalidArgumentError(
        absl::StrCat("mu is ", mu, ", must be finite and above 0"));
  }
  CHECK(expected_discounts.size() == psi.size() && q.size() == psi.size());
  const size_t n = psi.size();
  const auto excess = [&](size_t i) { return expected_discounts[i] - psi[i]; };
  double base = 0;  // ν = base + μ t.
  const auto share = [&](size_t i, double t) {
    return (base - excess(i)) / mu + t;
  };
  const auto sum_at = [&](double t) {
    ClippedSum sum{0, 0};
    for (size_t i = 0; i < n; ++i) {
      const double value = share(i, t);
      sum.value += std::clamp(value, 0.0, 1.0);
      sum.slope += value > 0 && value < 1 ? 1 : 0;
    }
    return sum;
  };
  const double free = sum_at(0).value;
  const double total = std::clamp(
      free, positives.fewest, std::min(positives.most, static_cast<double>(n)));
  double t = 0;
  if (total != free) {
    // At ν = v_(j) at most j - 1 of the q are above 0; at ν = v_(j) + μ, j of
    // them are at 1.
    const auto rank = static_cast<size_t>(std::max(std::ceil(total) - 1, 0.0));
    for (size_t i = 0; i < n; ++i) q[i] = excess(i);
    const auto place = q.begin() + static_cast<std::ptrdiff_t>(rank);
    std::nth_element(q.begin(), place, q.end());
    base = *place;
    const double tolerance = 1e-16 * static_cast<double>(n);
    t = SolveClippedSum({0, 1, 0.5, total, tolerance}, sum_at);
  }
  double value = 0;
  for (size_t i = 0; i < n; ++i) {
    q[i] = std::clamp(share(i, t), 0.0, 1.0);
    if (q[i] > 0) value += q[i] * (excess(i) + mu / 2 * q[i]);
  }
  return value;
}

}  // namespace sortition
