#include "tests/sidecar/random_spool.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <random>

#include "absl/strings/str_cat.h"
#include "tests/sidecar/spool_testing.h"

namespace sortition::testing_sidecar {
namespace {

using Kind = JoinEvent::Kind;

constexpr int64_t kHalfSecond = kSecond / 2;
constexpr int64_t kStartUs = 1000 * kSecond;
constexpr int kDecisions = 45;

class Maker {
 public:
  Maker(SpoolKind kind, uint32_t seed) : kind_(kind), random_(seed) {}

  RandomSpool Make() {
    MakeJumps();
    for (int i = 0; i < kDecisions; ++i) AddDecision();
    for (int i = 0; i < kDecisions; ++i) AddFeedback();
    for (int i = 0; i < kDecisions / 2; ++i) AddShown();
    for (int i = 0; i < kDecisions; ++i) AddView();
    for (const auto& [arrival_us, event] : arrivals_) {
      spool_.events.push_back(event);
    }
    if (kind_ == SpoolKind::kTwoWriters) {
      CutForTwoWriters();
    } else {
      CutForOneWriter();
    }
    AddEnd();
    return std::move(spool_);
  }

 private:
  int64_t Below(int64_t bound) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(bound));
  }

  void MakeJumps() {
    if (kind_ != SpoolKind::kClockJumps) return;
    for (int64_t n = Below(3); n > 0; --n) {
      jumps_[kStartUs + Below(50) * kHalfSecond] =
          (Below(120) - 60) * kHalfSecond;
    }
    ahead_from_us_ = kStartUs + Below(50) * kHalfSecond;
    ahead_by_us_ = Below(2) * Below(16) * kHalfSecond;
  }

  // What the writer's clock shows.
  int64_t Stamp(int64_t time_us) const {
    int64_t offset_us = 0;
    for (const auto& [from_us, jump_us] : jumps_) {
      if (time_us >= from_us) offset_us += jump_us;
    }
    if (time_us >= ahead_from_us_ && time_us < ahead_from_us_ + kHalfSecond) {
      offset_us += ahead_by_us_;
    }
    return time_us + offset_us;
  }

  // Half a second with two writers, because their segments add as much.
  int64_t MostLag() const {
    return kind_ == SpoolKind::kTwoWriters ? kHalfSecond : kSecond;
  }

  void Add(JoinEvent event, int64_t time_us) {
    if (Below(8) == 0) time_us += Below(3) - 1;
    event.time_us = Stamp(time_us);
    int64_t lag_us = Below(3) * kHalfSecond;
    if (Below(4) == 0) lag_us = Below(kSecond);
    arrivals_.emplace(time_us + std::min(lag_us, MostLag()), event);
  }

  void AddDecision() {
    JoinEvent event;
    event.kind = Kind::kDecision;
    event.decision_id = absl::StrCat("d", decided_.size());
    event.answer = 7 + static_cast<uint64_t>(Below(2));
    int64_t time_us = kStartUs + Below(50) * kHalfSecond;
    if (!decided_.empty() && Below(4) == 0) {
      const auto& [id, first_us] = decided_[Below(std::ssize(decided_))];
      event.decision_id = id;
      time_us = first_us + Below(50) * kHalfSecond;
    }
    decided_.emplace_back(event.decision_id, time_us);
    Add(event, time_us);
  }

  // Aims a report at a decision, from 12 s early to 23 s late, or at nobody.
  int64_t Aim(JoinEvent* event) {
    const auto& [id, decided_us] = decided_[Below(std::ssize(decided_))];
    event->decision_id = Below(8) == 0 ? absl::StrCat("x", Below(3)) : id;
    const int64_t halves = Below(2) == 0 ? Below(21) : Below(70) - 24;
    return decided_us + halves * kHalfSecond;
  }

  void AddFeedback() {
    JoinEvent event;
    event.kind = Kind::kFeedback;
    event.reward = static_cast<double>(Below(9)) - 3;
    if (Below(4) == 0) {
      event.index = static_cast<uint32_t>(Below(kNumCandidates + 2));
    }
    event.feedback_id = absl::StrCat("f", num_feedback_++);
    const int64_t time_us = Aim(&event);
    Add(event, time_us);
    if (Below(4) != 0) return;
    // Sent again; a broken client may say something else under the same id.
    if (Below(3) == 0) event.reward += 1;
    if (Below(5) == 0) event.decision_id = "x0";
    Add(event, time_us + Below(50) * kHalfSecond);
  }

  // Up to three reports of one decision, in any order.
  void AddShown() {
    JoinEvent event;
    event.kind = Kind::kShown;
    const int64_t time_us = Aim(&event);
    for (int64_t reports = 1 + Below(3); reports > 0; --reports) {
      SayWhatWasShown(&event);
      Add(event, time_us + Below(6) * kHalfSecond);
    }
  }

  // Nothing, how far the user looked, or a page, which may say so, too. Pages
  // overlap, follow each other, or have gaps between them.
  void SayWhatWasShown(JoinEvent* event) {
    event->shown.clear();
    event->first_rank = 0;
    event->seen_ranks.reset();
    event->not_shown = Below(6) == 0;
    if (event->not_shown) return;
    if (Below(3) == 0) event->seen_ranks = static_cast<uint32_t>(1 + Below(9));
    if (event->seen_ranks.has_value() && Below(2) == 0) return;
    event->first_rank = static_cast<uint32_t>(2 * Below(4));
    for (int64_t ranks = 1 + Below(4); ranks > 0; --ranks) {
      event->shown.push_back(static_cast<uint32_t>(Below(9)));
    }
    // A report of an empty list says that nothing was shown.
    if (Below(12) != 0 || event->seen_ranks.has_value()) return;
    event->first_rank = 0;
    event->shown.clear();
  }

  void AddView() {
    JoinEvent event;
    event.kind = Kind::kView;
    event.answer = 20 + static_cast<uint64_t>(Below(3));
    const int64_t time_us = Aim(&event);
    Add(event, time_us);
    // The decision was made again.
    if (Below(4) == 0) Add(event, time_us + Below(4) * kHalfSecond);
  }

  void CutForOneWriter() {
    const size_t size = spool_.events.size();
    for (size_t begin = 0; begin < size;) {
      const size_t end = std::min(size, begin + 1 + Below(20));
      spool_.segments.push_back({"server", begin, end, Below(4) != 0});
      begin = end;
    }
  }

  // What arrives within half a second is in two segments, the second writer's
  // behind the first's.
  void CutForTwoWriters() {
    spool_.events.clear();
    auto begin = arrivals_.begin();
    while (begin != arrivals_.end()) {
      const auto end = arrivals_.upper_bound(begin->first + kHalfSecond);
      std::vector<JoinEvent> of_writer[2];
      for (auto it = begin; it != end; ++it) {
        of_writer[Below(2)].push_back(it->second);
      }
      for (const std::vector<JoinEvent>& events : of_writer) {
        const size_t first = spool_.events.size();
        spool_.events.insert(spool_.events.end(), events.begin(), events.end());
        spool_.segments.push_back({&events == of_writer ? "a" : "b", first,
                                   spool_.events.size(), Below(4) != 0});
      }
      begin = end;
    }
  }

  void AddEnd() {
    JoinEvent end;
    end.decision_id = "end";
    for (const JoinEvent& event : spool_.events) {
      end.time_us = std::max(end.time_us, event.time_us + 100 * kSecond);
    }
    const size_t size = spool_.events.size();
    spool_.events.push_back(end);
    spool_.segments.push_back({"z", size, size + 1, true});
  }

  const SpoolKind kind_;
  std::mt19937 random_;
  std::map<int64_t, int64_t> jumps_;
  int64_t ahead_from_us_ = 0;
  int64_t ahead_by_us_ = 0;
  std::vector<std::pair<std::string, int64_t>> decided_;
  int num_feedback_ = 0;
  std::multimap<int64_t, JoinEvent> arrivals_;
  RandomSpool spool_;
};

}  // namespace

RandomSpool MakeRandomSpool(SpoolKind kind, uint32_t seed) {
  return Maker(kind, seed).Make();
}

log::v1::LogRecord RecordOf(const JoinEvent& event) {
  switch (event.kind) {
    case Kind::kDecision: {
      log::v1::LogRecord record =
          DecisionRecord(event.decision_id, event.time_us, event.answer);
      if (event.answer == kAbstention) {
        record.mutable_decision()->set_action_kind(log::v1::SELECT);
        record.mutable_decision()->set_action(0, -1);
      }
      return record;
    }
    case Kind::kShown: {
      log::v1::LogRecord record =
          ShownRecord(event.decision_id, event.time_us, event.not_shown);
      log::v1::Shown& shown = *record.mutable_shown();
      shown.mutable_shown()->Assign(event.shown.begin(), event.shown.end());
      shown.set_first_rank(event.first_rank);
      if (event.seen_ranks.has_value()) shown.set_seen_ranks(*event.seen_ranks);
      return record;
    }
    case Kind::kFeedback: {
      log::v1::LogRecord record = FeedbackRecord(
          event.feedback_id, event.decision_id, event.time_us, event.reward);
      if (event.index.has_value()) {
        record.mutable_feedback()->set_index(*event.index);
      }
      return record;
    }
    case Kind::kView:
      return ViewRecordOf(event.decision_id, event.time_us, event.answer);
    case Kind::kLook:
      break;
  }
  return {};
}

}  // namespace sortition::testing_sidecar
