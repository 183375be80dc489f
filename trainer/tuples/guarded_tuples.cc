#include "trainer/tuples/guarded_tuples.h"

namespace sortition {

void GuardedTuples::Note(const TuplePlace& place,
                         const log::v1::Decision& decision, bool action_shown) {
  if (rewards_.limits().empty()) return;
  auto& noted = noted_[place.subsample];
  noted =
      rewards_.NoteUsed(decision.decision_id(), decision.time_us(), &found_);
  for (std::optional<double>& reward : noted) {
    if (reward.has_value() && !action_shown) reward = 0;
  }
}

std::vector<GuardedReward> GuardedTuples::Start() const {
  std::vector<GuardedReward> guarded;
  for (size_t g = 0; g < rewards_.limits().size(); ++g) {
    const auto& [name, allowed] = rewards_.limits()[g];
    const RewardFile& file = rewards_.files()[g];
    guarded.push_back({.name = name,
                       .allowed = allowed,
                       .min = file.min(),
                       .max = file.max(),
                       .period = g < found_.size() ? found_[g].PeriodText(file)
                                                   : file.PeriodText()});
  }
  return guarded;
}

void GuardedTuples::Take(const TuplePlace& place,
                         std::vector<GuardedReward>* guarded) const {
  for (size_t g = 0; g < guarded->size(); ++g) {
    (*guarded)[g].of_test.push_back(noted_.at(place.subsample)[g]);
  }
}

}  // namespace sortition
