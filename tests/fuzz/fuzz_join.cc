// Events for the joiner: each decision comes out once, as the reference says.
// Nothing is joined outside its window, and the counts add up.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "sidecar/join/joiner.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/join_bytes.h"
#include "tests/sidecar/join_reference.h"
#include "tests/sidecar/random_spool.h"

namespace sortition {
namespace {

using testing_sidecar::JoinEvent;
using testing_sidecar::JoinResult;
using testing_sidecar::ReferenceJoin;

constexpr int64_t kWindowUs = 10 * 1000000;

class Run {
 public:
  explicit Run(const JoinInput& input) : input_(input), joiner_(input.options) {
    for (size_t i = 0; i < input.events.size(); ++i) {
      Add(i);
      Collect();
    }
    joiner_.SetLatestTime(std::numeric_limits<int64_t>::max());
    joiner_.AdvanceTo(std::numeric_limits<int64_t>::max());
    Collect();
  }

  void CheckInvariants() const {
    const JoinCounts& counts = joiner_.counts();
    CHECK(joiner_.num_pending() == 0);
    CHECK(joiner_.OldestNeededSegment() ==
          std::numeric_limits<uint32_t>::max());
    CHECK(counts.decisions == closed_.size());
    std::map<JoinEvent::Kind, uint64_t> added;
    for (const JoinEvent& event : input_.events) ++added[event.kind];
    CHECK(added[JoinEvent::Kind::kDecision] ==
          counts.decisions + counts.duplicate_decisions);
    CHECK(added[JoinEvent::Kind::kShown] ==
          counts.shown + counts.unused_shown + counts.viewports);
    CHECK(added[JoinEvent::Kind::kFeedback] ==
          counts.feedback + counts.duplicate_feedback + counts.after_window +
              counts.unknown_decision);
    CHECK(added[JoinEvent::Kind::kView] ==
          counts.views + counts.duplicate_views + counts.late_views +
              counts.unknown_views);
    CHECK(late_.size() == counts.after_window + counts.unknown_decision);
    std::set<size_t> joined;
    uint64_t viewports = 0;
    for (const ClosedDecision& closed : closed_) {
      uint64_t of_decision = 0;
      for (const JoinedRecord& record : closed.records) {
        of_decision += record.is_shown && !record.rank.has_value();
        CHECK(record.time_us <= closed.time_us + kWindowUs);
        CHECK(joined.insert(record.place.offset).second);
        CHECK(!late_.contains(record.place.offset));
      }
      CHECK(of_decision <= 1);
      viewports += of_decision;
    }
    CHECK(joined.size() == counts.shown + viewports + counts.feedback);
  }

  void CompareWith(const JoinResult& expected) const {
    std::set<size_t> written;
    for (const ClosedDecision& closed : closed_) {
      if (!closed.is_wanted || closed.is_ambiguous) continue;
      written.insert(closed.place.offset);
      const auto it = expected.tuples.find(closed.place.offset);
      CHECK(it != expected.tuples.end());
      CHECK(closed.reward == it->second.reward);
      CHECK(closed.has_feedback == it->second.has_feedback);
      std::vector<size_t> reports;
      for (const JoinedRecord& record : closed.records) {
        reports.push_back(record.place.offset);
      }
      std::sort(reports.begin(), reports.end());
      CHECK(reports == it->second.reports);
      CHECK(closed.shown.has_value() == it->second.shown.has_value());
      CHECK(!closed.shown.has_value() ||
            closed.shown->SerializeAsString() ==
                it->second.shown->SerializeAsString());
      std::vector<size_t> views;
      for (const JoinedView& view : closed.views) {
        views.push_back(view.place.offset);
      }
      CHECK(views == it->second.views);
    }
    CHECK(written.size() == expected.tuples.size());
    CHECK(late_ == expected.late);
    const JoinCounts& counts = joiner_.counts();
    CHECK(counts.shown == expected.counts.shown);
    CHECK(counts.viewports == expected.counts.viewports);
    CHECK(counts.pages_left_out == expected.counts.pages_left_out);
    CHECK(counts.duplicate_feedback == expected.counts.duplicate_feedback);
    CHECK(counts.late_views == expected.counts.late_views);
    CHECK(counts.duplicate_views == expected.counts.duplicate_views);
    CHECK(counts.held_overflow == expected.counts.held_overflow);
    CHECK(counts.corrected_times == expected.counts.corrected_times);
  }

 private:
  void Add(size_t i) {
    const JoinEvent& event = input_.events[i];
    const SpoolPlace place = {1 + static_cast<uint32_t>(i / 16), i};
    switch (event.kind) {
      case JoinEvent::Kind::kDecision:
        joiner_.AddDecision(place, event.decision_id, event.time_us,
                            {.answer = event.answer});
        return;
      case JoinEvent::Kind::kShown:
        joiner_.AddShown(place, testing_sidecar::RecordOf(event).shown());
        return;
      case JoinEvent::Kind::kFeedback: {
        log::v1::Feedback feedback;
        feedback.set_feedback_id(event.feedback_id);
        feedback.set_decision_id(event.decision_id);
        feedback.set_time_us(event.time_us);
        feedback.set_reward(event.reward);
        joiner_.AddFeedback(place, feedback);
        return;
      }
      case JoinEvent::Kind::kView:
        joiner_.AddView(place, event.decision_id, event.time_us, event.answer);
        return;
      case JoinEvent::Kind::kLook:
        joiner_.SetLatestTime(
            event.time_us +
            static_cast<int64_t>(1e6 * input_.options.max_lead_seconds()));
        joiner_.AdvanceTo(event.time_us);
        return;
    }
  }

  void Collect() {
    while (const auto late = joiner_.PopLate()) {
      CHECK(late_.emplace(late->place.offset, late->reason).second);
    }
    while (auto closed = joiner_.PopClosed()) {
      // Decisions leave in the order of the spool, each once.
      CHECK(closed_.empty() || closed_.back().place < closed->place);
      closed_.push_back(*std::move(closed));
    }
  }

  const JoinInput& input_;
  Joiner joiner_;
  std::vector<ClosedDecision> closed_;
  std::map<size_t, log::v1::LateFeedback::Reason> late_;
};

}  // namespace
}  // namespace sortition

FUZZ_TARGET(join) {
  using namespace sortition;  // NOLINT: the function must be outside.
  const JoinInput input = DecodeJoin(data, size);
  const Run run(input);
  run.CheckInvariants();
  run.CompareWith(testing_sidecar::ReferenceJoin(input.events, input.options));
}
