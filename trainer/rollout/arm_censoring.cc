#include "trainer/rollout/arm_censoring.h"

#include <cmath>

#include "absl/strings/str_format.h"
#include "core/counterfactual/confidence/clopper_pearson.h"
#include "trainer/tuples/scan/censored_share.h"

namespace sortition {

void ArmCensoring::Add(const UnitRound& round, RoundVoid why_void) {
  if (why_void == RoundVoid::kGone) return;
  Arms& arms = by_probability_[round.canary_probability];
  Arm& arm = round.is_canary ? arms.canary : arms.stable;
  ++arm.rounds;
  arm.censored += why_void == RoundVoid::kCensored ? 1 : 0;
}

std::optional<std::string> ArmCensoring::Difference() const {
  static const double confidence = std::erf(kMinStandardErrors / std::sqrt(2));
  for (const auto& [q, arms] : by_probability_) {
    const auto& [stable, canary] = arms;
    if (std::abs(canary.Share() - stable.Share()) <= kMinShareDifference) {
      continue;
    }
    const Interval interval = ClopperPearsonInterval(
        canary.censored, canary.censored + stable.censored, confidence);
    if (interval.lower <= q && q <= interval.upper) continue;
    return absl::StrFormat(
        "unknown for the first decisions of %.3g %% of the canary's units, and "
        "of %.3g %% of the stable version's",
        100 * canary.Share(), 100 * stable.Share());
  }
  return std::nullopt;
}

}  // namespace sortition
