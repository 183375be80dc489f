#include "trainer/exploration/calibrate_report.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "trainer/exploration/exploration_text.h"
#include "trainer/tuples/scan/left_out_report.h"

namespace sortition {
namespace {

using config::v1::CalibrateReport;

void AppendData(const CalibrateReport& report, std::string* text) {
  absl::StrAppendFormat(text,
                        "Model '%s' version %d, inverse temperature alpha = "
                        "%.6g, uniform mixture "
                        "%g: %d tuples read, %d queries for the rates\n",
                        report.model(), report.version(),
                        report.present_alpha(), report.uniform_mixture(),
                        report.read_tuples(), report.queries());
  AppendLeftOut(
      {report.kept_fraction(), report.corrupt_records(), report.excluded()},
      text);
}

void AppendResult(const CalibrateReport& report, std::string* text) {
  if (!report.can_abstain()) {
    absl::StrAppend(text,
                    "\nThis policy cannot abstain: there is no rate to "
                    "calibrate to, only tables.\n");
    return;
  }
  absl::StrAppendFormat(text,
                        "\nThe deterministic rule (best candidate or none) "
                        "abstains in %.4g %% of "
                        "the queries.\n",
                        100 * report.map_abstention_rate());
  if (!report.has_alpha()) return;
  absl::StrAppendFormat(text, "Calibrated: alpha = %.6g%s\n", report.alpha(),
                        report.exact() ? "" : ", within the tolerance");
  if (report.roots_size() > 1) {
    absl::StrAppend(text, "  nearest to the present of several that do:");
    for (const double root : report.roots()) {
      absl::StrAppendFormat(text, " %.6g", root);
    }
    absl::StrAppend(text, "\n");
  }
}

void AppendRow(const CalibrateReport& report, const CalibrateReport::Row& row,
               std::string* text) {
  const auto& evaluation = row.evaluation();
  const std::string interval =
      absl::StrFormat("[%.4f, %.4f]", evaluation.ips_reward().lower(),
                      evaluation.ips_reward().upper());
  absl::StrAppendFormat(
      text, "%c %10s %9s %8.4f %8.2f %9.4f %18s %9.4f %11.1f\n",
      row.calibrated() ? '*' : ' ',
      row.has_alpha() ? absl::StrFormat("%.5g", row.alpha()) : "MAP",
      report.can_abstain()
          ? absl::StrFormat("%.2f %%", 100 * row.abstention_rate())
          : "-",
      row.map_probability(), std::exp(row.entropy()),
      evaluation.ips_reward().value(), interval,
      evaluation.snips_reward().value(), evaluation.effective_sample_size());
}

void AppendTemperatures(const CalibrateReport& report, std::string* text) {
  const auto& first = report.rows(0).evaluation();
  absl::StrAppendFormat(
      text, "\n  %10s %9s %8s %8s %9s %18s %9s %11s\n", "alpha", "abstains",
      "P(MAP)", "actions", "reward",
      absl::StrFormat("%g %% interval", 100 * first.ips_reward().confidence()),
      "self-n.", "eff. sample");
  for (const auto& row : report.rows()) AppendRow(report, row, text);
  absl::StrAppendFormat(
      text,
      "actions: exp(entropy), for rankings of the first rank. reward: clipped "
      "IPS on %d test tuples whose "
      "mean reward is %.4f [%.4f, %.4f]; each interval holds for its row "
      "alone, "
      "not for the best of several. self-n.: self-normalised, asymptotic.\n",
      first.test_tuples(), first.logging_reward().value(),
      first.logging_reward().lower(), first.logging_reward().upper());
}

}  // namespace

std::string FormatCalibration(const CalibrateReport& report) {
  std::string text;
  AppendData(report, &text);
  AppendResult(report, &text);
  if (report.rows_size() > 0) AppendTemperatures(report, &text);
  if (report.has_explorations()) {
    absl::StrAppend(&text, FormatExplorations(report.explorations()));
  }
  if (report.has_published_version()) {
    absl::StrAppendFormat(&text, "%s version %d published by --force\n",
                          report.model(), report.published_version());
  }
  return text;
}

}  // namespace sortition
