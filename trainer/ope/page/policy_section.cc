#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
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

std::vector<const OpeEstimate*> Pointers(
    const google::protobuf::RepeatedPtrField<OpeEstimate>& estimates) {
  std::vector<const OpeEstimate*> pointers;
  for (const OpeEstimate& estimate : estimates) pointers.push_back(&estimate);
  return pointers;
}

std::string EstimatorsChart(const OpeReport& report, int index,
                            Quantity quantity) {
  const OpePolicy& policy = report.policies(index);
  const int decimals = DecimalsOf(Pointers(policy.estimates()), quantity);
  ForestPlot plot = {
      .title = absl::StrCat(Shorten(policy.name(), 24), ": ",
                            quantity == Quantity::kValue ? "value" : "gain",
                            " by each estimator"),
      .x_name = AxisName(report, quantity),
      .levels = LevelsOf(report, quantity)};
  bool any = false;
  for (const OpeEstimate& estimate : policy.estimates()) {
    plot.rows.push_back(
        RowOf(estimate, quantity, EstimatorName(estimate), decimals));
    plot.rows.back().group = index;
    any = any || Has(estimate, quantity);
  }
  if (!any) return "";
  return Figure(plot,
                "The diamond is the answer. An arrow says that an "
                "interval goes on beyond the axis.");
}

std::string EstimatorsTable(const OpeReport& report, const OpePolicy& policy) {
  HtmlTable table = {
      .caption =
          absl::StrCat("All estimators, ", ConfidenceOf(report), " intervals"),
      .columns = {{"estimator", false},
                  {"value"},
                  {"interval", false},
                  {GainName(report)},
                  {"interval", false},
                  {"assumes", false}}};
  const std::vector<const OpeEstimate*> all = Pointers(policy.estimates());
  const int value_decimals = DecimalsOf(all, Quantity::kValue);
  const int gain_decimals = DecimalsOf(all, Quantity::kGain);
  for (const OpeEstimate* estimate : all) {
    const std::string name = EscapeXml(EstimatorName(*estimate));
    table.html_rows.push_back(
        {estimate->chosen() ? Element("strong", name + " (the answer)") : name,
         EstimateText(*estimate, Quantity::kValue, value_decimals),
         EscapeXml(estimate->value_interval()),
         EstimateText(*estimate, Quantity::kGain, gain_decimals),
         EscapeXml(estimate->gain_interval()),
         EscapeXml(AssumptionsOf(*estimate))});
  }
  return Table(table);
}

std::string IntervalsTable(const OpeReport& report, const OpePolicy& policy) {
  HtmlTable table = {
      .caption = absl::StrCat("The answer by each kind of interval, ",
                              ConfidenceOf(report)),
      .columns = {{"interval", false},
                  {"value"},
                  {GainName(report)},
                  {"assumes", false}}};
  const std::vector<const OpeEstimate*> all = Pointers(policy.intervals());
  const int value_decimals = DecimalsOf(all, Quantity::kValue);
  const int gain_decimals = DecimalsOf(all, Quantity::kGain);
  for (const OpeEstimate* each : all) {
    const std::string& kind = each->value_interval().empty()
                                  ? each->gain_interval()
                                  : each->value_interval();
    const std::string name = EscapeXml(kind);
    const bool chosen = kind == policy.answer().value_interval();
    table.html_rows.push_back(
        {chosen ? Element("strong", name + " (the answer)") : name,
         each->has_value() ? FormatEstimate(each->value(), value_decimals) : "",
         each->has_gain() ? FormatEstimate(each->gain(), gain_decimals) : "",
         EscapeXml(each->assumes())});
  }
  return Table(table);
}

std::string RankingsTable(const OpeReport& report, const OpePolicy& policy) {
  if (!policy.has_rankings()) return "";
  HtmlTable table = {
      .caption = absl::StrCat("By rewards of ranks, ", ConfidenceOf(report),
                              " intervals"),
      .columns = {{"estimator", false},
                  {"value"},
                  {GainName(report)},
                  {"effective sample"},
                  {"assumes", false}}};
  const std::vector<const OpeEstimate*> all =
      Pointers(policy.rankings().estimates());
  const int value_decimals = DecimalsOf(all, Quantity::kValue);
  const int gain_decimals = DecimalsOf(all, Quantity::kGain);
  for (const OpeEstimate* row : all) {
    const std::string name = EscapeXml(EstimatorName(*row));
    table.html_rows.push_back(
        {row->chosen() ? Element("strong", name + " (to read)") : name,
         EstimateText(*row, Quantity::kValue, value_decimals),
         EstimateText(*row, Quantity::kGain, gain_decimals),
         row->has_effective_sample_size()
             ? FormatRounded(row->effective_sample_size(), 3)
             : "",
         EscapeXml(AssumptionsOf(*row))});
  }
  return absl::StrCat(Paragraph(policy.rankings().guidance()), Table(table));
}

std::string Remarks(const OpeReport& report, const OpePolicy& policy) {
  std::string html = Paragraph(policy.description());
  absl::StrAppend(&html, Paragraph(policy.verdict()));
  if (Has(policy.grouped(), Quantity::kGain)) {
    const model::v1::Estimate& gain = policy.grouped().gain();
    absl::StrAppend(
        &html,
        Paragraph(absl::StrFormat(
            "If every %d decisions that follow each other belonged together, "
            "the %s would be %s.",
            report.group_size(), GainName(report),
            FormatEstimate(gain, DecimalsFor({gain})))));
  }
  if (policy.without_probabilities() > 0) {
    absl::StrAppend(
        &html, Paragraph(absl::StrCat(
                   absl::StartsWith(policy.name(), "shadow:")
                       ? "This version did not look on at "
                       : "The file of this policy lacks ",
                   FormatCountOf(policy.without_probabilities(), "decision"),
                   " of the log; they are not judged for it.")));
  }
  return html;
}

}  // namespace

std::string PolicySection(const OpeReport& report, int policy) {
  const OpePolicy& each = report.policies(policy);
  return Section(
      absl::StrCat("policy-", policy), absl::StrCat("Policy ", each.name()),
      absl::StrCat(Remarks(report, each),
                   Figures({EstimatorsChart(report, policy, Quantity::kValue),
                            EstimatorsChart(report, policy, Quantity::kGain)}),
                   Folded("Estimators in numbers, and what they assume",
                          EstimatorsTable(report, each)),
                   IntervalsTable(report, each), RankingsTable(report, each),
                   Rewards(report, each), Weights(each)));
}

}  // namespace sortition
