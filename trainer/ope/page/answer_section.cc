#include <vector>

#include "absl/strings/str_cat.h"
#include "process/drawing/xml_text.h"
#include "trainer/ope/page/estimate_rows.h"
#include "trainer/ope/page/figures.h"
#include "trainer/ope/page/html.h"
#include "trainer/ope/page/numbers.h"
#include "trainer/ope/page/sections.h"

namespace sortition {
namespace {

using config::v1::OpeEstimate;
using config::v1::OpePolicy;
using config::v1::OpeReport;

std::vector<const OpeEstimate*> Answers(const OpeReport& report) {
  std::vector<const OpeEstimate*> answers;
  for (const OpePolicy& policy : report.policies()) {
    answers.push_back(&policy.answer());
  }
  return answers;
}

std::string Chart(const OpeReport& report, Quantity quantity) {
  const int decimals = DecimalsOf(Answers(report), quantity);
  ForestPlot plot = {.title = quantity == Quantity::kValue
                                  ? "Value of each policy"
                                  : "Gain of each policy",
                     .x_name = AxisName(report, quantity),
                     .levels = LevelsOf(report, quantity)};
  for (int i = 0; i < report.policies_size(); ++i) {
    const OpePolicy& policy = report.policies(i);
    if (!Has(policy.answer(), quantity)) continue;
    plot.rows.push_back(
        RowOf(policy.answer(), quantity, policy.name(), decimals));
    plot.rows.back().group = i;
    plot.rows.back().marked = true;
  }
  return plot.rows.empty() ? "" : Figure(plot, "");
}

std::string Cell(const OpeEstimate& answer, Quantity quantity, int decimals) {
  return Has(answer, quantity)
             ? FormatEstimate(NumberOf(answer, quantity), decimals)
             : "";
}

// Returns the kind of the intervals, both where they differ.
std::string KindsOf(const OpeEstimate& answer) {
  const std::string& value = answer.value_interval();
  const std::string& gain = answer.gain_interval();
  return gain.empty() || gain == value
             ? value
             : absl::StrCat(value, ", of the gain ", gain);
}

std::string AnswerTable(const OpeReport& report) {
  HtmlTable table = {
      .caption = absl::StrCat("The answers with their ", ConfidenceOf(report),
                              " intervals"),
      .columns = {{"policy", false},
                  {"estimator", false},
                  {"interval", false},
                  {"value"},
                  {GainName(report)},
                  {"verdict", false}}};
  const std::vector<const OpeEstimate*> answers = Answers(report);
  const int value_decimals = DecimalsOf(answers, Quantity::kValue);
  const int gain_decimals = DecimalsOf(answers, Quantity::kGain);
  for (const OpePolicy& policy : report.policies()) {
    const OpeEstimate& answer = policy.answer();
    table.html_rows.push_back({Name(policy.name()),
                               EscapeXml(EstimatorName(answer)),
                               EscapeXml(KindsOf(answer)),
                               Cell(answer, Quantity::kValue, value_decimals),
                               Cell(answer, Quantity::kGain, gain_decimals),
                               EscapeXml(policy.verdict())});
  }
  std::string html = Table(table);
  for (const OpePolicy& policy : report.policies()) {
    if (!policy.answer().has_outside_interval()) continue;
    absl::StrAppend(
        &html, Paragraph(absl::StrCat(policy.name(), ": ",
                                      policy.answer().outside_interval())));
  }
  return html;
}

}  // namespace

std::string AnswerSection(const OpeReport& report) {
  return Section("answer", "The answer",
                 absl::StrCat(Figures({Chart(report, Quantity::kValue),
                                       Chart(report, Quantity::kGain)}),
                              AnswerTable(report)));
}

}  // namespace sortition
