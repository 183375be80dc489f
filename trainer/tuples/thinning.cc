#include "trainer/tuples/thinning.h"

#include "core/base/hash.h"
#include "process/log.h"

namespace sortition {

double KeepProbability(const log::v1::BanditTuple& tuple) {
  return tuple.keep_probability() == 0 ? 1 : tuple.keep_probability();
}

absl::StatusOr<std::optional<LeftOutReason>> Thinning::ReasonToSkip(
    const log::v1::BanditTuple& tuple) {
  const double probability = KeepProbability(tuple);
  if (!(probability > 0 && probability <= 1)) {
    return LeftOutReason::kBadKeepProbability;
  }
  if (probability < probability_) {
    LogInfo("reading a sample of the decisions",
            {{"keep_probability", probability}});
    probability_ = probability;
    return absl::AbortedError("smaller keep_probability");
  }
  const log::v1::Decision& decision = tuple.decision();
  if (probability > probability_ &&
      KeepNumber(decision.unit_id(), decision.decision_id()) >= probability_) {
    return LeftOutReason::kThinned;
  }
  return std::nullopt;
}

}  // namespace sortition
