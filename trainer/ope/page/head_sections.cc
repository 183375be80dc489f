#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "process/drawing/xml_text.h"
#include "trainer/ope/page/estimate_rows.h"
#include "trainer/ope/page/html.h"
#include "trainer/ope/page/numbers.h"
#include "trainer/ope/page/sections.h"

namespace sortition {
namespace {

using config::v1::OpeReport;
using model::v1::Finding;

std::string Verdict(const OpeReport& report) {
  if (!report.verdict().empty()) return report.verdict();
  return report.decisions() == 0
             ? "The log has no decision that could be judged."
             : "This run came to no verdict.";
}

// Text that is not broken into lines.
std::string Whole(absl::string_view text) {
  return Element("span", EscapeXml(text), "class=\"whole\"");
}

std::string Time(const OpeReport& report) {
  return report.first_time().empty()
             ? "unknown"
             : absl::StrCat(Whole(report.first_time()), " to ",
                            Whole(report.last_time()));
}

std::string KeyFigures(const OpeReport& report) {
  // Names, and values as HTML.
  std::vector<std::pair<std::string, std::string>> figures = {
      {"Decisions judged", FormatCount(report.decisions())},
      {report.units_named() ? "Units that they belong to"
                            : "Units (not named in the log)",
       FormatCount(report.units())},
      {"Time of the decisions", Time(report)}};
  if (report.has_logged()) {
    figures.emplace_back(
        absl::StrCat("Mean reward of the log, ", ConfidenceOf(report),
                     " interval"),
        Whole(FormatEstimate(report.logged(), DecimalsFor({report.logged()}))));
  }
  std::string html;
  for (const auto& [name, value] : figures) {
    absl::StrAppend(&html, "<div>", Element("dt", EscapeXml(name)),
                    Element("dd", value), "</div>\n");
  }
  return Element("dl", html, "class=\"key\"") + "\n";
}

struct Gravity {
  const char* css_class;
  const char* words;
};

Gravity GravityOf(const Finding& finding) {
  switch (finding.gravity()) {
    case Finding::CONTRADICTION:
      return {"finding contradiction",
              "Contradiction: the propensities are wrong, no interval holds"};
    case Finding::UNSUPPORTED:
      return {"finding unsupported",
              "Unsupported: the log cannot carry this estimate"};
    default:
      return {"finding", "Caution"};
  }
}

}  // namespace

std::string Head(const OpeReport& report, const std::string& html_links) {
  return absl::StrCat(
      Element("h1", absl::StrCat("Policies judged from the log of ",
                                 Name(report.model()))),
      "\n", Element("p", EscapeXml(Verdict(report)), "class=\"verdict\""), "\n",
      KeyFigures(report), Paragraph(report.question()),
      Element("nav", html_links, "aria-label=\"Sections\""), "\n");
}

std::string FindingsSection(const OpeReport& report) {
  // With the name of the policy, empty for the log.
  std::vector<std::pair<const Finding*, std::string>> findings;
  for (const Finding& finding : report.findings()) {
    findings.emplace_back(&finding, "");
  }
  for (const config::v1::OpePolicy& policy : report.policies()) {
    for (const Finding& finding : policy.findings()) {
      findings.emplace_back(&finding, policy.name());
    }
  }
  std::stable_sort(findings.begin(), findings.end(),
                   [](const auto& a, const auto& b) {
                     return a.first->gravity() > b.first->gravity();
                   });
  std::string html;
  for (const auto& [finding, policy] : findings) {
    const Gravity gravity = GravityOf(*finding);
    absl::StrAppendFormat(
        &html, "<div class=\"%s\"><strong>%s</strong>%s%s</div>\n",
        gravity.css_class, gravity.words,
        policy.empty() ? "" : absl::StrCat("Policy ", Name(policy), ": "),
        EscapeXml(finding->sentence()));
  }
  return Section("findings", "Before you trust this", html);
}

}  // namespace sortition
