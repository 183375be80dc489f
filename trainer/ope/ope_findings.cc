#include "trainer/ope/ope_findings.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "trainer/ope/ope_words.h"

namespace sortition {
namespace {

using StoredFinding = model::v1::Finding;

// Noticeable.
constexpr double kShare = 0.01;

StoredFinding Make(absl::string_view kind, StoredFinding::Gravity gravity,
                   std::string sentence) {
  StoredFinding finding;
  finding.set_kind(std::string(kind));
  finding.set_gravity(gravity);
  finding.set_part("log");
  finding.set_sentence(std::move(sentence));
  return finding;
}

// Decisions that share their features may be of one user. One context alone is
// a log without features.
void AddSharedContexts(const LogSummary& summary,
                       std::vector<StoredFinding>* findings) {
  const uint64_t contexts = summary.contexts.num_units();
  if (summary.named > 0 || contexts < 2 || 2 * contexts > summary.decisions) {
    return;
  }
  findings->push_back(Make(
      "shared_features", StoredFinding::CAUTION,
      absl::StrCat(
          "The ", CountText(summary.decisions), " decisions have only ",
          CountText(contexts),
          " different features, and no unit_id: if those that share them are "
          "of one user, intervals are too narrow. Log unit_id; what groups "
          "would do is in the line 'in groups'.")));
}

void AddUnits(const OpeReportTask& task, std::vector<StoredFinding>* findings) {
  const uint64_t decisions = task.judgement.decisions();
  const uint64_t unnamed = task.summary.decisions - task.summary.named;
  if (task.summary.named > 0 && unnamed > 0) {
    findings->push_back(
        Make("unnamed_units", StoredFinding::CAUTION,
             absl::StrCat(CountText(unnamed), " of ", CountText(decisions),
                          " decisions name no unit: each decision id counts as "
                          "a unit of its own, however often it comes.")));
  }
  const uint64_t down = task.judgement.weighed_down();
  if (static_cast<double>(down) > kShare * static_cast<double>(decisions)) {
    findings->push_back(Make(
        "large_units", StoredFinding::CAUTION,
        absl::StrCat(CountText(down), " of ", CountText(decisions),
                     " decisions are of a few large units, which count less, "
                     "so that none of them decides alone; means are of what "
                     "counts.")));
  }
  // Intervals and guardrails infer from the units of the log to other units.
  constexpr double kUnequal = 10;
  const UnitSizes& units = task.summary.units;
  const double mean = static_cast<double>(units.num_decisions()) /
                      static_cast<double>(units.num_units());
  const auto largest = static_cast<double>(units.largest_unit());
  if (task.summary.named > 0 && largest > kUnequal * mean) {
    findings->push_back(Make(
        "unequal_units", StoredFinding::CAUTION,
        absl::StrCat("The largest unit has ", CountText(units.largest_unit()),
                     " decisions, the mean unit ",
                     absl::StrFormat("%.3g", mean),
                     ". Large units that are too rare to be in this log are "
                     "not in its intervals and guardrails, either.")));
  }
}

// The status page shows the mean of rewards as they were joined.
void AddClamped(const OpeReportTask& task,
                std::vector<StoredFinding>* findings) {
  const LogSummary& summary = task.summary;
  if (summary.clamped == 0) return;
  const double joined_mean =
      summary.joined_sum / static_cast<double>(summary.decisions);
  findings->push_back(Make(
      "clamped_rewards", StoredFinding::CAUTION,
      absl::StrCat(
          "The rewards of ", CountText(summary.clamped), " of ",
          CountText(summary.decisions), " decisions are outside of [",
          Text(task.options.reward_min()), ", ",
          Text(task.options.reward_max()),
          "] and count as the nearer end (--clamp_rewards). All numbers here "
          "are of clamped rewards; the mean of the rewards as joined, which "
          "the "
          "status page shows, is ",
          Text(joined_mean), ".")));
}

// `contradictions` of `decisions` have other propensities than the store says.
void AddStore(uint64_t contradictions, uint64_t decisions,
              std::vector<StoredFinding>* findings) {
  if (contradictions == 0) return;
  const bool are_many = static_cast<double>(contradictions) >
                        kShare * static_cast<double>(decisions);
  findings->push_back(Make(
      "other_propensities",
      are_many ? StoredFinding::CONTRADICTION : StoredFinding::CAUTION,
      absl::StrCat("In ", CountText(contradictions), " of ",
                   CountText(decisions),
                   " decisions the stored version gives the action another "
                   "probability than the log does: one of the two is wrong.")));
}

// Without the propensity of the caller, a log of its baseline has one action
// for each query.
void AddBaseline(const LogSummary& summary,
                 std::vector<StoredFinding>* findings) {
  if (summary.certain_baseline == 0) return;
  const bool are_most = 2 * summary.certain_baseline > summary.decisions;
  findings->push_back(Make(
      "certain_baseline",
      are_most ? StoredFinding::UNSUPPORTED : StoredFinding::CAUTION,
      absl::StrCat(
          "In ", CountText(summary.certain_baseline), " of ",
          CountText(summary.decisions),
          " decisions the caller's baseline decided, and it gave no propensity "
          "of its own: they say what the baseline earns, and nothing of any "
          "other action. Mode EXPLORE_ABOVE_BASELINE, or "
          "context.baseline.log_propensity of a caller that draws, logs what "
          "policies can be judged by.")));
}

void AddArms(const LogSummary& summary, std::vector<StoredFinding>* findings) {
  if (const uint64_t by_unit = summary.arms_balanced_by_unit; by_unit > 0) {
    findings->push_back(Make(
        "arms_by_unit", StoredFinding::CAUTION,
        absl::StrCat(CountText(by_unit), " of ", CountText(summary.decisions),
                     " decisions name their unit and are weighed against the "
                     "mixture of a split (arms = balanced). Estimates are "
                     "wrong if units return more often with one version than "
                     "with another. Take --arms=apart unless that is ruled "
                     "out.")));
  }
  if (summary.arms_without_mixture == 0) return;
  findings->push_back(Make(
      "arms_without_mixture", StoredFinding::CAUTION,
      absl::StrCat(CountText(summary.arms_without_mixture), " of ",
                   CountText(summary.decisions),
                   " decisions are of a split in which a version plays an "
                   "F-score game, whose mixture is not known: they are weighed "
                   "by the propensity of their own version (arms = apart).")));
}

void AddContexts(const OpeReportTask& task,
                 std::vector<StoredFinding>* findings) {
  const auto difference = task.judgement.other_contexts();
  if (!difference.has_value()) return;
  std::string version = "one version";
  for (const auto& [number, decisions] : task.summary.versions) {
    if (task.logging.IndexOf(number) == difference->version) {
      version = absl::StrCat("version ", number);
    }
  }
  findings->push_back(Make(
      "other_contexts", StoredFinding::CAUTION,
      absl::StrCat(
          "The contexts that ", version,
          " met are not those of the other versions: means of their features "
          "differ by ",
          absl::StrFormat("%.0f", std::min(difference->deviation, 999.0)),
          " standard errors. The estimators balanced and weighted, which need "
          "the same mix of contexts, are left out.")));
}

void AddInterleaved(const OpeReportTask& task,
                    std::vector<StoredFinding>* findings) {
  if (const uint64_t unknown = task.preferences.unknown(); unknown > 0) {
    findings->push_back(Make(
        "unknown_teams", StoredFinding::CAUTION,
        absl::StrCat("In ", CountText(unknown), " of ",
                     CountText(task.summary.interleaved),
                     " decisions whose order two versions made together the "
                     "model store lacks one of the two, or takes other "
                     "features: neither gets credit. Give --model_store.")));
  }
  for (const auto& each : task.preferences.Report({})) {
    if (each.without_ranks() == 0) continue;
    findings->push_back(Make(
        "unranked_feedback", StoredFinding::CAUTION,
        absl::StrCat(
            CountText(each.without_ranks()), " of ",
            CountText(each.decisions()), " decisions of versions ",
            each.version(), " and ", each.other_version(),
            " together have feedback that names no rank of their order: it "
            "credits neither version, and counts as 0. Report feedback with "
            "its rank.")));
  }
}

// What of rewards by rank was left out, or counts as something else.
void AddRanks(const RankingJudgement& rankings,
              std::vector<StoredFinding>* findings) {
  const RankingJudgement::Counts& counts = rankings.counts();
  const auto add = [&](absl::string_view kind, uint64_t count,
                       absl::string_view what) {
    if (count == 0) return;
    findings->push_back(
        Make(kind, StoredFinding::CAUTION,
             absl::StrCat("In rows by rank: ", CountText(count), " of ",
                          CountText(counts.decisions + counts.left_out),
                          " decisions ", what)));
  };
  add("without_rank_propensities", counts.left_out,
      "have no propensity of each rank, or the caller's baseline had a part in "
      "them: they are left out.");
  add("without_rank_marginals", counts.without_marginals,
      "do not tell how probably items were at ranks: the store lacks the "
      "version that logged them or contradicts it, or two versions made the "
      "order. Estimators that need it (iips, pi, adaptive, clicks) are left "
      "out, and so is the test of what stands above. Give --model_store.");
  add("unranked_rewards", counts.without_ranks,
      "have feedback that names no rank: it counts as 0. Report feedback with "
      "its rank.");
  add("ranks_shown_otherwise", counts.shown_otherwise,
      "had something else shown, so that ranks of feedback are not those of "
      "the order: they earn 0.");
  if (counts.outside_range == 0) return;
  findings->push_back(
      Make("rank_reward_range", StoredFinding::CAUTION,
           absl::StrCat("In rows by rank: ", CountText(counts.outside_range),
                        " rewards of ranks are not between 0 and reward_max; "
                        "they count as the nearer end.")));
}

}  // namespace

std::vector<StoredFinding> LogFindings(const OpeReportTask& task) {
  std::vector<StoredFinding> findings;
  AddStore(task.logging.contradictions() + task.preferences.contradictions(),
           task.judgement.decisions(), &findings);
  AddClamped(task, &findings);
  AddBaseline(task.summary, &findings);
  AddArms(task.summary, &findings);
  AddContexts(task, &findings);
  AddInterleaved(task, &findings);
  if (task.rankings != nullptr) AddRanks(*task.rankings, &findings);
  AddSharedContexts(task.summary, &findings);
  AddUnits(task, &findings);
  for (std::string& warning : task.counts.censored_share.Warnings()) {
    findings.push_back(
        Make("censored", StoredFinding::CAUTION, std::move(warning)));
  }
  if (const auto warning = task.counts.overridden.Warning()) {
    findings.push_back(
        Make("overrides_by_version", StoredFinding::CAUTION, *warning));
  }
  for (const NamedRewards& rewards : task.rewards) {
    const uint64_t not_judged = rewards.coverage.not_judged();
    if (not_judged == 0) continue;
    findings.push_back(Make(
        "missing_rewards", StoredFinding::CAUTION,
        absl::StrCat(rewards.file.path(), " does not judge ",
                     CountText(not_judged), " of ",
                     CountText(rewards.coverage.used()), " decisions, which '",
                     rewards.name, "' leaves out: it judges ",
                     rewards.file.PeriodText(), ".")));
  }
  return findings;
}

StoredFinding LacksColumns(const JudgedPolicy& policy,
                           const std::string& columns) {
  return Make(
      "absent_columns", StoredFinding::CAUTION,
      absl::StrCat("Policy '", policy.name(),
                   "' reads columns that decisions lack: ", columns,
                   ". They count as missing, so that the estimate is of the "
                   "policy without them: requests that have them may earn more "
                   "or less."));
}

StoredFinding LearnedFromLog(const JudgedPolicy& policy, uint64_t before,
                             uint64_t decisions) {
  // The next whole second: the time as it is printed must not be earlier.
  const std::string time = absl::FormatTime(
      absl::RFC3339_sec,
      absl::FromUnixSeconds((policy.learned_time_us() + 999'999) / 1'000'000),
      absl::UTCTimeZone());
  const bool are_many =
      static_cast<double>(before) > kShare * static_cast<double>(decisions);
  StoredFinding finding = Make(
      "learned_from_log",
      are_many ? StoredFinding::UNSUPPORTED : StoredFinding::CAUTION,
      absl::StrCat(CountText(before), " of ", CountText(decisions),
                   " decisions are older than '", policy.name(),
                   "', which may have learned from them: its value is then too "
                   "high. Judge it by later ones: --since=",
                   time, "."));
  finding.set_part("train");
  return finding;
}

StoredFinding BoundsContradict(const JudgedPolicy& policy) {
  return Make(
      "contradictory_bounds", StoredFinding::CONTRADICTION,
      absl::StrCat("The logged propensities cannot be right: what '",
                   policy.name(),
                   "' surely earned and what it surely lost add up to more "
                   "than there is."));
}

model::v1::Finding HardlyJudged(double missing_mass) {
  StoredFinding finding = Make(
      "missing_mass", StoredFinding::CAUTION,
      absl::StrFormat(
          "The log can hardly judge %.2g %% of what the policy does: it takes "
          "these actions too rarely, or never. Intervals count that share with "
          "the worst reward. Log with more exploration.",
          100 * missing_mass));
  finding.set_part("test");
  return finding;
}

StoredFinding EstimatorDoesNotApply(EstimatorKind asked, EstimatorKind taken) {
  return Make("other_estimator", StoredFinding::CAUTION,
              absl::StrCat("The estimator ", EstimatorKey(asked),
                           " does not apply: it needs a model of rewards, "
                           "logging versions from the store or categories. "
                           "The answer is that of ",
                           EstimatorKey(taken), "."));
}

}  // namespace sortition
