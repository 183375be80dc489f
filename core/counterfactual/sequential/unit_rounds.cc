#include "core/counterfactual/sequential/unit_rounds.h"

#include <cmath>

namespace sortition {

void UnitRounds::Begin(const UnitRound& round) {
  const uint64_t index = rounds_.size();
  const auto [last, is_new] = last_round_.try_emplace(round.unit, index);
  previous_.push_back(is_new ? kNone : last->second);
  last->second = index;
  rounds_.push_back(round);
  open_outcomes_.push_back(static_cast<uint32_t>(pending_.size()));
  for (Pending& pending : pending_) {
    pending.ends.emplace(EndOf(round), index);
    pending.is_open.push_back(true);
    ++pending.num_open;
  }
}

void UnitRounds::Close(size_t outcome, uint64_t round) {
  pending_[outcome].is_open[round] = false;
  --pending_[outcome].num_open;
  --open_outcomes_[round];
}

bool UnitRounds::RestoreClosed(const RoundOutcome& closed) {
  if (closed.round >= rounds_.size() || closed.outcome >= pending_.size() ||
      !pending_[closed.outcome].is_open[closed.round]) {
    return false;
  }
  Close(closed.outcome, closed.round);
  return true;
}

void UnitRounds::BeginPass() {
  found_.clear();
  num_unknown_ = 0;
}

bool UnitRounds::Registers(const ArmDecision& decision, uint64_t last,
                           double* canary_probability) {
  // The largest share at which the unit was drawn, or may have been in a gap.
  double drawn = gap_share_;
  bool was_canary = decision.place < gap_share_;
  bool is_known = false;
  if (last != kNone && rounds_[last].share >= drawn) {
    drawn = rounds_[last].share;
    was_canary = rounds_[last].is_canary;
    is_known = true;
  }
  if (drawn > 0 && (was_canary || decision.share <= drawn)) {
    if (!is_known) ++num_unknown_;
    return false;
  }
  *canary_probability = (decision.share - drawn) / (1 - drawn);
  return true;
}

void UnitRounds::Collect(const ArmDecision& decision, uint64_t last,
                         std::span<const double> outcomes) {
  uint64_t index = last;
  while (index != kNone && rounds_[index].share != decision.share) {
    index = previous_[index];
  }
  if (index == kNone || open_outcomes_[index] == 0) return;
  const UnitRound& round = rounds_[index];
  const bool is_first = decision.time_us == round.time_us;
  if (decision.is_canary != round.is_canary ||
      decision.time_us < round.time_us ||
      (!is_first && decision.time_us >= EndOf(round))) {
    return;
  }
  Found& found = found_[index];
  found.has_first |= is_first;
  found.outcomes.resize(outcomes.size());
  for (size_t i = 0; i < outcomes.size(); ++i) {
    if (std::isnan(outcomes[i])) continue;
    found.outcomes[i].is_first_known |= is_first;
    ++found.outcomes[i].decisions;
    found.outcomes[i].sum += outcomes[i];
  }
}

bool UnitRounds::Add(const ArmDecision& decision,
                     std::span<const double> outcomes) {
  const auto found = last_round_.find(decision.unit);
  uint64_t last = found == last_round_.end() ? kNone : found->second;
  double canary_probability = 0;
  const bool registers = Registers(decision, last, &canary_probability);
  if (registers) {
    last = rounds_.size();
    Begin({.unit = decision.unit,
           .has_unit = decision.has_unit,
           .time_us = decision.time_us,
           .share = decision.share,
           .is_canary = decision.is_canary,
           .canary_probability = canary_probability});
  }
  Collect(decision, last, outcomes);
  return registers;
}

std::vector<RoundOutcome> UnitRounds::CloseUntil(size_t outcome,
                                                 int64_t until_us) {
  std::vector<RoundOutcome> closed;
  Pending& pending = pending_[outcome];
  while (!pending.ends.empty() && pending.ends.top().first <= until_us) {
    const uint64_t index = pending.ends.top().second;
    pending.ends.pop();
    if (!pending.is_open[index]) continue;
    Close(outcome, index);
    RoundOutcome& round = closed.emplace_back();
    round.round = index;
    round.outcome = static_cast<uint32_t>(outcome);
    const auto found = found_.find(index);
    if (found == found_.end() || !found->second.has_first) {
      round.why_void = RoundVoid::kGone;
      continue;
    }
    const Found::Outcome& sums = found->second.outcomes[outcome];
    if (!sums.is_first_known) {
      round.why_void = RoundVoid::kCensored;
      continue;
    }
    round.decisions = sums.decisions;
    round.mean = sums.sum / sums.decisions;
  }
  return closed;
}

}  // namespace sortition
