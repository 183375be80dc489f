#include "trainer/ope/page/ope_page.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "process/drawing/xml_text.h"
#include "trainer/ope/page/html.h"
#include "trainer/ope/page/page_style.h"
#include "trainer/ope/page/sections.h"

namespace sortition {
namespace {

using config::v1::OpeReport;

// Browsers load nothing for this page, even if an escape failed.
constexpr absl::string_view kPolicy =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'";

struct Part {
  const char* id;
  const char* name;
  std::string html;
};

std::string Policies(const OpeReport& report) {
  std::string html;
  for (int i = 0; i < report.policies_size(); ++i) {
    absl::StrAppend(&html, PolicySection(report, i));
  }
  return html;
}

}  // namespace

std::string OpePage(const OpeReport& report) {
  const std::vector<Part> parts = {
      {"findings", "Findings", FindingsSection(report)},
      {"answer", "Answer", AnswerSection(report)},
      {"policy-0", "Policies", Policies(report)},
      {"days", "Days", DaysSection(report)},
      {"segments", "Segments", SegmentsSection(report)},
      {"propensities", "Propensities", PropensitiesSection(report)},
      {"interleaving", "Interleaving", InterleavingSection(report)},
      {"planning", "Planning", PlanningSection(report)},
      {"assumptions", "Assumptions", AssumptionsSection(report)},
      {"provenance", "Provenance", ProvenanceSection(report)}};
  std::string links;
  std::string body;
  for (const Part& part : parts) {
    if (part.html.empty()) continue;
    absl::StrAppendFormat(&links, "<a href=\"#%s\">%s</a>\n", part.id,
                          part.name);
    absl::StrAppend(&body, part.html);
  }
  return absl::StrFormat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
      "<meta charset=\"utf-8\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"%s\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\"/>\n"
      "<meta name=\"referrer\" content=\"no-referrer\"/>\n"
      "<title>Policies judged from the log of %s</title>\n"
      "<style>%s</style>\n</head>\n<body>\n<main>\n%s%s</main>\n</body>\n"
      "</html>\n",
      kPolicy, EscapeXml(report.model()), PageStyle(), Head(report, links),
      body);
}

}  // namespace sortition
