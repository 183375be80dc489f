#include "sidecar/join/joiner.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "core/base/check.h"
#include "core/base/micros.h"
#include "sidecar/join/rank_rewards.h"

namespace sortition {
namespace {

using log::v1::LateFeedback;

// Times are clamped to [0, kMaxTimeUs], so that sums with windows do not
// overflow.
constexpr int64_t kMaxTimeUs = int64_t{1} << 61;

// Of the feedback of one decision, beside `max_feedback_per_decision`. One
// feedback item alone is kept however large it is.
constexpr uint64_t kMaxFeedbackBytes = uint64_t{1} << 20;

int64_t Clamp(int64_t time_us) {
  return std::clamp<int64_t>(time_us, 0, kMaxTimeUs);
}

// Returns true if the request had no candidate that the feedback can be about:
// an order has at most as many ranks as there are candidates.
bool NamesNoCandidate(const JoinedRecord& feedback,
                      const DecisionFacts& decision) {
  if (decision.num_candidates == 0) return false;
  return std::max(feedback.index.value_or(0), feedback.rank.value_or(0)) >=
         decision.num_candidates;
}

// Returns true if the user saw the decision, or something in its place. Nothing
// is what an abstention shows, so `not_shown` reports that it was carried out;
// to leave it out would condition on the action.
bool WasShown(const ClosedDecision& closed) {
  return closed.shown.has_value() &&
         (!closed.shown->not_shown() || closed.is_empty);
}

}  // namespace

Joiner::Joiner(const config::v1::JoinOptions& options)
    : options_(options),
      window_us_(Micros(options.reward_wait_time_seconds())),
      slack_us_(Micros(options.slack_seconds())) {}

// Returns true if no record with a time up to `time_us` + windows can come.
bool Joiner::HasPassed(int64_t time_us, int windows) const {
  return watermark_us_ > time_us + windows * window_us_ + slack_us_;
}

bool Joiner::IsOver(int64_t time_us) const { return HasPassed(time_us, 1); }

int64_t Joiner::Correct(int64_t time_us) {
  if (time_us <= latest_us_) return Clamp(time_us);
  ++counts_.corrected_times;
  return Clamp(latest_us_);
}

void Joiner::AdvanceTo(int64_t time_us) {
  watermark_us_ = std::max(watermark_us_, Clamp(time_us));
  ExpireHeld();
  Forget();
  // Older decisions can come only after the clock was set back, and that is an
  // interval of its own.
  const int64_t oldest_us =
      queue_.empty() ? watermark_us_ : queue_.front().came_at_us;
  censored_.ForgetBefore(oldest_us - 2 * window_us_ - 2 * slack_us_);
}

// A record reaches the spool up to `slack_us_` after its time: if it is lost
// then, its time was earlier.
void Joiner::Censor(log::v1::CensorReason reason, int64_t first_us,
                    int64_t last_us) {
  censored_.Add(reason, Clamp(first_us) - slack_us_, Clamp(last_us));
}

void Joiner::CensorFrom(log::v1::CensorReason reason,
                        std::optional<int64_t> since_us, int64_t until_us,
                        uint32_t spool) {
  if (since_us.has_value()) since_us = Clamp(*since_us) - slack_us_;
  censored_.SetOpen(reason, since_us, until_us, spool);
}

void Joiner::AddRemembered(const RememberedId& id) {
  // The ids of several spools are not in the order of time.
  if (id.is_feedback) {
    int64_t& time_us = seen_feedback_[id.hash];
    time_us = std::max(time_us, id.time_us);
  } else {
    Known& known = known_[id.hash];
    known = {std::max(known.time_us, id.time_us), 0, id.spool,
             State::kRemembered};
  }
  ids_[id.spool].ids.push_back(id);
}

std::optional<RepeatedDecision> Joiner::AddDecision(
    SpoolPlace place, absl::string_view id, int64_t time_us,
    const DecisionFacts& facts) {
  time_us = Correct(time_us);
  AdvanceTo(time_us);
  const Hash128 hash = HashBytes(id);
  const auto [it, is_new] = known_.try_emplace(hash);
  Known& known = it->second;
  if (!is_new && IsKnownAt(known, time_us)) {
    ++counts_.duplicate_decisions;
    if (known.state != State::kRemembered && known.spool != place.spool) {
      uint64_t& repeated_until = ids_[place.spool].repeated_until;
      repeated_until = std::max(repeated_until, known.number + 1);
    }
    if (known.state != State::kPending) return std::nullopt;
    Pending& first = queue_[known.number - first_number_];
    first.is_ambiguous |= first.facts.answer != facts.answer &&
                          time_us <= known.time_us + window_us_;
    return RepeatedDecision{first.place, known.number};
  }
  known = {time_us, first_number_ + queue_.size(), place.spool,
           State::kPending};
  SpoolIds& of_spool = ids_[place.spool];
  of_spool.ids.push_back({hash, time_us, place.segment, false, place.spool});
  Pending& pending = queue_.emplace_back();
  pending.id = hash;
  pending.time_us = time_us;
  pending.came_at_us = watermark_us_;
  pending.place = place;
  pending.facts = facts;
  pending.after_number = of_spool.repeated_until;
  Need(place);
  ++counts_.decisions;
  AdoptHeld(&pending);
  return std::nullopt;
}

void Joiner::LeaveToOther(const RepeatedDecision& first) {
  queue_[first.number - first_number_].is_elsewhere = true;
}

void Joiner::AddFeedback(SpoolPlace place, const log::v1::Feedback& feedback) {
  const int64_t time_us = Correct(feedback.time_us());
  AdvanceTo(time_us);
  const Hash128 id = HashBytes(feedback.feedback_id());
  if (IsDuplicateFeedback(id, time_us)) {
    ++counts_.duplicate_feedback;
    return;
  }
  JoinedRecord record{place, time_us, feedback.reward(), false,
                      feedback.SerializeAsString()};
  if (feedback.has_rank()) record.rank = feedback.rank();
  if (feedback.has_index()) record.index = feedback.index();
  if (record.reward < options_.reward_min() ||
      record.reward > options_.reward_max()) {
    RememberFeedback(id, place, time_us);
    Reject(std::move(record), LateFeedback::OUT_OF_RANGE);
    return;
  }
  if (AddRecord(HashBytes(feedback.decision_id()), std::move(record))) {
    RememberFeedback(id, place, time_us);
  }
}

bool Joiner::IsDuplicateFeedback(const Hash128& feedback,
                                 int64_t time_us) const {
  const auto it = seen_feedback_.find(feedback);
  return it != seen_feedback_.end() && time_us <= it->second + 2 * window_us_;
}

void Joiner::RememberFeedback(const Hash128& feedback, SpoolPlace place,
                              int64_t time_us) {
  seen_feedback_[feedback] = time_us;
  ids_[place.spool].ids.push_back(
      {feedback, time_us, place.segment, true, place.spool});
}

bool Joiner::AddRecord(const Hash128& decision, JoinedRecord record) {
  const auto it = known_.find(decision);
  if (it == known_.end() || !IsKnownAt(it->second, record.time_us)) {
    return Hold(decision, std::move(record));
  }
  const Known& known = it->second;
  if (known.state == State::kPending) {
    return Attach(&queue_[known.number - first_number_], std::move(record));
  }
  if (known.state == State::kEmitted ||
      record.time_us > known.time_us + window_us_) {
    Reject(std::move(record), LateFeedback::AFTER_WINDOW);
  }
  // Otherwise it is in the tuple that an earlier process wrote.
  return true;
}

bool Joiner::Attach(Pending* pending, JoinedRecord record) {
  if (record.time_us > pending->time_us + window_us_) {
    Reject(std::move(record), LateFeedback::AFTER_WINDOW);
    return true;
  }
  if (record.is_shown) {
    if (pending->shown == nullptr) {
      pending->shown = std::make_unique<ShownReports>();
    }
    AttachShown(pending->shown.get(), std::move(record));
    return true;
  }
  if (NamesNoCandidate(record, pending->facts)) {
    Reject(std::move(record), LateFeedback::NO_SUCH_CANDIDATE);
    return true;
  }
  const uint64_t bytes = pending->feedback_bytes + record.bytes.size();
  const bool fits =
      pending->feedback.empty() ||
      (pending->feedback.size() < options_.max_feedback_per_decision() &&
       bytes <= kMaxFeedbackBytes);
  // What is kept is a function of what was kept before, so that a restart that
  // does not find rejected records any more keeps the same ones.
  if (!fits) {
    Reject(std::move(record), LateFeedback::TOO_MANY);
    return false;
  }
  ++counts_.feedback;
  Need(record.place);
  pending->feedback_bytes = bytes;
  pending->feedback.push_back(std::move(record));
  return true;
}

bool Joiner::Hold(const Hash128& decision, JoinedRecord record) {
  std::deque<JoinedRecord>& records = held_[decision];
  if (records.size() >= options_.max_held_per_decision() ||
      num_held_ >= options_.max_held()) {
    if (records.empty()) held_.erase(decision);
    ++counts_.held_overflow;
    Reject(std::move(record), LateFeedback::UNKNOWN_DECISION);
    return false;
  }
  held_order_.push_back({decision, record.place, watermark_us_});
  Need(record.place);
  records.push_back(std::move(record));
  ++num_held_;
  return true;
}

void Joiner::AdoptHeld(Pending* pending) {
  const auto it = held_.find(pending->id);
  if (it == held_.end()) return;
  std::deque<JoinedRecord> records = std::move(it->second);
  held_.erase(it);
  num_held_ -= records.size();
  std::deque<JoinedRecord> too_early;
  for (JoinedRecord& record : records) {
    if (record.time_us < pending->time_us - window_us_) {
      too_early.push_back(std::move(record));
    } else {
      Release(record.place);
      Attach(pending, std::move(record));
    }
  }
  num_held_ += too_early.size();
  if (!too_early.empty()) held_[pending->id] = std::move(too_early);
}

void Joiner::Reject(JoinedRecord record, LateFeedback::Reason reason) {
  if (record.is_shown) {
    ++counts_.unused_shown;
    return;
  }
  ++(reason == LateFeedback::AFTER_WINDOW        ? counts_.after_window
     : reason == LateFeedback::OUT_OF_RANGE      ? counts_.out_of_range
     : reason == LateFeedback::NO_SUCH_CANDIDATE ? counts_.no_such_candidate
     : reason == LateFeedback::TOO_MANY          ? counts_.too_many
                                                 : counts_.unknown_decision);
  late_.push_back({record.place, reason, std::move(record.bytes)});
}

void Joiner::ExpireHeld() {
  while (!held_order_.empty() && HasPassed(held_order_.front().came_at_us, 1)) {
    const HeldId expired = held_order_.front();
    held_order_.pop_front();
    const auto it = held_.find(expired.decision);
    // Both are in spool order, so the record is the first of its decision, or
    // it was adopted.
    if (it == held_.end() || it->second.front().place != expired.place)
      continue;
    Release(expired.place);
    Reject(std::move(it->second.front()), LateFeedback::UNKNOWN_DECISION);
    it->second.pop_front();
    --num_held_;
    if (it->second.empty()) held_.erase(it);
  }
}

void Joiner::Release(SpoolPlace place) {
  const auto it = needed_.find({place.spool, place.segment});
  DCHECK(it != needed_.end());
  if (--it->second == 0) needed_.erase(it);
}

// Spool by spool: one that has ended must not keep what the others said.
void Joiner::Forget() {
  for (auto& [spool, ids] : ids_) ForgetIdsOf(&ids);
}

void Joiner::ForgetIdsOf(SpoolIds* spool) {
  while (!spool->ids.empty()) {
    const RememberedId& id = spool->ids.front();
    if (id.segment >= spool->forget_before || !HasPassed(id.time_us, 2)) return;
    // An entry with another time belongs to a later use of the same id.
    if (id.is_feedback) {
      const auto it = seen_feedback_.find(id.hash);
      if (it != seen_feedback_.end() && it->second == id.time_us) {
        seen_feedback_.erase(it);
      }
    } else {
      const auto it = known_.find(id.hash);
      if (it != known_.end() && it->second.time_us == id.time_us) {
        if (it->second.state == State::kPending) return;
        known_.erase(it);
      }
    }
    spool->ids.pop_front();
  }
}

std::optional<SpoolPlace> Joiner::NextPlace() const {
  if (queue_.empty()) return std::nullopt;
  return queue_.front().place;
}

std::optional<ClosedDecision> Joiner::PopClosed() {
  if (queue_.empty() || !HasPassed(queue_.front().came_at_us, 1)) {
    return std::nullopt;
  }
  Pending pending = std::move(queue_.front());
  queue_.pop_front();
  const uint64_t number = first_number_++;
  // A later use of the id may have taken its place.
  const auto it = known_.find(pending.id);
  if (it != known_.end() && it->second.state == State::kPending &&
      it->second.number == number) {
    it->second.state = State::kEmitted;
  }

  ClosedDecision closed;
  closed.place = pending.place;
  closed.time_us = pending.time_us;
  closed.is_ambiguous = pending.is_ambiguous;
  closed.is_kept = pending.facts.is_kept;
  closed.is_empty = pending.facts.is_empty;
  closed.is_elsewhere = pending.is_elsewhere;
  closed.after_number = pending.after_number;
  closed.censored =
      censored_.ReasonsIn(pending.time_us, pending.time_us + window_us_);
  Release(pending.place);
  MoveRecords(&pending, &closed);
  for (const JoinedRecord& record : closed.records) Release(record.place);
  for (const JoinedView& view : closed.views) Release(view.place);
  SetShown(&closed);
  closed.is_wanted = !options_.only_if_shown() || WasShown(closed);
  SetRewards(/*decision=*/"", options_, &closed);
  return closed;
}

void Joiner::MoveRecords(Pending* pending, ClosedDecision* closed) {
  closed->records = std::move(pending->feedback);
  closed->views = std::move(pending->views);
  if (pending->shown == nullptr) return;
  for (auto& [rank, page] : pending->shown->pages) {
    closed->records.push_back(std::move(page));
  }
  if (pending->shown->viewport.has_value()) {
    closed->records.push_back(*std::move(pending->shown->viewport));
  }
}

std::optional<LateRecord> Joiner::PopLate() {
  if (late_.empty()) return std::nullopt;
  LateRecord late = std::move(late_.front());
  late_.pop_front();
  return late;
}

uint32_t Joiner::OldestNeededSegment(uint32_t spool) const {
  uint32_t oldest = std::numeric_limits<uint32_t>::max();
  const auto needed = needed_.lower_bound({spool, 0});
  if (needed != needed_.end() && needed->first.first == spool) {
    oldest = needed->first.second;
  }
  for (const LateRecord& late : late_) {
    if (late.place.spool == spool)
      oldest = std::min(oldest, late.place.segment);
  }
  return oldest;
}

std::vector<RememberedId> Joiner::IdsOfSegment(uint32_t segment,
                                               uint32_t spool) const {
  std::vector<RememberedId> ids;
  const auto found = ids_.find(spool);
  if (found == ids_.end()) return ids;
  const std::deque<RememberedId>& all = found->second.ids;
  auto it = std::lower_bound(all.begin(), all.end(), segment,
                             [](const RememberedId& id, uint32_t value) {
                               return id.segment < value;
                             });
  for (; it != all.end() && it->segment == segment; ++it) ids.push_back(*it);
  return ids;
}

}  // namespace sortition
