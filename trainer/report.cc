#include "trainer/report.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/features/suggest/suggest_features.h"
#include "core/learners/counterfactual/counterfactual_grid.h"
#include "google/protobuf/util/json_util.h"
#include "trainer/labelled/labelled_report.h"
#include "trainer/offpolicy/overlap_report.h"
#include "trainer/tuples/scan/left_out_report.h"
#include "trainer/tuples/scan/tuple_scan.h"

namespace sortition {
namespace {

using config::v1::TrainReport;

void AppendTuples(const TrainReport& report, std::string* text) {
  const auto& evaluation = report.evaluation();
  absl::StrAppendFormat(
      text,
      "Tuples of model '%s': %d read; %d to train, %d to validate, %d to "
      "test\n",
      report.model(), report.read_tuples(), evaluation.train_tuples(),
      evaluation.validation_tuples(), evaluation.test_tuples());
  AppendLeftOut(
      {report.kept_fraction(), report.corrupt_records(), report.excluded()},
      text);
  if (report.shown_otherwise() > 0) {
    absl::StrAppendFormat(
        text, "  %d of which something else than the action was shown: %s\n",
        report.shown_otherwise(),
        report.overrides() == "as_shown"
            ? "weight 0"
            : "their reward is that of the decision (intent_to_treat)");
  }
  if (report.counted_ranks() < report.logged_ranks()) {
    absl::StrAppendFormat(
        text,
        "  %.4g of %.4g ranks an order count (ranks = %s): its reward does not "
        "depend on the others\n",
        report.counted_ranks(), report.logged_ranks(), report.ranks());
  }
  if (report.has_rank_rewards()) {
    absl::StrAppendFormat(
        text,
        "  %d of the decisions to train have rewards by rank, %d count as one "
        "action (%s)\n",
        report.with_rank_rewards(), report.orders_as_one(),
        report.rank_rewards());
  }
  const std::map<std::string, uint64_t> sorted(
      report.without_full_support().begin(),
      report.without_full_support().end());
  for (const auto& [policy, count] : sorted) {
    absl::StrAppendFormat(
        text, "  %d of %s%s, which gave some actions probability 0\n", count,
        policy,
        absl::EndsWith(policy, kBaselinePolicy) ? ""
                                                : " without uniform_mixture");
  }
  const std::map<std::string, uint64_t> absent(report.absent_columns().begin(),
                                               report.absent_columns().end());
  for (const auto& [column, count] : absent) {
    absl::StrAppendFormat(
        text, "  %d lack the column '%s', which counts as missing there\n",
        count, column);
  }
}

// Returns true if points of the grid were trained by different optimisers.
bool HasBothOptimisers(const TrainReport& report) {
  const auto& grid = report.evaluation().grid();
  return std::any_of(grid.begin(), grid.end(), [&](const auto& point) {
    return point.termination() != kNotTrained &&
           point.optimiser() != grid[grid.size() - 1].optimiser();
  });
}

// Returns a title like "CRM, STOCHASTIC, clipped at M = 10".
std::string LearnerTitle(const TrainReport& report) {
  if (report.evaluation().grid_size() == 0) return "No grid";
  const auto& first = report.evaluation().grid(0);
  return absl::StrFormat(
      "Objective %s, optimiser %s%s", first.objective(),
      HasBothOptimisers(report) ? "TRY_BOTH" : first.optimiser(),
      report.has_train_clip()
          ? absl::StrFormat(", clipped at M = %.4g", report.train_clip())
          : std::string());
}

// Returns columns like "0.7321   [0.5747, 0.8811]".
std::string WithInterval(const model::v1::Estimate& estimate) {
  return absl::StrFormat(
      "%8.4f %18s", estimate.value(),
      absl::StrFormat("[%.4f, %.4f]", estimate.lower(), estimate.upper()));
}

// Returns true if an estimate contradicts the interval that is printed with it.
bool IsOutside(const model::v1::Estimate& estimate) {
  return estimate.value() < estimate.lower() ||
         estimate.value() > estimate.upper();
}

// Returns β, empty for the parent, which is not trained.
std::string SmoothingCell(const model::v1::Evaluation::GridPoint& point) {
  const double smoothing = point.has_smoothing() ? point.smoothing() : 1;
  return point.termination() == kNotTrained
             ? std::string(10, ' ')
             : absl::StrFormat("%9.3g ", smoothing);
}

// A grid without smoothing has no column of it.
void AppendGrid(const TrainReport& report, std::string* text) {
  const auto& grid = report.evaluation().grid();
  const bool both = HasBothOptimisers(report);
  const char* const rounds = both ? "rounds"
                             : !grid.empty() && grid[0].optimiser() == "BATCH"
                                 ? "iterations"
                                 : "epochs";
  const bool smooths =
      std::any_of(grid.begin(), grid.end(),
                  [](const auto& point) { return point.has_smoothing(); });
  absl::StrAppendFormat(
      text,
      "\n%s\n  %s%s%7s %8s %7s  %-6s %10s  %-22s %10s  %27s  %27s "
      "%10s %8s\n",
      LearnerTitle(report), both ? "optimiser   " : "",
      smooths ? "smoothing " : "", "c", "lambda", "l2", "start", rounds,
      "ended by", "objective", "eq. 1", "improvement", "criterion", "ess");
  for (const auto& point : grid) {
    absl::StrAppendFormat(
        text,
        "%c %s%s%7s %8.3g %7.3g  %-6s %10d  %-22s %10.5f  %27s  %27s %10.5f "
        "%8.1f\n",
        point.chosen() ? '*' : ' ',
        both ? absl::StrFormat("%-12s", point.optimiser()) : std::string(),
        smooths ? SmoothingCell(point) : std::string(),
        point.has_lambda_factor()
            ? absl::StrFormat("%.3g", point.lambda_factor())
            : "",
        point.lambda(), point.l2(), point.start(),
        point.epochs() + point.iterations(), point.termination(),
        point.train_objective(),
        // A point that diverged has no estimate.
        point.has_validation_estimate()
            ? WithInterval(point.validation_estimate())
            : "",
        point.has_validation_improvement()
            ? WithInterval(point.validation_improvement())
            : "",
        point.validation_lower(), point.effective_sample_size());
  }
  for (const auto& point : grid) {
    if (point.chosen() && point.termination() == kNotTrained) {
      absl::StrAppend(text,
                      "  Nothing that was trained validates better than the "
                      "parent, whose parameters are kept.\n");
    }
  }
  const auto num_outside =
      std::count_if(grid.begin(), grid.end(), [](const auto& point) {
        return IsOutside(point.validation_estimate()) ||
               IsOutside(point.validation_improvement());
      });
  if (num_outside > 0) {
    absl::StrAppendFormat(
        text,
        "  In %d rows an estimate is outside of its interval, which goes by "
        "clipped IPS: a few large weights decide the estimate, or the mean "
        "weight is not 1.\n",
        num_outside);
  }
  absl::StrAppendFormat(
      text,
      "  On the validation part. eq. 1: unbiased estimate, %g %% interval of "
      "what it estimates; improvement: over\n"
      "  the logging policy, clipped IPS; each interval holds for its row "
      "alone. criterion: gain over what is to\n"
      "  be replaced minus one standard error, the largest is chosen; ess: "
      "effective sample size.\n",
      100 * report.validation_improvement().confidence());
}

void AppendEstimate(const char* name, const model::v1::Estimate& estimate,
                    std::string* text) {
  absl::StrAppendFormat(text, "  %-42s %9.4f   [%.4f, %.4f]\n", name,
                        estimate.value(), estimate.lower(), estimate.upper());
}

// Says that an estimate is outside of its own interval, if it is: the interval
// bounds the truth by other sums than those of the estimate.
void AppendOutside(const char* name, const model::v1::Estimate& estimate,
                   std::string* text) {
  if (!IsOutside(estimate)) return;
  absl::StrAppendFormat(
      text,
      "  %s: the estimate is outside of its own interval: a few large weights "
      "decide it, or the mean weight is not 1\n",
      name);
}

void AppendEvaluation(const TrainReport& report, std::string* text) {
  const auto& evaluation = report.evaluation();
  const auto& validation = report.validation_improvement();
  absl::StrAppendFormat(
      text, "\n  Improvement, validation part: %s%s\n",
      WithInterval(validation),
      report.test_looked_at() ? "" : "; the test part was not looked at");
  AppendOutside("validation part", validation, text);
  if (!report.test_looked_at()) return;
  absl::StrAppendFormat(text, "\n  %-42s %9s   %g %% interval\n",
                        "Reward per decision, test part", "estimate",
                        100 * evaluation.logging_reward().confidence());
  AppendEstimate("logging policy", evaluation.logging_reward(), text);
  AppendEstimate(
      absl::StrFormat("new policy, IPS clipped at %.4g", evaluation.clip())
          .c_str(),
      evaluation.ips_reward(), text);
  AppendEstimate("new policy, self-normalised (asymptotic)",
                 evaluation.snips_reward(), text);
  AppendEstimate("improvement", evaluation.improvement(), text);
  AppendEstimate("improvement, clipped, by decision",
                 evaluation.clipped_improvement(), text);
  for (const auto& guardrail : evaluation.guardrails()) {
    AppendEstimate(absl::StrFormat("guardrail %s, %g less allowed: %s",
                                   guardrail.reward(), guardrail.allowed(),
                                   guardrail.holds() ? "holds" : "broken")
                       .c_str(),
                   guardrail.change(), text);
  }
  for (const auto& coverage : report.reward_coverage()) {
    absl::StrAppendFormat(
        text, "  %s: %d of %d test decisions are judged; its file judges %s\n",
        coverage.reward(), coverage.judged(),
        coverage.judged() + coverage.not_judged(), coverage.period());
  }
  AppendOutside("improvement", evaluation.improvement(), text);
  if (evaluation.look() > 1) {
    absl::StrAppendFormat(
        text,
        "  improvement: look %d at the decisions of the version to be "
        "replaced; all looks together keep %g %%\n",
        evaluation.look(), 100 * evaluation.logging_reward().confidence());
  }
  if (evaluation.test_units() < evaluation.test_tuples()) {
    absl::StrAppendFormat(
        text,
        "  improvement: by %d units; the other intervals take decisions for "
        "independent, and are too short\n",
        evaluation.test_units());
  }
  absl::StrAppendFormat(
      text, "  effective sample size %.1f of %d; %.2f %% of weights clipped\n",
      evaluation.effective_sample_size(), evaluation.test_tuples(),
      100 * evaluation.clipped_fraction());
}

}  // namespace

std::string FormatFeatures(const TrainReport& report) {
  std::string text;
  if (report.has_drafted_features()) {
    const std::vector<absl::string_view> lines =
        absl::StrSplit(report.drafted_features(), '\n');
    const auto num_transforms =
        std::count_if(lines.begin(), lines.end(), [](absl::string_view line) {
          return absl::StartsWith(line, "transform");
        });
    absl::StrAppendFormat(
        &text,
        "Features: drafted from the columns (--features=auto), %d transforms; "
        "`suggest-features` prints the spec\n",
        num_transforms);
    for (const absl::string_view line : lines) {
      if (absl::StartsWith(line, kLeftOutBegin)) {
        absl::StrAppend(&text, "  left out ", line.substr(kLeftOutBegin.size()),
                        "\n");
      }
    }
  }
  if (report.unread_columns_size() > 0) {
    absl::StrAppendFormat(
        &text,
        "Features are those of the version to be replaced, which does not read "
        "these columns of the log: %s. --features=auto drafts features of all "
        "columns\n",
        absl::StrJoin(report.unread_columns(), ", "));
  }
  return text;
}

std::string FormatReport(const TrainReport& report) {
  std::string text = FormatFeatures(report);
  if (report.has_labelled()) return text + FormatLabelledReport(report);
  AppendTuples(report, &text);
  AppendGrid(report, &text);
  AppendEvaluation(report, &text);
  AppendBounds(report.evaluation(), &text);
  AppendOverlap(report.evaluation(), &text);
  AppendFindings(report.evaluation(), &text);
  absl::StrAppend(&text, "\n", report.evaluation().verdict(), "\n");
  if (report.has_version()) {
    absl::StrAppendFormat(&text, "%s version %d, parent %d, %.1f s\n",
                          report.model(), report.version(),
                          report.parent_version(), report.seconds());
  }
  if (!report.rollout().empty()) {
    absl::StrAppend(&text, report.rollout(), "\n");
  }
  return text;
}

absl::StatusOr<std::string> ReportToJson(
    const google::protobuf::Message& report) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string json;
  const auto status =
      google::protobuf::util::MessageToJsonString(report, &json, options);
  if (!status.ok()) {
    return absl::InternalError(
        absl::StrCat("report as JSON: ", status.ToString()));
  }
  return json;
}

}  // namespace sortition
