// How a joiner takes what shadows think of a decision. A view never keeps a
// window open, and never says that feedback may be missing.
#include <algorithm>

#include "sidecar/join/joiner.h"

namespace sortition {

void Joiner::AddView(SpoolPlace place, absl::string_view decision_id,
                     int64_t time_us, uint64_t version) {
  time_us = Correct(time_us);
  AdvanceTo(time_us);
  const auto it = known_.find(HashBytes(decision_id));
  if (it == known_.end() || !IsKnownAt(it->second, time_us)) {
    // It was lost, or is too old. A view is never before its decision.
    ++counts_.unknown_views;
    return;
  }
  const Known& known = it->second;
  if (time_us > known.time_us + window_us_ || known.state == State::kEmitted) {
    ++counts_.late_views;
    return;
  }
  // Otherwise it is in the tuple that an earlier process wrote.
  if (known.state != State::kPending) return;
  Pending& pending = queue_[known.number - first_number_];
  if (!pending.facts.is_kept) return;
  std::vector<JoinedView>& views = pending.views;
  const auto at = std::lower_bound(
      views.begin(), views.end(), version,
      [](const JoinedView& view, uint64_t v) { return view.version < v; });
  if (at != views.end() && at->version == version) {
    ++counts_.duplicate_views;
    return;
  }
  ++counts_.views;
  Need(place);
  views.insert(at, {place, version});
}

}  // namespace sortition
