#include "core/counterfactual/sequential/unit_rounds.h"

#include <utility>

namespace sortition {

void UnitRounds::Give(UnitRound* sums) {
  for (double& sum : sums->means) sum /= sums->decisions;
  take_(*sums);
}

void UnitRounds::CloseUntil(int64_t time_us) {
  while (!open_.empty() && open_.front().end_us <= time_us) {
    Give(&open_.front().sums);
    open_.pop_front();
    ++num_closed_;
  }
}

void UnitRounds::Begin(const ArmDecision& decision, double canary_probability,
                       std::span<const double> outcomes) {
  UnitRound round{.is_canary = decision.is_canary,
                  .canary_probability = canary_probability,
                  .share = decision.share,
                  .decisions = 1,
                  .means = {outcomes.begin(), outcomes.end()}};
  if (!decision.has_unit) {
    Give(&round);
    return;
  }
  Unit& unit = units_[decision.unit];
  unit = {.share = decision.share,
          .is_canary = decision.is_canary,
          .round = num_closed_ + open_.size()};
  open_.push_back({decision.time_us + window_us_, std::move(round)});
}

void UnitRounds::Add(const ArmDecision& decision,
                     std::span<const double> outcomes) {
  CloseUntil(decision.time_us);
  if (!decision.has_unit) {
    Begin(decision, decision.share, outcomes);
    return;
  }
  const auto found = units_.find(decision.unit);
  if (found == units_.end()) {
    Begin(decision, decision.share, outcomes);
    return;
  }
  const Unit& unit = found->second;
  if (decision.share > unit.share && !unit.is_canary) {
    const double probability = (decision.share - unit.share) / (1 - unit.share);
    Begin(decision, probability, outcomes);
    return;
  }
  if (decision.share != unit.share || decision.is_canary != unit.is_canary ||
      unit.round < num_closed_) {
    ++num_later_;
    return;
  }
  UnitRound& sums = open_[unit.round - num_closed_].sums;
  ++sums.decisions;
  for (size_t i = 0; i < outcomes.size(); ++i) sums.means[i] += outcomes[i];
}

}  // namespace sortition
