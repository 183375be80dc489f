#include "trainer/tuples/warmup_sample.h"

#include <iterator>
#include <utility>

namespace sortition {

void WarmupSample::Add(double hash, const log::v1::Decision& decision) {
  if (hash >= end_) return;
  const auto [place, inserted] = queries_.emplace(hash, decision);
  if (inserted) bytes_ += place->second.SpaceUsedLong();
  while (queries_.size() > most_queries_ ||
         static_cast<double>(bytes_) > most_bytes_) {
    // Nothing beyond this hash from now on: their order does not matter.
    const auto last = std::prev(queries_.end());
    end_ = last->first;
    bytes_ -= last->second.SpaceUsedLong();
    queries_.erase(last);
  }
}

std::vector<log::v1::Decision> WarmupSample::Take() {
  std::vector<log::v1::Decision> queries;
  for (auto& [hash, decision] : queries_) {
    queries.push_back(std::move(decision));
  }
  queries_.clear();
  bytes_ = 0;
  return queries;
}

}  // namespace sortition
