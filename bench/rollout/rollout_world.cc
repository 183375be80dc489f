#include "bench/rollout/rollout_world.h"

#include <array>

#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/counterfactual/sequential/unit_rounds.h"
#include "trainer/rollout/rollout_evidence.h"
#include "trainer/rollout/rollout_plan.h"

namespace sortition {
namespace {

constexpr int64_t kUsPerSecond = 1'000'000;

struct Unit {
  double place = 0;  // In the split.
  double taste = 1;
};

// Who asks, one after the other.
class Visitors {
 public:
  Visitors(double new_unit, uint64_t seed)
      : new_unit_(new_unit), random_(SeedKey(seed)) {}

  uint64_t Next() {
    if (visits_.empty() || Uniform() < new_unit_) {
      units_.push_back({.place = Uniform(), .taste = 0.5 + Uniform()});
      visits_.push_back(static_cast<uint32_t>(units_.size() - 1));
    } else {
      const double place = Uniform() * static_cast<double>(visits_.size());
      visits_.push_back(visits_[static_cast<size_t>(place)]);
    }
    return visits_.back();
  }
  const Unit& unit(uint64_t i) const { return units_[i]; }

  // Numbers are drawn in blocks, which is faster.
  double Uniform() {
    if (next_ == numbers_.size()) {
      random_.UniformBlocks(next_block_, numbers_);
      next_block_ += static_cast<uint32_t>(numbers_.size() / 2);
      next_ = 0;
    }
    return numbers_[next_++];
  }

 private:
  const double new_unit_;
  const CounterRandom random_;
  std::array<double, 1024> numbers_ = {};
  size_t next_ = 1024;
  uint32_t next_block_ = 0;
  std::vector<Unit> units_;
  std::vector<uint32_t> visits_;
};

}  // namespace

config::v1::RolloutPlan SimulationPlan(const std::vector<double>& shares,
                                       const std::vector<double>& margins) {
  config::v1::RolloutPlan plan;
  for (const double share : shares) plan.add_shares(share);
  for (const double margin : margins) plan.add_margins(margin);
  constexpr double kWindow = 1000;
  plan.set_unit_window_seconds(kWindow);
  plan.set_min_seconds(0);
  plan.set_max_seconds(0);
  return *CompletePlan(plan);
}

SimulatedRollout SimulateRollout(const RolloutWorld& world,
                                 const config::v1::RolloutPlan& plan,
                                 uint64_t seed) {
  Visitors visitors(world.new_unit, seed);
  RolloutEvidence evidence(plan, {});
  UnitRounds rounds(
      static_cast<int64_t>(plan.unit_window_seconds()) * kUsPerSecond,
      [&](const UnitRound& round) { evidence.Take(round); });
  model::v1::Rollout rollout;
  *rollout.mutable_plan() = plan;
  SimulatedRollout simulated;
  uint64_t stage_began = 0;
  while (simulated.decisions < world.most_decisions) {
    const uint64_t visitor = visitors.Next();
    const Unit& unit = visitors.unit(visitor);
    const double share = plan.shares(static_cast<int>(rollout.stage()));
    const bool is_canary = unit.place < share;
    const double probability =
        world.mean_reward * unit.taste * (is_canary ? 1 + world.effect : 1);
    const double reward = visitors.Uniform() < probability ? 1.0 : 0.0;
    const auto now_us =
        static_cast<int64_t>(++simulated.decisions) * kUsPerSecond;
    rounds.Add({.unit = visitor,
                .has_unit = true,
                .time_us = now_us,
                .share = share,
                .is_canary = is_canary},
               {&reward, 1});
    if (simulated.decisions % world.look_every > 0) continue;
    const RolloutAction action =
        JudgeRollout(rollout, evidence, {}, now_us).action;
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
