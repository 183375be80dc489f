#include <algorithm>
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

using config::v1::OpeEstimate;
using config::v1::OpeReport;
using config::v1::OpeSlice;

using Slices = google::protobuf::RepeatedPtrField<OpeSlice>;

// Longer plots would not fit on a sheet of paper.
constexpr int kMostRows = 30;
// So many dates stand beside each other below a chart.
constexpr int kMostDates = 5;

// Returns the policy's estimate in this slice, empty if there is none.
const OpeEstimate& EstimateIn(const OpeSlice& slice, int policy) {
  return policy < slice.policies_size() ? slice.policies(policy)
                                        : OpeEstimate::default_instance();
}

bool AnySliceHas(const Slices& slices, int policy, Quantity quantity) {
  return std::any_of(slices.begin(), slices.end(), [&](const OpeSlice& slice) {
    return Has(EstimateIn(slice, policy), quantity);
  });
}

// Returns the policies that the slices say something of.
std::vector<int> PoliciesIn(const OpeReport& report, const Slices& slices,
                            Quantity quantity) {
  std::vector<int> policies;
  for (int i = 0; i < report.policies_size(); ++i) {
    if (AnySliceHas(slices, i, quantity)) policies.push_back(i);
  }
  return policies;
}

// Gains say more than values, if there are any.
Quantity BestQuantity(const OpeReport& report, const Slices& slices) {
  return PoliciesIn(report, slices, Quantity::kGain).empty() ? Quantity::kValue
                                                             : Quantity::kGain;
}

int DecimalsIn(const Slices& slices, Quantity quantity) {
  std::vector<const OpeEstimate*> estimates;
  for (const OpeSlice& slice : slices) {
    for (const OpeEstimate& estimate : slice.policies()) {
      estimates.push_back(&estimate);
    }
  }
  return DecimalsOf(estimates, quantity);
}

// Returns forest plots with a heading for each slice and a row for each policy.
std::vector<std::string> Forests(const OpeReport& report, const Slices& slices,
                                 const std::string& title) {
  const Quantity quantity = BestQuantity(report, slices);
  const std::vector<int> policies = PoliciesIn(report, slices, quantity);
  std::vector<std::string> figures;
  if (policies.empty()) return figures;
  const int decimals = DecimalsIn(slices, quantity);
  const int rows_of_slice = 1 + static_cast<int>(policies.size());
  const int most_slices = std::max(1, kMostRows / rows_of_slice);
  for (int first = 0; first < slices.size(); first += most_slices) {
    ForestPlot plot = {.title = title,
                       .x_name = AxisName(report, quantity),
                       .levels = LevelsOf(report, quantity)};
    const int end = std::min(slices.size(), first + most_slices);
    for (int s = first; s < end; ++s) {
      plot.rows.push_back(
          {.name = slices[s].name(),
           .estimate = {},
           .note = FormatCountOf(slices[s].decisions(), "decision")});
      for (const int policy : policies) {
        plot.rows.push_back(RowOf(EstimateIn(slices[s], policy), quantity,
                                  report.policies(policy).name(), decimals));
        plot.rows.back().group = policy;
        plot.rows.back().marked = false;
      }
    }
    figures.push_back(Figure(plot, ""));
  }
  return figures;
}

std::string SliceTable(const OpeReport& report, const Slices& slices,
                       const std::string& caption, const std::string& what) {
  HtmlTable table = {
      .caption = caption,
      .columns = {
          {what, false}, {"decisions"}, {"units"}, {"mean of the log"}}};
  const Quantity quantity = BestQuantity(report, slices);
  const std::vector<int> policies = PoliciesIn(report, slices, quantity);
  for (const int policy : policies) {
    table.columns.push_back({absl::StrCat(
        report.policies(policy).name(), ", ",
        quantity == Quantity::kValue ? "value" : GainName(report))});
  }
  const int decimals = DecimalsIn(slices, quantity);
  for (const OpeSlice& slice : slices) {
    std::vector<std::string> row = {
        Name(slice.name()), FormatCount(slice.decisions()),
        FormatCount(slice.units()),
        slice.has_logged()
            ? FormatEstimate(slice.logged(), DecimalsFor({slice.logged()}))
            : ""};
    for (const int policy : policies) {
      const OpeEstimate& estimate = EstimateIn(slice, policy);
      row.push_back(Has(estimate, quantity)
                        ? FormatEstimate(NumberOf(estimate, quantity), decimals)
                        : "unknown");
    }
    table.html_rows.push_back(std::move(row));
  }
  return Table(table);
}

// Says whether the intervals hold for all slices at once: then each has more
// confidence than the report.
std::string WhatHolds(const OpeReport& report, const Slices& slices,
                      const std::string& what) {
  const Quantity quantity = BestQuantity(report, slices);
  const std::vector<int> policies = PoliciesIn(report, slices, quantity);
  if (policies.empty()) return "";
  double least = 1;
  for (const OpeSlice& slice : slices) {
    const OpeEstimate& estimate = EstimateIn(slice, policies[0]);
    if (!Has(estimate, quantity)) continue;
    least = std::min(least, NumberOf(estimate, quantity).confidence());
  }
  if (least <= report.confidence()) {
    return Paragraph(absl::StrCat("Each interval holds for itself with ",
                                  ConfidenceOf(report), " confidence."));
  }
  return Paragraph(
      absl::StrCat("The intervals of a policy hold for all ", what,
                   " at once with ", ConfidenceOf(report),
                   " confidence, so each is wider than it would be alone."));
}

BandChart::Spot SpotOf(const OpeSlice& slice, int policy, int place,
                       Quantity quantity) {
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  const OpeEstimate& estimate = EstimateIn(slice, policy);
  if (!Has(estimate, quantity)) {
    return {static_cast<double>(place), kUnknown, kUnknown, kUnknown};
  }
  const model::v1::Estimate& number = NumberOf(estimate, quantity);
  return {static_cast<double>(place), number.value(), number.lower(),
          number.upper()};
}

std::vector<Tick> DateTicks(const Slices& days) {
  const int step = (days.size() + kMostDates - 1) / kMostDates;
  std::vector<Tick> ticks;
  for (int i = 0; i < days.size(); i += step) {
    ticks.push_back({static_cast<double>(i), Shorten(days[i].name(), 12)});
  }
  return ticks;
}

std::string DaysChart(const OpeReport& report, Quantity quantity) {
  BandChart chart = {
      .title = quantity == Quantity::kValue ? "Value by day" : "Gain by day",
      .x_name = "day (UTC)",
      .y_name = quantity == Quantity::kValue ? "reward per decision"
                                             : GainName(report),
      .x_ticks = DateTicks(report.days())};
  for (const int policy : PoliciesIn(report, report.days(), quantity)) {
    BandChart::Series series = {report.policies(policy).name(), {}};
    for (int i = 0; i < report.days_size(); ++i) {
      series.spots.push_back(SpotOf(report.days(i), policy, i, quantity));
    }
    chart.series.push_back(std::move(series));
  }
  if (chart.series.empty()) return "";
  if (quantity == Quantity::kGain) chart.levels = {{0, "no gain"}};
  if (quantity == Quantity::kValue) {
    BandChart::Series logged = {"the log", {}};
    for (int i = 0; i < report.days_size(); ++i) {
      const double mean = report.days(i).logged().value();
      logged.spots.push_back({static_cast<double>(i), mean, mean, mean});
    }
    chart.series.push_back(std::move(logged));
  }
  return Figure(chart, "");
}

}  // namespace

std::string DaysSection(const OpeReport& report) {
  if (report.days_size() < 2) return "";
  return Section(
      "days", "Over time",
      absl::StrCat(WhatHolds(report, report.days(), "days"),
                   Figures({DaysChart(report, Quantity::kValue),
                            DaysChart(report, Quantity::kGain)}),
                   Folded("Days in numbers",
                          SliceTable(report, report.days(), "By day", "day"))));
}

std::string SegmentsSection(const OpeReport& report) {
  if (report.segments_size() == 0) return "";
  return Section(
      "segments", "By segment",
      absl::StrCat(
          WhatHolds(report, report.segments(), "segments"),
          Figures(Forests(report, report.segments(), "Segments")),
          Folded("Segments in numbers", SliceTable(report, report.segments(),
                                                   "By segment", "segment"))));
}

std::string PropensitiesSection(const OpeReport& report) {
  if (report.propensities_size() == 0) return "";
  return Section(
      "propensities", "By propensity",
      absl::StrCat(
          Paragraph("Decisions are grouped by the probability with which the "
                    "log chose as it did. Shown is what a policy earns when it "
                    "takes actions of such a propensity, a mean by its "
                    "weights."),
          WhatHolds(report, report.propensities(), "groups"),
          Figures(
              Forests(report, report.propensities(), "Groups of propensities")),
          Folded("Groups in numbers",
                 SliceTable(report, report.propensities(), "By propensity",
                            "propensity"))));
}

}  // namespace sortition
