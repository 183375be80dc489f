#pragma once
// Reports of what was shown of the decision "d".
#include <cstdint>
#include <vector>

#include "sortition/log/v1/log.pb.h"

namespace sortition {

inline log::v1::Shown EmptyReport(int64_t time_us) {
  log::v1::Shown shown;
  shown.set_decision_id("d");
  shown.set_time_us(time_us);
  return shown;
}

inline log::v1::Shown Page(uint32_t first_rank,
                           const std::vector<uint32_t>& documents,
                           int64_t time_us = 100, uint32_t seen_ranks = 0) {
  log::v1::Shown shown = EmptyReport(time_us);
  shown.set_first_rank(first_rank);
  shown.mutable_shown()->Assign(documents.begin(), documents.end());
  if (seen_ranks > 0) shown.set_seen_ranks(seen_ranks);
  return shown;
}

inline log::v1::Shown Viewport(uint32_t seen_ranks, int64_t time_us = 100) {
  log::v1::Shown shown = EmptyReport(time_us);
  shown.set_seen_ranks(seen_ranks);
  return shown;
}

inline log::v1::Shown NotShown(int64_t time_us = 100) {
  log::v1::Shown shown = EmptyReport(time_us);
  shown.set_not_shown(true);
  return shown;
}

}  // namespace sortition
