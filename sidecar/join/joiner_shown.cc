// How a joiner takes reports of what was shown. It keeps no more of a decision
// than the result depends on; what it drops is never part of a result, so that
// its segment may be removed before a restart.
#include <algorithm>
#include <utility>

#include "sidecar/join/joiner.h"
#include "sidecar/join/shown_pages.h"

namespace sortition {
namespace {

// Of one decision. A broken front end must not fill the memory. One page alone
// is kept however large the server let it be.
constexpr size_t kMostPages = 100;
constexpr size_t kMostPageBytes = size_t{1} << 20;

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
void Joiner::AttachShown(Pending* pending, JoinedRecord record) {
  if (!record.rank.has_value()) {
    ++counts_.viewports;
    AttachViewport(pending, std::move(record));
    return;
  }
  const bool is_known =
      std::any_of(pending->records.begin(), pending->records.end(),
                  [&](const JoinedRecord& other) {
                    return other.is_shown && other.rank == record.rank;
                  });
  if (is_known || *record.rank >= pending->pages_end) {
    LeaveOutPage(pending, std::move(record));
    return;
  }
  Need(record.place);
  pending->records.push_back(std::move(record));
  if (!LimitPages(pending)) ++counts_.shown;
}

bool Joiner::LimitPages(Pending* pending) {
  for (bool dropped = false;; dropped = true) {
    size_t num_pages = 0;
    size_t bytes = 0;
    auto last = pending->records.end();
    for (auto it = pending->records.begin(); it != pending->records.end();
         ++it) {
      if (!it->is_shown || !it->rank.has_value()) continue;
      ++num_pages;
      bytes += it->bytes.size();
      if (last == pending->records.end() || *last->rank < *it->rank) last = it;
    }
    const bool fits = num_pages <= kMostPages && bytes <= kMostPageBytes;
    if (fits || num_pages <= 1) return dropped;
    JoinedRecord page = std::move(*last);
    pending->records.erase(last);
    pending->pages_end = *page.rank;
    Release(page.place);
    LeaveOutPage(pending, std::move(page));
  }
}

void Joiner::LeaveOutPage(Pending* pending, JoinedRecord page) {
  ++counts_.unused_shown;
  if (page.seen_ranks > 0) AttachViewport(pending, ViewportOf(std::move(page)));
}

// Of reports that say the same the earliest is kept.
void Joiner::AttachViewport(Pending* pending, JoinedRecord record) {
  const auto kept =
      std::find_if(pending->records.begin(), pending->records.end(),
                   [](const JoinedRecord& other) {
                     return other.is_shown && !other.rank.has_value();
                   });
  if (kept == pending->records.end()) {
    Need(record.place);
    pending->records.push_back(std::move(record));
    return;
  }
  const bool is_farther =
      record.seen_ranks > kept->seen_ranks ||
      (record.seen_ranks == kept->seen_ranks && record.time_us < kept->time_us);
  if (!is_farther) return;
  Need(record.place);
  Release(kept->place);
  *kept = std::move(record);
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
