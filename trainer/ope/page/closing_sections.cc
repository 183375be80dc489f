#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "process/drawing/xml_text.h"
#include "trainer/ope/page/html.h"
#include "trainer/ope/page/numbers.h"
#include "trainer/ope/page/sections.h"

namespace sortition {
namespace {

using config::v1::OpeReport;

std::string LeftOutTable(const OpeReport& report) {
  std::vector<std::pair<std::string, uint64_t>> reasons(
      report.excluded().begin(), report.excluded().end());
  if (report.corrupt_records() > 0) {
    reasons.emplace_back("damaged records", report.corrupt_records());
  }
  std::sort(reasons.begin(), reasons.end(), [](const auto& a, const auto& b) {
    return std::pair(b.second, a.first) < std::pair(a.second, b.first);
  });
  HtmlTable table = {.caption = "What was left out",
                     .columns = {{"reason", false}, {"tuples"}}};
  for (const auto& [reason, count] : reasons) {
    table.html_rows.push_back({Name(reason), FormatCount(count)});
  }
  return Table(table);
}

std::string VersionsTable(const OpeReport& report) {
  const std::map<uint64_t, uint64_t> versions(report.logging_versions().begin(),
                                              report.logging_versions().end());
  HtmlTable table = {.caption = "Who chose in the log",
                     .columns = {{"version"}, {"decisions"}}};
  for (const auto& [version, decisions] : versions) {
    table.html_rows.push_back({absl::StrCat(version), FormatCount(decisions)});
  }
  return Table(table);
}

}  // namespace

std::string AssumptionsSection(const OpeReport& report) {
  std::vector<std::string> items;
  for (const std::string& assumption : report.assumptions()) {
    items.push_back(EscapeXml(assumption));
  }
  return Section("assumptions", "What was assumed", List(items));
}

std::string ProvenanceSection(const OpeReport& report) {
  std::vector<std::string> items = {absl::StrFormat(
      "%s read, %s judged.", FormatCountOf(report.read_tuples(), "tuple"),
      FormatCountOf(report.decisions(), "decision"))};
  if (!report.first_time().empty()) {
    items.push_back(absl::StrFormat("Decisions from %s to %s.",
                                    EscapeXml(report.first_time()),
                                    EscapeXml(report.last_time())));
  }
  items.push_back(absl::StrFormat("Rewards lie in [%s, %s].",
                                  FormatRounded(report.reward_min(), 6),
                                  FormatRounded(report.reward_max(), 6)));
  if (!report.command().empty()) {
    items.push_back(absl::StrCat("Command: ",
                                 Element("code", EscapeXml(report.command()))));
  }
  if (!report.program().empty()) {
    items.push_back(absl::StrFormat("Made by %s in %s s.",
                                    EscapeXml(report.program()),
                                    FormatRounded(report.seconds(), 3)));
  }
  return Section(
      "provenance", "Where this comes from",
      absl::StrCat(List(items), VersionsTable(report), LeftOutTable(report)));
}

}  // namespace sortition
