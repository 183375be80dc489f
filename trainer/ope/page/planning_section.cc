#include <cmath>
#include <limits>
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

using config::v1::OpeExploration;
using config::v1::OpePlan;
using config::v1::OpeReport;

// Returns the count, or words for none and for more than can be counted.
std::string Needed(bool known, uint64_t decisions) {
  if (!known || decisions == 0) return "unknown";
  return decisions == std::numeric_limits<uint64_t>::max()
             ? "no number is enough"
             : FormatCount(decisions);
}

std::string PlanTable(const OpeReport& report) {
  HtmlTable table = {.caption = "Decisions needed to see an improvement",
                     .columns = {{"policy", false},
                                 {"improvement, reward per decision"},
                                 {"decisions needed"},
                                 {"decisions in this log"},
                                 {"days at the rate of this log"}}};
  for (const OpePlan& plan : report.plans()) {
    table.html_rows.push_back(
        {Name(plan.policy()), FormatRounded(plan.improvement(), 3),
         Needed(plan.has_decisions(), plan.decisions()),
         FormatCount(plan.seen()),
         plan.has_days() ? FormatRounded(plan.days(), 3) : "unknown"});
  }
  return Table(table);
}

// Draws a line for each policy that has plans for several improvements.
std::string PlanChart(const OpeReport& report) {
  BandChart chart = {.title = "Decisions needed to see an improvement",
                     .x_name = "improvement, reward per decision",
                     .y_name = "decisions",
                     .logarithmic = true};
  for (const config::v1::OpePolicy& policy : report.policies()) {
    BandChart::Series series = {policy.name(), {}};
    for (const OpePlan& plan : report.plans()) {
      if (plan.policy() != policy.name()) continue;
      const auto decisions = static_cast<double>(plan.decisions());
      series.spots.push_back(
          {plan.improvement(), decisions, decisions, decisions});
    }
    if (series.spots.size() > 1) chart.series.push_back(std::move(series));
  }
  if (chart.series.empty()) return "";
  if (const uint64_t seen = report.plans(0).seen(); seen > 0) {
    chart.levels = {{static_cast<double>(seen), "decisions in this log"}};
  }
  return Figure(chart,
                "With as many decisions an improvement of this size is "
                "seen four times out of five.");
}

std::string ExplorationTable(const OpeReport& report) {
  HtmlTable table = {
      .caption = "Exploration: the newest version mixed with uniform choices",
      .columns = {{"share of uniform choices"},
                  {"value"},
                  {"cost, reward per decision"},
                  {"decisions needed to judge the uniform policy"}}};
  for (const OpeExploration& each : report.exploration()) {
    table.html_rows.push_back(
        {FormatShare(each.mixture()),
         each.value().has_value()
             ? FormatEstimate(each.value().value(),
                              DecimalsOf({&each.value()}, Quantity::kValue))
             : "unknown",
         FormatRounded(each.cost(), 3),
         Needed(each.has_decisions(), each.decisions())});
  }
  return Table(table);
}

std::string ExplorationChart(const OpeReport& report) {
  if (report.exploration_size() < 2) return "";
  BandChart chart = {.title = "What exploration costs",
                     .x_name = "share of uniform choices, %",
                     .y_name = "cost, reward per decision",
                     .series = {{"cost of exploration", {}}}};
  bool any = false;
  for (const OpeExploration& each : report.exploration()) {
    const double cost = each.cost();
    chart.series[0].spots.push_back({100 * each.mixture(), cost, cost, cost});
    any = any || std::isfinite(cost);
  }
  return any ? Figure(chart,
                      "Reward per decision that is lost against the "
                      "same policy without exploration.")
             : "";
}

}  // namespace

std::string PlanningSection(const OpeReport& report) {
  return Section(
      "planning", "How much more log, and how much exploration",
      absl::StrCat(Figures({PlanChart(report), ExplorationChart(report)}),
                   PlanTable(report), ExplorationTable(report)));
}

}  // namespace sortition
