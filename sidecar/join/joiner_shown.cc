// How a joiner takes reports of what was shown. It keeps no more of a decision
// than the result depends on; what it drops is never part of a result, so that
// its segment may be removed before a restart.
#include <iterator>
#include <utility>
#include <vector>

#include "sidecar/join/joiner.h"
#include "sidecar/join/shown_pages.h"

namespace sortition {
namespace {

// Of one decision. A broken front end must not fill the memory. One page alone
// is kept however large the server let it be.
constexpr size_t kMaxPages = 100;
constexpr size_t kMaxPageBytes = size_t{1} << 20;

// Returns what a page says of how far the user looked.
JoinedRecord ViewportOf(JoinedRecord page) {
  log::v1::Shown shown;
  shown.ParseFromString(page.bytes);
  shown.clear_shown();
  shown.clear_first_rank();
  page.bytes = shown.SerializeAsString();
  page.rank.reset();
  return page;
}

}  // namespace

void Joiner::AddShown(SpoolPlace place, const log::v1::Shown& shown) {
  const int64_t time_us = Correct(shown.time_us());
  AdvanceTo(time_us);
  JoinedRecord record{place, time_us, 0, true, shown.SerializeAsString()};
  if (!IsViewportReport(shown)) record.rank = shown.first_rank();
  if (!shown.not_shown()) record.seen_ranks = shown.seen_ranks();
  AddRecord(HashBytes(shown.decision_id()), std::move(record));
}

// Of too many pages those with the smallest ranks are kept, and none beyond one
// that was dropped, so that the order in which they come does not matter.
void Joiner::AttachShown(ShownReports* shown, JoinedRecord record) {
  if (!record.rank.has_value()) {
    ++counts_.viewports;
    AttachViewport(shown, std::move(record));
    return;
  }
  const uint32_t rank = *record.rank;
  if (rank >= shown->pages_end || shown->pages.contains(rank)) {
    LeaveOutPage(shown, std::move(record));
    return;
  }
  Need(record.place);
  shown->page_bytes += record.bytes.size();
  shown->pages.emplace(rank, std::move(record));
  if (!LimitPages(shown)) ++counts_.shown;
}

bool Joiner::LimitPages(ShownReports* shown) {
  bool has_dropped = false;
  while (shown->pages.size() > 1 && (shown->pages.size() > kMaxPages ||
                                     shown->page_bytes > kMaxPageBytes)) {
    const auto last = std::prev(shown->pages.end());
    shown->pages_end = last->first;
    JoinedRecord page = std::move(last->second);
    shown->pages.erase(last);
    shown->page_bytes -= page.bytes.size();
    Release(page.place);
    LeaveOutPage(shown, std::move(page));
    has_dropped = true;
  }
  return has_dropped;
}

void Joiner::LeaveOutPage(ShownReports* shown, JoinedRecord page) {
  ++counts_.unused_shown;
  if (page.seen_ranks > 0) AttachViewport(shown, ViewportOf(std::move(page)));
}

// Of reports with the same `seen_ranks` the earliest is kept.
void Joiner::AttachViewport(ShownReports* shown, JoinedRecord record) {
  std::optional<JoinedRecord>& kept = shown->viewport;
  const bool is_farther =
      !kept.has_value() || record.seen_ranks > kept->seen_ranks ||
      (record.seen_ranks == kept->seen_ranks && record.time_us < kept->time_us);
  if (!is_farther) return;
  Need(record.place);
  if (kept.has_value()) Release(kept->place);
  kept = std::move(record);
}

void Joiner::SetShown(ClosedDecision* closed) {
  std::vector<log::v1::Shown> reports;
  for (const JoinedRecord& record : closed->records) {
    if (record.is_shown) reports.emplace_back().ParseFromString(record.bytes);
  }
  if (reports.empty()) return;
  MergedShown merged = MergeShown(std::move(reports));
  counts_.pages_left_out += merged.pages_left_out;
  closed->shown = std::move(merged.shown);
}

}  // namespace sortition
