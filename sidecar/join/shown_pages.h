#pragma once
// Several reports of what was shown of one decision, as one.
#include <cstdint>
#include <vector>

#include "sortition/log/v1/log.pb.h"

namespace sortition {

// Returns whether a report only says how far the user looked: the order was
// shown as decided.
inline bool IsViewportReport(const log::v1::Shown& report) {
  return report.has_seen_ranks() && report.shown().empty() &&
         !report.not_shown();
}

struct MergedShown {
  log::v1::Shown shown;
  uint32_t pages_left_out = 0;  // Those beyond a gap.
};

// Puts the reports of one decision together: the page with the smallest
// first_rank, and behind it the pages that follow without a gap. A rank that
// two pages hold is that of the page that begins earlier. Pages beyond a gap
// are left out, but not how far they say that the user looked: seen_ranks is
// the largest of all reports. The time is that of the earliest report that is
// not left out. A first page that says that nothing was shown stands alone:
// everything else is left out.
//
// Requires at least one report, and no two pages with one first_rank. The
// result does not depend on the order of the reports, if at most one of them is
// a viewport report. One valid report is returned as it is.
MergedShown MergeShown(std::vector<log::v1::Shown> reports);

}  // namespace sortition
