// Part `rollouts`: rollouts of versions with known rewards, with probes,
// censoring, and tuples that are removed or joined again.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/rollout/rollout_world.h"
#include "bench/support/parallel_runs.h"
#include "bench/verdicts/parts.h"
#include "bench/verdicts/recomputed_rule.h"
#include "core/base/check.h"

namespace sortition {
namespace {

struct Ends {
  double back = 0;  // Shares of the rollouts.
  double half = 0;
  double all = 0;
  std::vector<uint64_t> decisions;  // Of those that ended; ascending.

  double Median() const {
    return decisions.empty()
               ? 0
               : static_cast<double>(decisions[decisions.size() / 2]);
  }
};

Ends RunMany(const RolloutWorld& world, const config::v1::RolloutPlan& plan,
             int runs, int threads, const MakeRolloutRule& rule) {
  std::vector<SimulatedRollout> rollouts(static_cast<size_t>(runs));
  CHECK(RunInParallel(rollouts.size(), threads, [&](size_t run) {
          rollouts[run] = SimulateRollout(world, plan, run, rule);
          return absl::OkStatus();
        }).ok());
  Ends ends;
  const auto shares = static_cast<uint32_t>(plan.shares_size());
  for (const SimulatedRollout& rollout : rollouts) {
    ends.back += rollout.end == RolloutAction::kGoBack ? 1.0 / runs : 0;
    ends.half += rollout.stages_passed + 1 >= shares ? 1.0 / runs : 0;
    ends.all += rollout.stages_passed == shares ? 1.0 / runs : 0;
    if (rollout.end != RolloutAction::kWait) {
      ends.decisions.push_back(rollout.decisions);
    }
  }
  std::sort(ends.decisions.begin(), ends.decisions.end());
  return ends;
}

struct Setting {
  std::string name;
  RolloutWorld world;
};

// Everything at random: probes, censoring, tuples that arrive late, are removed
// or joined again, and trainers that restart.
RolloutWorld Everything() {
  return {.loyal_arm = LoyalArm::kCanary,
          .unnamed = 0.1,
          .probe = 0.05,
          .censored = 0.2,
          .most_delay = 300,
          .remove = 0.1,
          .rejoin = 0.1,
          .restart = 0.02};
}

std::vector<Setting> Settings() {
  RolloutWorld loyal_stable = Everything();
  loyal_stable.loyal_arm = LoyalArm::kStable;
  return {{"nothing special", {}},
          {"row 5: 10 % probe", {.probe = 0.1}},
          {"row 7: tuples removed", {.remove = 0.4, .removes_unread = false}},
          {"row 7: removed unread", {.remove = 0.4}},
          {"row 7: joined anew", {.rejoin = 0.4}},
          {"row 8: 40 % censored, loyal stable",
           {.loyal_arm = LoyalArm::kStable, .censored = 0.4}},
          {"row 8: 40 % censored, loyal canary",
           {.loyal_arm = LoyalArm::kCanary, .censored = 0.4}},
          {"rows 5, 7, 8, loyal canary", Everything()},
          {"rows 5, 7, 8, loyal stable", loyal_stable}};
}

class Rollouts {
 public:
  explicit Rollouts(const VerdictOptions& options) : options_(options) {}

  std::vector<Target> Measure() {
    absl::PrintF(
        "\nRollouts in 10 %% and 50 %% of the traffic, %d each; old: %d by the "
        "rule without ledger\n%-40s %8s  %6s %6s %6s %9s\n",
        options_.runs, OldRuns(), "world", "canary", "back", "50 %", "100 %",
        "decisions");
    for (const Setting& setting : Settings()) Judge(setting);
    JudgeCosts();
    JudgePower();
    return targets_;
  }

 private:
  static constexpr double kBackError = 0.02;
  static constexpr double kMoveError = 0.01;

  int OldRuns() const { return std::max(options_.runs / 5, 1); }

  Ends Run(const std::string& name, const RolloutWorld& world,
           const config::v1::RolloutPlan& plan) {
    const Ends old =
        RunMany(world, plan, OldRuns(), options_.threads, MakeRecomputedRule);
    Print(absl::StrCat(name, ", old"), world, old);
    const Ends now =
        RunMany(world, plan, options_.runs, options_.threads, MakeLedgerRule);
    Print(name, world, now);
    return now;
  }

  static void Print(const std::string& name, const RolloutWorld& world,
                    const Ends& ends) {
    absl::PrintF("%-40s %+6.0f %%  %6.3f %6.3f %6.3f %9.0f\n", name,
                 100 * world.effect, ends.back, ends.half, ends.all,
                 ends.Median());
    std::fflush(stdout);
  }

  void Limit(absl::string_view what, double measured, double most) {
    Target& target = targets_.emplace_back();
    target.what = std::string(what);
    target.measured = measured;
    target.required = most;
  }

  void Judge(const Setting& setting) {
    const config::v1::RolloutPlan plan =
        SimulationPlan({0.1, 0.5}, {0.03, 0.01});
    RolloutWorld world = setting.world;
    world.mean_reward = 0.6;
    world.most_decisions = 100'000;
    const Ends equal = Run(setting.name, world, plan);
    Limit(absl::StrCat("equal versions that go back, ", setting.name),
          equal.back, kBackError);
    world.effect = -0.1;
    const Ends worse = Run(setting.name, world, plan);
    Limit(absl::StrCat("versions 10 % worse that reach 50 %, ", setting.name),
          worse.half, kMoveError);
  }

  // Rewards in [-1, 0]: complaints.
  void JudgeCosts() {
    RolloutWorld world = {
        .mean_reward = 0.02, .complains = true, .most_decisions = 300'000};
    const config::v1::RolloutPlan plan =
        SimulationPlan({0.1, 0.5}, {0.2, 0.1}, -1);
    world.effect = 0.25;
    const Ends more = Run("row 6: complaints in 2 %", world, plan);
    Limit("25 % more complaints that reach 50 %, 20 % allowed", more.half,
          kMoveError);
    world.effect = 0;
    const Ends equal = Run("row 6: complaints in 2 %", world, plan);
    Limit("as many complaints that go back", equal.back, kBackError);
  }

  // Compares both rules in rollouts in which the assumptions of the rule
  // without ledger hold.
  void JudgePower() {
    const config::v1::RolloutPlan plan =
        SimulationPlan({0.1, 0.5}, {0.03, 0.01});
    constexpr double kMostLost = 0.1;
    for (const double effect : {0.05, -0.05}) {
      for (const double unnamed : {0.0, 1.0}) {
        const RolloutWorld world = {.mean_reward = 0.6,
                                    .effect = effect,
                                    .unnamed = unnamed,
                                    .most_decisions = 1'000'000};
        const int runs = std::max(options_.runs / 4, 1);
        const Ends old =
            RunMany(world, plan, runs, options_.threads, MakeRecomputedRule);
        const Ends now =
            RunMany(world, plan, runs, options_.threads, MakeLedgerRule);
        const std::string name =
            unnamed > 0 ? "power, no unit_id" : "power, units";
        Print(absl::StrCat(name, ", old"), world, old);
        Print(name, world, now);
        const std::string what =
            absl::StrFormat("%s, %+.0f %%", name, 100 * effect);
        Limit(absl::StrCat("decisions against the old rule, ", what),
              now.Median() / old.Median(), 1 + kMostLost);
        Limit(absl::StrCat("undecided more than by the old rule, ", what),
              (static_cast<double>(old.decisions.size()) -
               static_cast<double>(now.decisions.size())) /
                  runs,
              kMostLost);
      }
    }
  }

  const VerdictOptions options_;
  std::vector<Target> targets_;
};

}  // namespace

std::vector<Target> MeasureRollouts(const VerdictOptions& options) {
  return Rollouts(options).Measure();
}

}  // namespace sortition
