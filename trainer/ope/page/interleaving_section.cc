#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "trainer/ope/page/html.h"
#include "trainer/ope/page/numbers.h"
#include "trainer/ope/page/sections.h"

namespace sortition {
namespace {

using config::v1::OpeInterleaving;
using config::v1::OpeReport;

std::vector<std::string> RowOf(const OpeInterleaving& each) {
  const bool is_known = each.has_preference();
  return {absl::StrCat(each.version()),
          absl::StrCat(each.other_version()),
          Name(each.method()),
          FormatCount(each.decisions()),
          FormatCount(each.with_rank_rewards()),
          is_known ? FormatEstimate(each.preference(),
                                    DecimalsFor({each.preference()}))
                   : "unknown",
          is_known ? FormatRounded(each.credited(), 3) : "unknown",
          each.has_needed() ? FormatCount(each.needed()) : "unknown"};
}

}  // namespace

std::string InterleavingSection(const OpeReport& report) {
  HtmlTable table = {
      .caption = "What ranks earned, by the version that filled them",
      .columns = {{"serves"},
                  {"interleaved with"},
                  {"method", false},
                  {"decisions"},
                  {"with rewards of ranks"},
                  {"preference for the other, reward per decision"},
                  {"credited, reward per decision"},
                  {"decisions needed"}}};
  std::string verdicts;
  for (const OpeInterleaving& each : report.interleavings()) {
    table.html_rows.push_back(RowOf(each));
    absl::StrAppend(&verdicts, Paragraph(each.verdict()));
  }
  return Section("interleaving", "Interleaved orders",
                 absl::StrCat(verdicts, Table(table)));
}

}  // namespace sortition
