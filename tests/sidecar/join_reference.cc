#include "tests/sidecar/join_reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <utility>

namespace sortition::testing_sidecar {
namespace {

using log::v1::LateFeedback;
using Kind = JoinEvent::Kind;

constexpr int64_t kLatestTimeUs = int64_t{1} << 61;

class Reference {
 public:
  Reference(const std::vector<JoinEvent>& events,
            const config::v1::JoinOptions& options)
      : events_(events),
        options_(options),
        window_us_(std::llround(options.reward_wait_time_seconds() * 1e6)),
        slack_us_(std::llround(options.slack_seconds() * 1e6)) {}

  JoinResult Join() {
    StampEvents();
    for (size_t i = 0; i < events_.size(); ++i) {
      if (events_[i].kind == Kind::kDecision) TakeDecision(i);
    }
    for (size_t i = 0; i < events_.size(); ++i) {
      if (events_[i].kind == Kind::kShown) TakeReport(i);
      if (events_[i].kind == Kind::kFeedback && IsNewFeedback(i)) TakeReport(i);
      if (events_[i].kind == Kind::kView) TakeView(i);
    }
    for (const auto& [decision, reports] : joined_) Close(decision, reports);
    return result_;
  }

 private:
  // Fills in the times as they count, and the watermark after each event.
  void StampEvents() {
    int64_t watermark = 0;
    int64_t latest = std::numeric_limits<int64_t>::max();
    for (const JoinEvent& event : events_) {
      int64_t time = event.time_us;
      if (event.kind == Kind::kLook) {
        latest = time + std::llround(options_.max_lead_seconds() * 1e6);
      } else if (time > latest) {
        ++result_.counts.corrected_times;
        time = latest;
      }
      time = std::clamp<int64_t>(time, 0, kLatestTimeUs);
      times_.push_back(time);
      watermark = std::max(watermark, time);
      watermarks_.push_back(watermark);
    }
  }

  // Is an event that was read at `read` over before the event `now`?
  bool IsOverBefore(size_t read, size_t now) const {
    return now > 0 &&
           watermarks_[now - 1] > watermarks_[read] + window_us_ + slack_us_;
  }

  // The last decision with this id, before the event `now`, whose two windows
  // include its time.
  std::optional<size_t> KnownDecision(const std::string& id, size_t now) const {
    std::optional<size_t> known;
    for (const auto& [decision, reports] : joined_) {
      if (decision < now && events_[decision].decision_id == id &&
          times_[now] <= times_[decision] + 2 * window_us_) {
        known = decision;
      }
    }
    return known;
  }

  void TakeDecision(size_t i) {
    const std::optional<size_t> first =
        KnownDecision(events_[i].decision_id, i);
    if (!first.has_value()) {
      joined_[i];
      ++result_.counts.decisions;
      return;
    }
    ++result_.counts.duplicate_decisions;
    if (times_[i] <= times_[*first] + window_us_ &&
        events_[i].answer != events_[*first].answer &&
        !IsOverBefore(*first, i)) {
      ambiguous_.insert(*first);
    }
  }

  bool IsNewFeedback(size_t i) {
    for (const size_t first : feedback_) {
      if (events_[first].feedback_id == events_[i].feedback_id &&
          times_[i] <= times_[first] + 2 * window_us_) {
        ++result_.counts.duplicate_feedback;
        return false;
      }
    }
    feedback_.push_back(i);
    return true;
  }

  void TakeReport(size_t i) {
    const std::optional<size_t> known =
        KnownDecision(events_[i].decision_id, i);
    if (known.has_value()) {
      if (IsOverBefore(*known, i)) {
        Refuse(i, LateFeedback::AFTER_WINDOW);
      } else if (!Attach(i, *known)) {
        Forget(i);
      }
      return;
    }
    if (IsFull(i)) {
      ++result_.counts.held_overflow;
      Forget(i);
      Refuse(i, LateFeedback::UNKNOWN_DECISION);
      return;
    }
    const std::optional<size_t> decision = AwaitedDecision(i);
    held_until_[i] = decision.has_value() ? *decision : events_.size();
    if (decision.has_value()) {
      Attach(i, *decision);
    } else {
      Refuse(i, LateFeedback::UNKNOWN_DECISION);
    }
  }

  // A view waits for nobody.
  void TakeView(size_t i) {
    const std::optional<size_t> decision =
        KnownDecision(events_[i].decision_id, i);
    if (!decision.has_value()) {
      ++result_.counts.unknown_views;
    } else if (IsOverBefore(*decision, i) ||
               times_[i] > times_[*decision] + window_us_) {
      ++result_.counts.late_views;
    } else if (views_[*decision].emplace(events_[i].answer, i).second) {
      ++result_.counts.views;
    } else {
      ++result_.counts.duplicate_views;
    }
  }

  // Does the event `now` still find the record that was held at `held`? Its own
  // time moves the watermark first.
  bool IsHeldAt(size_t held, size_t now) const {
    return watermarks_[now] <= watermarks_[held] + window_us_ + slack_us_;
  }

  // The decision that comes while the record `i` waits for it.
  std::optional<size_t> AwaitedDecision(size_t i) const {
    for (const auto& [decision, reports] : joined_) {
      if (decision > i && IsHeldAt(i, decision) &&
          events_[decision].decision_id == events_[i].decision_id &&
          times_[i] >= times_[decision] - window_us_) {
        return decision;
      }
    }
    return std::nullopt;
  }

  // Do too many records wait already?
  bool IsFull(size_t i) const {
    size_t all = 0;
    size_t of_this_id = 0;
    for (const auto& [held, until] : held_until_) {
      if (until < i || !IsHeldAt(held, i)) continue;
      ++all;
      if (events_[held].decision_id == events_[i].decision_id) ++of_this_id;
    }
    return all >= options_.max_held() ||
           of_this_id >= options_.max_held_per_decision();
  }

  // The id of feedback that exceeds a limit is not remembered.
  void Forget(size_t i) { std::erase(feedback_, i); }

  // Returns false if the decision has too much feedback already.
  bool Attach(size_t i, size_t decision) {
    if (times_[i] > times_[decision] + window_us_) {
      Refuse(i, LateFeedback::AFTER_WINDOW);
      return true;
    }
    if (events_[i].kind == Kind::kShown) {
      AttachShown(i, decision);
      return true;
    }
    if (events_[i].index.value_or(0) >= kNumCandidates) {
      Refuse(i, LateFeedback::NO_SUCH_CANDIDATE);
      return true;
    }
    if (joined_[decision].size() >= options_.max_feedback_per_decision()) {
      Refuse(i, LateFeedback::TOO_MANY);
      return false;
    }
    ++result_.counts.feedback;
    joined_[decision].insert(i);
    return true;
  }

  // Of reports of one page the first counts, and how far the user looked by
  // those that say only that, and by pages that do not count.
  void AttachShown(size_t i, size_t decision) {
    const JoinEvent& event = events_[i];
    if (IsViewport(event)) {
      ++result_.counts.viewports;
      looks_[decision].push_back(i);
    } else if (pages_[decision].emplace(event.first_rank, i).second) {
      ++result_.counts.shown;
    } else {
      ++result_.counts.unused_shown;
      if (event.seen_ranks.value_or(0) > 0) looks_[decision].push_back(i);
    }
  }

  static bool IsViewport(const JoinEvent& event) {
    return event.seen_ranks.has_value() && event.shown.empty() &&
           !event.not_shown;
  }

  // Of the reports of viewports, the earliest of those with the most ranks.
  std::optional<size_t> FarthestLook(size_t decision) {
    std::optional<size_t> best;
    for (const size_t i : looks_[decision]) {
      const auto key = [this](size_t look) {
        return std::pair(*events_[look].seen_ranks, -times_[look]);
      };
      if (!best.has_value() || key(i) > key(*best)) best = i;
    }
    return best;
  }

  // Goes from rank to rank: what stands there is what the page says that
  // begins first.
  std::optional<log::v1::Shown> ShownOf(size_t decision) {
    const std::map<uint32_t, size_t>& pages = pages_[decision];
    const std::optional<size_t> look = FarthestLook(decision);
    if (pages.empty() && !look.has_value()) return std::nullopt;
    log::v1::Shown shown;
    shown.set_decision_id(events_[decision].decision_id);
    std::vector<size_t> used;
    uint32_t seen = look.has_value() ? *events_[*look].seen_ranks : 0;
    bool is_nothing = false;
    if (!pages.empty()) {
      const JoinEvent& first = events_[pages.begin()->second];
      is_nothing = first.shown.empty();
      shown.set_not_shown(first.not_shown);
      shown.set_first_rank(first.first_rank);
      uint32_t rank = first.first_rank;
      for (bool goes_on = true; goes_on;) {
        goes_on = false;
        for (const auto& [from, page] : pages) {
          const std::vector<uint32_t>& ranks = events_[page].shown;
          if (goes_on || rank < from || rank - from >= ranks.size()) continue;
          shown.add_shown(ranks[rank - from]);
          goes_on = true;
        }
        if (goes_on) ++rank;
      }
      for (const auto& [from, page] : pages) {
        seen = std::max(seen, events_[page].seen_ranks.value_or(0));
        const bool is_first = page == pages.begin()->second;
        if (is_first || (!is_nothing && from <= rank)) {
          used.push_back(page);
        } else {
          ++result_.counts.pages_left_out;
        }
      }
    }
    if (look.has_value() && !is_nothing) used.push_back(*look);
    if (seen > 0 && !is_nothing) shown.set_seen_ranks(seen);
    shown.set_time_us(events_[used.front()].time_us);
    for (const size_t i : used) {
      shown.set_time_us(std::min(shown.time_us(), events_[i].time_us));
    }
    return shown;
  }

  void Refuse(size_t i, LateFeedback::Reason reason) {
    if (events_[i].kind == Kind::kShown) {
      ++result_.counts.unused_shown;
      return;
    }
    ++(reason == LateFeedback::AFTER_WINDOW ? result_.counts.after_window
       : reason == LateFeedback::NO_SUCH_CANDIDATE
           ? result_.counts.no_such_candidate
       : reason == LateFeedback::TOO_MANY ? result_.counts.too_many
                                          : result_.counts.unknown_decision);
    result_.late[i] = reason;
  }

  void Close(size_t decision, const std::set<size_t>& feedback_of) {
    JoinResult::Tuple tuple;
    tuple.shown = ShownOf(decision);
    if (ambiguous_.contains(decision)) {
      ++result_.num_ambiguous;
      return;
    }
    std::set<size_t> reports = feedback_of;
    for (const auto& [rank, page] : pages_[decision]) reports.insert(page);
    const std::optional<size_t> look = FarthestLook(decision);
    if (look.has_value()) reports.insert(*look);
    tuple.reports.assign(reports.begin(), reports.end());
    for (const auto& [version, view] : views_[decision]) {
      tuple.views.push_back(view);
    }
    const std::vector<size_t> feedback(feedback_of.begin(), feedback_of.end());
    const bool was_shown =
        tuple.shown.has_value() &&
        (!tuple.shown->not_shown() || events_[decision].answer == kAbstention);
    if (options_.only_if_shown() && !was_shown) return;
    tuple.has_feedback = !feedback.empty();
    tuple.reward =
        feedback.empty() ? options_.default_reward() : Aggregate(feedback);
    result_.tuples[decision] = tuple;
  }

  double Aggregate(const std::vector<size_t>& feedback) const {
    std::vector<double> rewards;
    size_t earliest = feedback.front();
    double sum = 0;
    for (const size_t i : feedback) {
      if (times_[i] < times_[earliest]) earliest = i;
      sum += events_[i].reward;
      rewards.push_back(events_[i].reward);
    }
    switch (options_.aggregation()) {
      case config::v1::JoinOptions::EARLIEST:
        return events_[earliest].reward;
      case config::v1::JoinOptions::SUM:
        break;
      case config::v1::JoinOptions::MEAN:
        return sum / static_cast<double>(rewards.size());
      case config::v1::JoinOptions::MAX:
        return *std::max_element(rewards.begin(), rewards.end());
      case config::v1::JoinOptions::MIN:
        return *std::min_element(rewards.begin(), rewards.end());
    }
    return sum;
  }

  const std::vector<JoinEvent>& events_;
  const config::v1::JoinOptions& options_;
  const int64_t window_us_;
  const int64_t slack_us_;
  std::vector<int64_t> times_;
  std::vector<int64_t> watermarks_;
  std::map<size_t, std::set<size_t>> joined_;  // Feedback by decision.
  // By decision: pages by first rank; what says how far the user looked.
  std::map<size_t, std::map<uint32_t, size_t>> pages_;
  std::map<size_t, std::vector<size_t>> looks_;
  // By decision, then by version.
  std::map<size_t, std::map<uint64_t, size_t>> views_;
  std::set<size_t> ambiguous_;
  std::vector<size_t> feedback_;         // The first with its id.
  std::map<size_t, size_t> held_until_;  // Held records: when they leave.
  JoinResult result_;
};

}  // namespace

JoinResult ReferenceJoin(const std::vector<JoinEvent>& events,
                         const config::v1::JoinOptions& options) {
  return Reference(events, options).Join();
}

}  // namespace sortition::testing_sidecar
