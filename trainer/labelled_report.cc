#include "trainer/labelled_report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sortition {
namespace {

using config::v1::LabelledReport;
using config::v1::TrainReport;

void AppendPoints(const LabelledReport& report, std::string* text) {
  absl::StrAppendFormat(text, "\n  %10s %12s %12s %9s %7s %8s %10s  %s\n",
                        "lambda", "objective", "dual bound", "gap", "passes",
                        "seconds", "validation", "ended by");
  const LabelledReport::Point* chosen = nullptr;
  for (const LabelledReport::Point& point : report.points()) {
    if (point.chosen()) chosen = &point;
    absl::StrAppendFormat(
        text, "%c %10.4g %12.6f %12s %9s %7d %8.2f %10.5f  %s\n",
        point.chosen() ? '*' : ' ', point.lambda(), point.objective(),
        point.has_gap() ? absl::StrFormat("%.6f", point.dual_bound()) : "",
        point.has_gap() ? absl::StrFormat("%.2e", point.gap()) : "",
        point.passes(), point.seconds(), point.validation(),
        point.termination());
  }
  absl::StrAppendFormat(
      text,
      "  validation: mean %s in expectation of the strategy learned; the "
      "largest is chosen\n",
      report.measure());
  if (chosen == nullptr || !chosen->has_gap()) return;
  absl::StrAppendFormat(
      text, "  The chosen objective is proved within %.2e of the minimum\n",
      chosen->gap());
  if (chosen->gap() > report.gap_tolerance()) {
    absl::StrAppendFormat(
        text,
        "  Warning: that is above gap_tolerance, %g; raise the limits of "
        "iterations, or lambda\n",
        report.gap_tolerance());
  }
}

void AppendMean(const std::string& name, const model::v1::Estimate& estimate,
                uint32_t draws, std::string* text) {
  absl::StrAppendFormat(
      text, "  %-36s %9.5f   [%.5f, %.5f]%s\n", name, estimate.value(),
      estimate.lower(), estimate.upper(),
      draws > 0 ? absl::StrFormat("   mean of %d draws a query", draws) : "");
}

void AppendGate(const LabelledReport& report, std::string* text) {
  absl::StrAppendFormat(text, "\n  %-36s %9s   %g %% interval (Student's t)\n",
                        absl::StrCat(report.measure(), " in expectation, ",
                                     report.part(), " part"),
                        "mean", 100 * report.new_measure().confidence());
  AppendMean("new policy", report.new_measure(), report.new_draws(), text);
  if (report.has_difference()) {
    AppendMean(absl::StrCat("version ", report.old_version()),
               report.old_measure(), report.old_draws(), text);
    AppendMean("difference, paired by query", report.difference(), 0, text);
  }
  if (report.part() == "validation") {
    absl::StrAppend(text,
                    "  There is no test part: lambda was chosen on these "
                    "queries, which flatters the new policy\n");
  }
}

void AppendQuality(const LabelledReport& report, std::string* text) {
  if (report.quality_size() == 0) return;
  const bool has_old = report.quality(0).has_old_value();
  absl::StrAppendFormat(
      text, "\n  %-36s %9s%s\n", "By score; NDCG .. MAP as LETOR's tool", "new",
      has_old ? absl::StrFormat("  version %d", report.old_version()) : "");
  for (const LabelledReport::Quality& row : report.quality()) {
    absl::StrAppendFormat(
        text, "  %-36s %9.4f%s\n", row.name(), row.value(),
        has_old ? absl::StrFormat("  %9.4f", row.old_value()) : "");
  }
}

}  // namespace

std::string FormatLabelledReport(const TrainReport& report) {
  const LabelledReport& labelled = report.labelled();
  std::string text = absl::StrFormat(
      "Labelled queries for model '%s': %d to train, %d to validate, %d to "
      "test; %d candidates, %d features\nLearner %s, measure %s, action %s\n",
      report.model(), labelled.training_queries(),
      labelled.validation_queries(), labelled.test_queries(),
      labelled.candidates(), labelled.num_features(), labelled.learner(),
      labelled.measure(), labelled.action());
  AppendPoints(labelled, &text);
  if (labelled.has_threshold()) {
    absl::StrAppendFormat(&text, "  Threshold of relevance: score %.6g\n",
                          labelled.threshold());
  }
  AppendGate(labelled, &text);
  AppendQuality(labelled, &text);
  absl::StrAppend(&text, "\n", report.evaluation().verdict(), "\n");
  if (report.has_version()) {
    absl::StrAppendFormat(&text, "%s version %d, %.1f s\n", report.model(),
                          report.version(), report.seconds());
  }
  return text;
}

}  // namespace sortition
