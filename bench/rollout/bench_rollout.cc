// Rollouts of versions that are worse, as good, or better: how they end, and
// after how many decisions
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/rollout/rollout_world.h"
#include "bench/support/parallel_runs.h"
#include "bench/support/report.h"
#include "core/base/status_macros.h"

ABSL_FLAG(int, runs, 200, "rollouts of each kind");
ABSL_FLAG(int, threads, 2, "threads");
ABSL_FLAG(std::vector<std::string>, mean_rewards,
          std::vector<std::string>({"0.1", "0.3", "0.6"}),
          "what the stable version earns; each at most 0.6");
ABSL_FLAG(double, effect, 0.05, "how much worse or better, as a share");
ABSL_FLAG(uint64_t, most_decisions, 8000000,
          "decisions before a rollout is undecided");
ABSL_FLAG(uint64_t, equal_decisions, 1000000,
          "the same for a version that is as good");

namespace sortition {
namespace {

struct Ends {
  size_t runs = 0;
  size_t back = 0;
  size_t half = 0;                  // Reached the last share.
  size_t all = 0;                   // Reached 100 %.
  std::vector<uint64_t> decisions;  // Of those that ended; ascending.
  std::vector<std::vector<uint64_t>> stages;

  double ShareOf(size_t count) const {
    return static_cast<double>(count) / static_cast<double>(runs);
  }
};

// Returns the quantile, 0 of nothing.
uint64_t Quantile(std::vector<uint64_t> values, double probability) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto place =
      static_cast<size_t>(probability * static_cast<double>(values.size()));
  return values[std::min(place, values.size() - 1)];
}

absl::StatusOr<Ends> RunMany(const RolloutWorld& world) {
  const auto runs = static_cast<size_t>(absl::GetFlag(FLAGS_runs));
  const config::v1::RolloutPlan plan = SimulationPlan();
  std::vector<SimulatedRollout> rollouts(runs);
  RETURN_IF_ERROR(
      RunInParallel(runs, absl::GetFlag(FLAGS_threads), [&](size_t run) {
        rollouts[run] = SimulateRollout(world, plan, run);
        return absl::OkStatus();
      }));
  const auto shares = static_cast<size_t>(plan.shares_size());
  Ends ends{.runs = runs, .decisions = {}, .stages = {}};
  ends.stages.resize(shares);
  for (const SimulatedRollout& rollout : rollouts) {
    ends.back += rollout.end == RolloutAction::kGoBack ? 1 : 0;
    ends.half += rollout.stages_passed + 1 >= shares ? 1 : 0;
    ends.all += rollout.stages_passed == shares ? 1 : 0;
    if (rollout.end != RolloutAction::kWait) {
      ends.decisions.push_back(rollout.decisions);
    }
    for (size_t i = 0; i < rollout.stages_passed; ++i) {
      ends.stages[i].push_back(rollout.stage_decisions[i]);
    }
  }
  return ends;
}

void Print(double mean_reward, double effect, const Ends& ends) {
  absl::PrintF("%6.2f  %+5.0f %%  %5d  %5d  %5d  %9d  %8d  %8d", mean_reward,
               100 * effect, ends.back, ends.half, ends.all,
               ends.runs - ends.back - ends.all, Quantile(ends.decisions, 0.5),
               Quantile(ends.decisions, 0.9));
  for (const auto& stage : ends.stages) {
    absl::PrintF("  %7d", Quantile(stage, 0.5));
  }
  absl::PrintF("\n");
  std::fflush(stdout);
}

// Units may like what they get by half as much again.
constexpr double kMostReward = 0.6;

// Of 200 that each fail with 2 %, more than this is likelier than 1 % only if
// they fail more often.
constexpr double kMostFalselyBack = 0.045;

absl::StatusOr<Report> Run() {
  const double effect = absl::GetFlag(FLAGS_effect);
  absl::PrintF(
      "of %d rollouts; decisions until the end, and in the median of each "
      "stage\n%6s  %7s  %5s  %5s  %5s  %9s  %8s  %8s  %7s  %7s  %7s\n",
      absl::GetFlag(FLAGS_runs), "reward", "canary", "back", "50 %", "100 %",
      "undecided", "median", "90 %", "1 %", "10 %", "50 %");
  Report report;
  for (const std::string& text : absl::GetFlag(FLAGS_mean_rewards)) {
    double mean = 0;
    if (!absl::SimpleAtod(text, &mean) || !(mean > 0) || mean > kMostReward) {
      return absl::InvalidArgumentError(absl::StrCat("--mean_rewards has '",
                                                     text, "', must be in (0, ",
                                                     kMostReward, "]"));
    }
    const std::string at = absl::StrFormat(", mean reward %g", mean);
    for (const double of_canary : {-effect, 0.0, effect}) {
      ASSIGN_OR_RETURN(const Ends ends,
                       RunMany({.mean_reward = mean,
                                .effect = of_canary,
                                .most_decisions = absl::GetFlag(
                                    of_canary == 0 ? FLAGS_equal_decisions
                                                   : FLAGS_most_decisions)}));
      Print(mean, of_canary, ends);
      if (of_canary < 0) {
        report.targets.push_back({"worse versions that reach 50 %" + at,
                                  ends.ShareOf(ends.half), 0});
      } else if (of_canary > 0) {
        report.targets.push_back({"better versions that reach 100 %" + at,
                                  ends.ShareOf(ends.all), 0.9, true});
        report.targets.push_back({"better versions that go back" + at,
                                  ends.ShareOf(ends.back), 0.025});
      } else {
        report.targets.push_back({"equal versions that go back" + at,
                                  ends.ShareOf(ends.back), kMostFalselyBack});
      }
    }
  }
  return report;
}

}  // namespace
}  // namespace sortition

int main(int argc, char** argv) {
  return sortition::RunBenchmark(
      argc, argv,
      "Rollouts of versions that are worse, as good, or better: how they end, "
      "and after how many decisions.",
      sortition::Run);
}
