#include "trainer/tuples/tuple_parts.h"

#include <algorithm>
#include <string>

#include "core/base/hash.h"

namespace sortition {

TuplePlace PlaceInLog(const log::v1::Decision& decision) {
  const std::string& id = decision.decision_id();
  const std::string& unit = decision.unit_id();
  return {.subsample = UnitInterval(StableHash(HashDomain::kSubsample, {id})),
          .split = UnitInterval(
              StableHash(HashDomain::kSplit, {unit.empty() ? id : unit})),
          .version = decision.version(),
          .time_us = decision.time_us(),
          .is_interleaved = decision.has_interleaving(),
          .has_unit = !unit.empty(),
          .with_baseline = decision.has_baseline()};
}

void TupleParts::SetTimes(std::vector<int64_t> times_us) {
  if (times_us.empty()) return;
  const auto older = static_cast<ptrdiff_t>(
      (1 - selection_->judged_share()) * static_cast<double>(times_us.size()));
  std::nth_element(times_us.begin(), times_us.begin() + older, times_us.end());
  judged_from_us_ = times_us[static_cast<size_t>(older)];
}

bool TupleParts::MayTrainOrValidate(const TuplePlace& place) const {
  return selection_->by_time() || !place.evaluates ||
         selection_->PartOf(place.split) != Part::kTest;
}

std::optional<LeftOutReason> TupleParts::Place(const TuplePlace& place,
                                               Part* part) const {
  if (selection_->by_time()) return PlaceByTime(place, part);
  *part = selection_->PartOf(place.split);
  if (place.evaluates || *part == Part::kTrain) return std::nullopt;
  if (place.has_unit) return LeftOutReason::kHeldOut;
  *part = Part::kTrain;
  return std::nullopt;
}

std::optional<LeftOutReason> TupleParts::PlaceByTime(const TuplePlace& place,
                                                     Part* part) const {
  const bool is_new = place.time_us >= judged_from_us_;
  *part = place.has_unit ? selection_->PartOf(place.split)
          : is_new       ? selection_->JudgingPartOf(place.split)
                         : Part::kTrain;
  if (*part == Part::kTrain) {
    if (is_new) return LeftOutReason::kTooNew;
    return std::nullopt;
  }
  if (!is_new) return LeftOutReason::kTooOld;
  if (place.evaluates) return std::nullopt;
  return place.has_unit ? LeftOutReason::kHeldOut : LeftOutReason::kTooNew;
}

}  // namespace sortition
