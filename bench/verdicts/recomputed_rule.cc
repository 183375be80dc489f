#include "bench/verdicts/recomputed_rule.h"

#include <cmath>
#include <deque>
#include <optional>

#include "absl/container/flat_hash_map.h"

namespace sortition {
namespace {

constexpr double kUsPerSecond = 1e6;

class RecomputedRule : public RolloutRule {
 public:
  explicit RecomputedRule(const config::v1::RolloutPlan& plan)
      : window_us_(
            static_cast<int64_t>(plan.unit_window_seconds() * kUsPerSecond)),
        reward_min_(plan.reward_min()),
        plan_(plan) {
    plan_.set_reward_max(plan.reward_max() - plan.reward_min());
    plan_.set_reward_min(0);
    Forget();
  }

  void TuplesChanged(double, bool, bool are_rejoined) override {
    Forget();
    reads_all_ = true;
    skips_old_ = are_rejoined;
  }
  void Restart() override {}

  void Read(const std::deque<SimulatedTuple>& tuples, int64_t now_us,
            int64_t newest_us) override {
    for (const SimulatedTuple& tuple : tuples) {
      if (tuple.visible_us > now_us ||
          (tuple.is_read && (!reads_all_ || skips_old_))) {
        continue;
      }
      Add(tuple.decision, tuple.reward - reward_min_);
    }
    reads_all_ = skips_old_ = false;
    CloseUntil(newest_us);
  }
  const RolloutEvidence& evidence() const override { return *evidence_; }

 private:
  struct Unit {
    double share = 0;
    bool is_canary = false;
    uint64_t round = 0;
  };
  struct Open {
    UnitRound round;
    uint32_t decisions = 0;
    double sum = 0;
  };

  void Forget() {
    evidence_.emplace(plan_, std::vector<RolloutLimit>());
    units_.clear();
    open_.clear();
    num_closed_ = 0;
  }

  void Give(const Open& open) {
    evidence_->Take(open.round, {.decisions = open.decisions,
                                 .mean = open.sum / open.decisions});
  }

  void CloseUntil(int64_t time_us) {
    while (!open_.empty() &&
           open_.front().round.time_us + window_us_ <= time_us) {
      Give(open_.front());
      open_.pop_front();
      ++num_closed_;
    }
  }

  void Begin(const ArmDecision& decision, double probability, double reward) {
    const Open open{.round = {.time_us = decision.time_us,
                              .share = decision.share,
                              .is_canary = decision.is_canary,
                              .canary_probability = probability},
                    .decisions = 1,
                    .sum = reward};
    if (!decision.has_unit) {
      Give(open);
      return;
    }
    units_[decision.unit] = {decision.share, decision.is_canary,
                             num_closed_ + open_.size()};
    open_.push_back(open);
  }

  void Add(const ArmDecision& decision, double reward) {
    if (std::isnan(reward)) return;
    CloseUntil(decision.time_us);
    const auto found = units_.find(decision.unit);
    if (!decision.has_unit || found == units_.end()) {
      Begin(decision, decision.share, reward);
      return;
    }
    const Unit& unit = found->second;
    if (decision.share > unit.share && !unit.is_canary) {
      Begin(decision, (decision.share - unit.share) / (1 - unit.share), reward);
      return;
    }
    if (decision.share != unit.share || decision.is_canary != unit.is_canary ||
        unit.round < num_closed_) {
      return;
    }
    Open& open = open_[unit.round - num_closed_];
    ++open.decisions;
    open.sum += reward;
  }

  const int64_t window_us_;
  const double reward_min_;
  config::v1::RolloutPlan plan_;
  std::optional<RolloutEvidence> evidence_;
  absl::flat_hash_map<uint64_t, Unit> units_;
  std::deque<Open> open_;
  uint64_t num_closed_ = 0;
  bool reads_all_ = false;
  bool skips_old_ = false;
};

}  // namespace

std::unique_ptr<RolloutRule> MakeRecomputedRule(
    const config::v1::RolloutPlan& plan) {
  return std::make_unique<RecomputedRule>(plan);
}

}  // namespace sortition
