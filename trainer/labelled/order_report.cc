#include "trainer/labelled/order_report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sortition {
namespace {

using config::v1::EvaluateReport;

std::string Head(const EvaluateReport& report) {
  const std::string model =
      absl::StrFormat("%s version %d", report.model(), report.version());
  if (report.has_labels()) {
    return absl::StrFormat("%d rows, %d labels, predicted by %s\n",
                           report.queries(), report.labels(), model);
  }
  return absl::StrFormat("%d queries, %d candidates, ordered by %s\n",
                         report.queries(), report.candidates(),
                         report.has_version() ? model
                         : report.has_missing_queries()
                             ? "the scores of the run"
                             : "the scores given");
}

std::string MetricLine(const EvaluateReport& report,
                       const EvaluateReport::Metric& metric) {
  std::string text = absl::StrFormat(
      "  %-22s %8s", metric.name(),
      metric.has_value() ? absl::StrFormat("%.4f", metric.value()) : "-");
  if (metric.has_labels()) {
    absl::StrAppendFormat(&text, "   of %d labels that occur or are predicted",
                          metric.labels());
  } else if (metric.queries() != report.queries()) {
    absl::StrAppendFormat(&text, "   of %d queries that have it",
                          metric.queries());
  }
  return text + "\n";
}

// Returns what was done with queries that have nothing relevant.
std::string IrrelevantLine(const EvaluateReport& report) {
  const bool has_labels = report.has_labels();
  if (report.skipped_irrelevant()) {
    return absl::StrFormat(
        "  Left out: %d %s\n", report.irrelevant_queries(),
        has_labels ? "rows without a label" : "queries with nothing relevant");
  }
  if (report.irrelevant_queries() == 0) return "";
  return absl::StrFormat(
      "  Counted: %d %s; --skip_irrelevant_queries leaves them out\n",
      report.irrelevant_queries(),
      has_labels ? "rows without a label"
                 : "queries with nothing relevant, in metrics that have a "
                   "value for them");
}

std::string TrecLines(const EvaluateReport& report) {
  if (!report.has_missing_queries()) return "";
  std::string text;
  if (report.missing_queries() > 0) {
    absl::StrAppendFormat(
        &text, "  %s: %d judged queries that the run does not have%s\n",
        report.skipped_missing() ? "Left out" : "Counted as 0",
        report.missing_queries(),
        report.skipped_missing()
            ? ""
            : "; --skip_missing_queries leaves them out, as trec_eval does "
              "without -c");
  }
  if (report.unjudged_queries() > 0) {
    absl::StrAppendFormat(&text,
                          "  Left out: %d queries of the run that have no "
                          "judgement\n",
                          report.unjudged_queries());
  }
  absl::StrAppendFormat(
      &text,
      "  Retrieved without a judgement: %d documents, taken as not relevant\n"
      "  Relevant and not retrieved: %d documents\n",
      report.unjudged_candidates(), report.relevant_not_retrieved());
  if (report.negative_judgements() > 0) {
    absl::StrAppendFormat(&text, "  Judgements below 0: %d, taken as 0\n",
                          report.negative_judgements());
  }
  return text;
}

}  // namespace

std::string FormatOrderReport(const EvaluateReport& report) {
  std::string text = Head(report);
  for (const EvaluateReport::Metric& metric : report.metrics()) {
    text += MetricLine(report, metric);
  }
  text += IrrelevantLine(report) + TrecLines(report);
  if (report.has_threshold()) {
    absl::StrAppendFormat(&text, "  Predicted: scores above %g\n",
                          report.threshold());
  }
  if (report.has_tied_pairs()) {
    absl::StrAppendFormat(
        &text,
        "  Tied scores: %.2f %% of the pairs of different relevance; figures "
        "are means over all orders of ties\n",
        100 * report.tied_pairs());
  }
  for (const std::string& warning : report.warnings()) {
    absl::StrAppend(&text, "  Warning: ", warning, "\n");
  }
  return text;
}

}  // namespace sortition
