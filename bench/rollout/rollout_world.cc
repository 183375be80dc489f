#include "bench/rollout/rollout_world.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/base/hash.h"
#include "core/base/random.h"
#include "trainer/rollout/rollout_plan.h"

namespace sortition {
namespace {

constexpr int64_t kUsPerSecond = 1'000'000;

int64_t WindowUs(const config::v1::RolloutPlan& plan) {
  return static_cast<int64_t>(plan.unit_window_seconds()) * kUsPerSecond;
}

// Numbers are drawn in blocks, which is faster.
class Uniforms {
 public:
  explicit Uniforms(uint64_t seed) : random_(SeedKey(seed)) {}

  double Next() {
    if (next_ == numbers_.size()) {
      random_.UniformBlocks(next_block_, numbers_);
      next_block_ += static_cast<uint32_t>(numbers_.size() / 2);
      next_ = 0;
    }
    return numbers_[next_++];
  }
  bool Happens(double probability) {
    return probability > 0 && Next() < probability;
  }

 private:
  const CounterRandom random_;
  std::array<double, 1024> numbers_ = {};
  size_t next_ = 1024;
  uint32_t next_block_ = 0;
};

struct Unit {
  double place = 0;  // In the split.
  double taste = 1;
  bool was_canary = false;  // At its last decision.
};

// Generates the users who send requests, one after the other.
class Visitors {
 public:
  Visitors(const RolloutWorld& world, Uniforms* uniforms)
      : world_(world), uniforms_(*uniforms) {}

  // Returns the unit of the next decision. Whether an earlier unit returns
  // depends on its arm.
  uint64_t Next(double share) {
    uint64_t unit = units_.size();
    if (!visits_.empty() && uniforms_.Next() >= world_.new_unit) {
      unit = Returning();
    }
    if (unit == units_.size()) {
      units_.push_back(
          {.place = uniforms_.Next(), .taste = 0.5 + uniforms_.Next()});
    }
    visits_.push_back(static_cast<uint32_t>(unit));
    units_[unit].was_canary = units_[unit].place < share;
    return unit;
  }
  const Unit& unit(uint64_t i) const { return units_[i]; }

 private:
  uint64_t Returning() {
    constexpr int kMaxTries = 20;
    for (int i = 0; i < kMaxTries; ++i) {
      const double place =
          uniforms_.Next() * static_cast<double>(visits_.size());
      const uint64_t unit = visits_[static_cast<size_t>(place)];
      if (world_.loyal_arm == LoyalArm::kNone) return unit;
      const bool is_loyal =
          units_[unit].was_canary == (world_.loyal_arm == LoyalArm::kCanary);
      if (uniforms_.Happens(is_loyal ? units_[unit].taste - 0.5 : 0.5)) {
        return unit;
      }
    }
    return units_.size();
  }

  const RolloutWorld& world_;
  Uniforms& uniforms_;
  std::vector<Unit> units_;
  std::vector<uint32_t> visits_;
};

// Makes, removes and changes the tuples of a simulated rollout.
class TupleStream {
 public:
  TupleStream(const RolloutWorld& world, const config::v1::RolloutPlan& plan,
              uint64_t seed)
      : world_(world),
        window_us_(WindowUs(plan)),
        uniforms_(seed),
        visitors_(world, &uniforms_),
        probe_place_(uniforms_.Next()),
        probe_reward_(uniforms_.Next() < 0.5 ? 0 : 1) {}

  void Decide(double share) {
    const int64_t now_us = static_cast<int64_t>(++decisions_) * kUsPerSecond;
    SimulatedTuple& tuple = tuples_.emplace_back();
    tuple.visible_us = now_us;
    if (world_.most_delay > 0) {
      tuple.visible_us += static_cast<int64_t>(
          uniforms_.Next() * static_cast<double>(world_.most_delay) *
          kUsPerSecond);
    }
    ArmDecision& decision = tuple.decision;
    decision.time_us = now_us;
    decision.share = share;
    double taste = 1;
    const bool is_probe = uniforms_.Happens(world_.probe);
    if (is_probe) {
      decision.unit = kProbe;
      decision.place = probe_place_;
    } else if (uniforms_.Happens(world_.unnamed)) {
      decision.unit = kUnnamed + decisions_;
      decision.place = uniforms_.Next();
    } else {
      decision.unit = visitors_.Next(share);
      decision.has_unit = true;
      decision.place = visitors_.unit(decision.unit).place;
      taste = visitors_.unit(decision.unit).taste;
    }
    decision.is_canary = decision.place < share;
    const double probability = world_.mean_reward * taste *
                               (decision.is_canary ? 1 + world_.effect : 1);
    const double drawn = uniforms_.Next() < probability ? 1.0 : 0.0;
    tuple.reward = (is_probe ? probe_reward_ : drawn) * Sign();
    Censor(&tuple);
  }

  // Removes tuples that no open round needs, as retention does.
  void Trim() {
    const int64_t old_us =
        Now() - window_us_ -
        static_cast<int64_t>(world_.most_delay) * kUsPerSecond;
    while (!tuples_.empty() && tuples_.front().is_read &&
           tuples_.front().decision.time_us < old_us) {
      tuples_.pop_front();
    }
  }

  // Removes the older tuples, possibly all. Returns true if one was not read.
  std::optional<bool> MayRemove() {
    if (!uniforms_.Happens(world_.remove)) return std::nullopt;
    const auto count = static_cast<size_t>(
        uniforms_.Next() * static_cast<double>(tuples_.size() + 1));
    bool has_gap = false;
    for (size_t i = 0; i < count; ++i) {
      const bool is_read = tuples_.front().is_read;
      if (!is_read && !world_.removes_unread) break;
      has_gap |= !is_read;
      tuples_.pop_front();
    }
    return has_gap;
  }

  // Joins all tuples again: a third of the feedback is lost because the join
  // waits less, and other decisions are censored.
  bool MayRejoin() {
    if (!uniforms_.Happens(world_.rejoin)) return false;
    constexpr double kLost = 0.3;
    for (SimulatedTuple& tuple : tuples_) {
      if (uniforms_.Happens(kLost)) tuple.reward = 0;
      Censor(&tuple);
    }
    return true;
  }
  bool MayRestart() { return uniforms_.Happens(world_.restart); }

  // Marks the tuples that are visible.
  void MarkRead() {
    for (SimulatedTuple& tuple : tuples_) {
      tuple.is_read |= tuple.visible_us <= Now();
    }
  }

  int64_t Now() const {
    return static_cast<int64_t>(decisions_) * kUsPerSecond;
  }
  int64_t NewestVisible() const {
    const auto newest = std::find_if(
        tuples_.rbegin(), tuples_.rend(),
        [&](const SimulatedTuple& tuple) { return tuple.visible_us <= Now(); });
    return newest == tuples_.rend() ? 0 : newest->decision.time_us;
  }
  uint64_t decisions() const { return decisions_; }
  const std::deque<SimulatedTuple>& tuples() const { return tuples_; }

 private:
  static constexpr uint64_t kProbe = ~uint64_t{0};
  static constexpr uint64_t kUnnamed = uint64_t{1} << 40;

  double Sign() const { return world_.complains ? -1 : 1; }
  void Censor(SimulatedTuple* tuple) {
    if (uniforms_.Happens(world_.censored)) tuple->reward = kUnknownOutcome;
  }

  const RolloutWorld& world_;
  const int64_t window_us_;
  Uniforms uniforms_;
  Visitors visitors_;
  const double probe_place_;
  const double probe_reward_;
  uint64_t decisions_ = 0;
  std::deque<SimulatedTuple> tuples_;
};

class LedgerRule : public RolloutRule {
 public:
  explicit LedgerRule(const config::v1::RolloutPlan& plan)
      : window_us_(WindowUs(plan)), plan_(plan) {
    rounds_.emplace(window_us_, size_t{1});
    evidence_.emplace(plan, std::vector<RolloutLimit>());
  }

  void TuplesChanged(double share, bool has_gap, bool) override {
    if (!has_gap) return;
    gap_share_ = std::max(gap_share_, share);
    rounds_->NoteGap(share);
  }

  void Restart() override {
    UnitRounds again(window_us_, 1);
    for (const UnitRound& round : rounds_->rounds()) again.Restore(round);
    evidence_.emplace(plan_, std::vector<RolloutLimit>());
    for (const RoundOutcome& outcome : closed_) {
      again.RestoreClosed(outcome);
      evidence_->Take(again.rounds()[outcome.round], outcome);
    }
    again.NoteGap(gap_share_);
    rounds_.emplace(std::move(again));
  }

  void Read(const std::deque<SimulatedTuple>& tuples, int64_t now_us,
            int64_t newest_us) override {
    rounds_->BeginPass();
    for (const SimulatedTuple& tuple : tuples) {
      if (tuple.visible_us > now_us) continue;
      rounds_->Add(tuple.decision, {&tuple.reward, 1});
    }
    for (const RoundOutcome& outcome : rounds_->CloseUntil(0, newest_us)) {
      closed_.push_back(outcome);
      evidence_->Take(rounds_->rounds()[outcome.round], outcome);
    }
  }
  const RolloutEvidence& evidence() const override { return *evidence_; }

 private:
  const int64_t window_us_;
  const config::v1::RolloutPlan plan_;
  std::optional<RolloutEvidence> evidence_;
  std::optional<UnitRounds> rounds_;
  std::vector<RoundOutcome> closed_;
  double gap_share_ = 0;
};

}  // namespace

std::unique_ptr<RolloutRule> MakeLedgerRule(
    const config::v1::RolloutPlan& plan) {
  return std::make_unique<LedgerRule>(plan);
}

config::v1::RolloutPlan SimulationPlan(const std::vector<double>& shares,
                                       const std::vector<double>& margins,
                                       double reward_min) {
  config::v1::RolloutPlan plan;
  for (const double share : shares) plan.add_shares(share);
  for (const double margin : margins) plan.add_margins(margin);
  constexpr double kWindow = 1000;
  plan.set_unit_window_seconds(kWindow);
  plan.set_min_seconds(0);
  plan.set_max_seconds(0);
  plan.set_reward_min(reward_min);
  plan.set_reward_max(reward_min + 1);
  return *CompletePlan(plan);
}

SimulatedRollout SimulateRollout(const RolloutWorld& world,
                                 const config::v1::RolloutPlan& plan,
                                 uint64_t seed,
                                 const MakeRolloutRule& make_rule) {
  TupleStream stream(world, plan, seed);
  const std::unique_ptr<RolloutRule> rule = make_rule(plan);
  model::v1::Rollout rollout;
  *rollout.mutable_plan() = plan;
  SimulatedRollout simulated;
  uint64_t stage_began = 0;
  while (simulated.decisions < world.most_decisions) {
    const double share = plan.shares(static_cast<int>(rollout.stage()));
    stream.Decide(share);
    simulated.decisions = stream.decisions();
    if (simulated.decisions % world.look_every > 0) continue;
    const std::optional<bool> removed = stream.MayRemove();
    const bool are_rejoined = stream.MayRejoin();
    if (removed.has_value() || are_rejoined) {
      rule->TuplesChanged(share, removed.value_or(false), are_rejoined);
    }
    if (stream.MayRestart()) rule->Restart();
    rule->Read(stream.tuples(), stream.Now(), stream.NewestVisible());
    stream.MarkRead();
    stream.Trim();
    const RolloutAction action =
        JudgeRollout(rollout, rule->evidence(), {}, stream.Now()).action;
    if (action == RolloutAction::kWait) continue;
    simulated.stage_decisions.push_back(simulated.decisions - stage_began);
    stage_began = simulated.decisions;
    simulated.end = action;
    if (action == RolloutAction::kGoBack) return simulated;
    if (++simulated.stages_passed ==
        static_cast<uint32_t>(plan.shares_size())) {
      return simulated;
    }
    simulated.end = RolloutAction::kWait;
    rollout.set_stage(rollout.stage() + 1);
  }
  return simulated;
}

}  // namespace sortition
