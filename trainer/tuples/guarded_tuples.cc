#include "trainer/tuples/guarded_tuples.h"

namespace sortition {

void GuardedTuples::Note(const TuplePlace& place,
                         absl::string_view decision_id) {
  if (rewards_.limits().empty()) return;
  noted_[place.subsample] = rewards_.RewardsOf(decision_id);
}

std::vector<GuardedReward> GuardedTuples::Start() const {
  std::vector<GuardedReward> guarded;
  for (size_t g = 0; g < rewards_.limits().size(); ++g) {
    const auto& [name, allowed] = rewards_.limits()[g];
    const RewardFile& file = rewards_.files()[g];
    guarded.push_back({name, allowed, file.min(), file.max()});
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
