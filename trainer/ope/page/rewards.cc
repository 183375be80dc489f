#include <vector>

#include "absl/strings/str_cat.h"
#include "process/drawing/xml_text.h"
#include "trainer/ope/page/estimate_rows.h"
#include "trainer/ope/page/html.h"
#include "trainer/ope/page/numbers.h"
#include "trainer/ope/page/sections.h"

namespace sortition {
namespace {

using config::v1::OpeEstimate;
using config::v1::OpePolicy;
using config::v1::OpeReport;

std::string MoreRewards(const OpeReport& report, const OpePolicy& policy) {
  HtmlTable table = {
      .caption =
          absl::StrCat("Other rewards, ", ConfidenceOf(report), " intervals"),
      .columns = {{"reward", false}, {"value"}, {GainName(report)}}};
  for (const OpeEstimate& each : policy.more_rewards()) {
    const auto number = [&](Quantity quantity) {
      return Has(each, quantity) ? FormatEstimate(NumberOf(each, quantity),
                                                  DecimalsOf({&each}, quantity))
                                 : std::string();
    };
    table.html_rows.push_back({Name(each.estimator()), number(Quantity::kValue),
                               number(Quantity::kGain)});
  }
  return Table(table);
}

std::string Guardrails(const OpeReport& report, const OpePolicy& policy) {
  HtmlTable table = {.caption = "Guardrails: what must not fall",
                     .columns = {{"reward", false},
                                 {GainName(report)},
                                 {"allowed fall"},
                                 {"result", false}}};
  for (const model::v1::Guardrail& guardrail : policy.guardrails()) {
    const model::v1::Estimate& change = guardrail.change();
    table.html_rows.push_back(
        {Name(guardrail.reward()),
         guardrail.has_change() ? FormatEstimate(change, DecimalsFor({change}))
                                : "unknown: all rewards of its file are 0",
         FormatRounded(guardrail.allowed(), 3),
         guardrail.holds()
             ? "holds: the lower end is above the allowed fall"
             : Element("strong",
                       guardrail.has_change()
                           ? "not shown to hold: the lower end is below "
                             "the allowed fall"
                           : "not shown to hold")});
  }
  return Table(table);
}

}  // namespace

std::string Rewards(const OpeReport& report, const OpePolicy& policy) {
  return absl::StrCat(MoreRewards(report, policy), Guardrails(report, policy));
}

}  // namespace sortition
