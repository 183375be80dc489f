// Part `outcomes`: guardrails on complaints that arrive days after their
// decision, from files that end before the log.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/support/parallel_runs.h"
#include "bench/verdicts/parts.h"
#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"
#include "core/counterfactual/evaluation/intervals.h"
#include "core/counterfactual/evaluation/policy_sums.h"
#include "io/files.h"
#include "trainer/decision_files/outcome_coverage.h"
#include "trainer/decision_files/reward_file.h"

namespace sortition {
namespace {

// The log draws one of two actions uniformly, once in ten minutes for 50 days.
// The policy takes the second, which causes more complaints, in nine of ten
// cases. It has 0.4 · 0.06 = 0.024 more complaints than the log; the guardrail
// allows 0.01.
constexpr int kDecisions = 7200;
constexpr int64_t kDayUs = int64_t{86'400'000'000};
constexpr int64_t kStepUs = kDayUs / 144;
constexpr double kComplaints[] = {0.02, 0.08};
constexpr double kTarget[] = {0.1, 0.9};
constexpr double kAllowed = 0.01;
constexpr int64_t kHorizonUs = 7 * kDayUs;  // Delays are uniform below it.

enum class Verdict { kRefused, kBroken, kHolds };

struct OutcomeCase {
  std::string name;
  double share = 1;  // Share of the log's time that the file covers.
  // The share that the file declares, if it is not the true one.
  double declared = 1;
};

// Returns the verdict on one simulated log.
absl::StatusOr<Verdict> Judge(const OutcomeCase& outcome_case, uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  const auto time_of = [](double share) {
    return static_cast<int64_t>(share * kDecisions) * kStepUs;
  };
  std::vector<size_t> actions;
  std::string rows = "decision_id,reward\n";
  for (int i = 0; i < kDecisions; ++i) {
    actions.push_back(random.Uniform() < 0.5 ? 0 : 1);
    const bool complains = random.Uniform() < kComplaints[actions.back()];
    const double arrives =
        static_cast<double>(i) * kStepUs + random.Uniform() * kHorizonUs;
    if (complains &&
        arrives <= static_cast<double>(time_of(outcome_case.share))) {
      absl::StrAppend(&rows, "d", i, ",-1\n");
    }
  }
  const std::string path =
      std::filesystem::temp_directory_path() /
      absl::StrCat("verdicts-", outcome_case.name, "-", seed, ".csv");
  RETURN_IF_ERROR(WriteFile(path, rows));
  const absl::StatusOr<RewardFile> file =
      RewardFile::Read(path,
                       {.horizon_us = kHorizonUs,
                        .through_us = time_of(outcome_case.declared),
                        .is_sparse = true},
                       RewardBounds{-1, 0});
  std::filesystem::remove(path);
  RETURN_IF_ERROR(file.status());
  OutcomeCoverage coverage;
  PolicySums sums(1, GroupSums::kDefaultGroups);
  for (int i = 0; i < kDecisions; ++i) {
    const std::string id = absl::StrCat("d", i);
    coverage.NoteInLog(*file, id);
    const std::optional<double> reward =
        coverage.NoteUsed(*file, id, i * kStepUs);
    if (!reward.has_value()) continue;
    const JudgedDecision judged = {.log_weight =
                                       std::log(kTarget[actions[i]] / 0.5)};
    sums.Add(UnitKey("", id), 1, *reward + 1, {&judged, 1});
  }
  if (!coverage.Check(*file).ok()) return Verdict::kRefused;
  const Interval change =
      BestInterval({.sums = &sums,
                    .of = IntervalTask::Of::kGainOverLog,
                    .estimator = {EstimatorKind::kControlledIps},
                    .units_are_decisions = true})
          .interval;
  return change.lower >= -kAllowed ? Verdict::kHolds : Verdict::kBroken;
}

}  // namespace

std::vector<Target> MeasureOutcomes(const VerdictOptions& options) {
  const std::vector<OutcomeCase> cases = {
      {.name = "whole"},
      {.name = "true-0.5", .share = 0.5, .declared = 0.5},
      {.name = "true-0.15", .share = 0.15, .declared = 0.15},
      {.name = "false-0.8", .share = 0.8},
      {.name = "false-0.5", .share = 0.5},
      {.name = "false-0.15", .share = 0.15}};
  std::vector<Target> targets;
  std::puts("\nComplaints rise by 0.024, 0.01 is allowed; the file ends early");
  std::puts("file         refused   broken   holds");
  for (const OutcomeCase& outcome_case : cases) {
    std::vector<Verdict> verdicts(static_cast<size_t>(options.runs));
    const absl::Status status = RunInParallel(
        verdicts.size(), options.threads, [&](size_t run) -> absl::Status {
          ASSIGN_OR_RETURN(verdicts[run], Judge(outcome_case, run + 1));
          return absl::OkStatus();
        });
    const auto share = [&](Verdict verdict) {
      return static_cast<double>(
                 std::count(verdicts.begin(), verdicts.end(), verdict)) /
             static_cast<double>(verdicts.size());
    };
    absl::PrintF("%-12s %7.3f   %6.3f   %5.3f\n", outcome_case.name,
                 share(Verdict::kRefused), share(Verdict::kBroken),
                 share(Verdict::kHolds));
    targets.push_back(
        {absl::StrCat("guardrails that hold falsely, file ", outcome_case.name),
         status.ok() ? share(Verdict::kHolds) : NAN, 0.025, false});
  }
  return targets;
}

}  // namespace sortition
