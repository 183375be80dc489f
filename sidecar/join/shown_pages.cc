#include "sidecar/join/shown_pages.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace sortition {
namespace {

// Pages come by rank, and viewport reports behind them.
bool IsBefore(const log::v1::Shown& a, const log::v1::Shown& b) {
  return std::pair(IsViewportReport(a), a.first_rank()) <
         std::pair(IsViewportReport(b), b.first_rank());
}

// Appends what the page has beyond the end of `shown`. Returns false if it
// begins beyond that.
bool AppendPage(const log::v1::Shown& page, log::v1::Shown* shown) {
  const uint64_t end = uint64_t{shown->first_rank()} +
                       static_cast<uint64_t>(shown->shown_size());
  if (page.first_rank() > end) return false;
  for (uint64_t i = end - page.first_rank();
       i < static_cast<uint64_t>(page.shown_size()); ++i) {
    shown->add_shown(page.shown(static_cast<int>(i)));
  }
  return true;
}

}  // namespace

MergedShown MergeShown(std::vector<log::v1::Shown> reports) {
  CHECK(!reports.empty());
  std::stable_sort(reports.begin(), reports.end(), IsBefore);
  MergedShown merged;
  log::v1::Shown& shown = merged.shown;
  shown = std::move(reports.front());
  const bool is_nothing = shown.shown().empty() && !IsViewportReport(shown);
  uint32_t seen_ranks = shown.seen_ranks();
  int64_t time_us = shown.time_us();
  for (size_t i = 1; i < reports.size(); ++i) {
    const log::v1::Shown& report = reports[i];
    const bool is_page = !IsViewportReport(report);
    if (!report.not_shown()) {
      seen_ranks = std::max(seen_ranks, report.seen_ranks());
    }
    const bool is_taken =
        !is_nothing && (!is_page || AppendPage(report, &shown));
    if (is_taken) {
      time_us = std::min(time_us, report.time_us());
    } else if (is_page) {
      ++merged.pages_left_out;
    }
  }
  shown.set_time_us(time_us);
  if (is_nothing) {
    shown.clear_seen_ranks();
  } else if (seen_ranks > 0) {
    shown.set_seen_ranks(seen_ranks);
  }
  return merged;
}

}  // namespace sortition
