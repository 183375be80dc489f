#include "trainer/ope/page/estimate_rows.h"

#include <cmath>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "process/drawing/xml_text.h"
#include "trainer/ope/page/numbers.h"

namespace sortition {

using config::v1::OpeEstimate;
using config::v1::OpeReport;

bool Has(const OpeEstimate& estimate, Quantity quantity) {
  const bool set =
      quantity == Quantity::kValue ? estimate.has_value() : estimate.has_gain();
  return set && !std::isnan(NumberOf(estimate, quantity).value());
}

namespace {

// Returns the number of an estimate without an interval; nullopt if it has one.
std::optional<double> Alone(const OpeEstimate& estimate, Quantity quantity) {
  if (quantity == Quantity::kValue) {
    if (!estimate.has_value_alone()) return std::nullopt;
    return estimate.value_alone();
  }
  if (!estimate.has_gain_alone()) return std::nullopt;
  return estimate.gain_alone();
}

}  // namespace

std::string EstimateText(const OpeEstimate& estimate, Quantity quantity,
                         int decimals) {
  if (const auto alone = Alone(estimate, quantity)) {
    return absl::StrCat(FormatNumber(*alone, decimals), ", no interval");
  }
  const bool is_set =
      quantity == Quantity::kValue ? estimate.has_value() : estimate.has_gain();
  if (!is_set) return "";
  // The reason is in AssumptionsOf().
  return absl::StrCat(FormatEstimate(NumberOf(estimate, quantity), decimals),
                      estimate.has_outside_interval() ? " (!)" : "");
}

std::string AssumptionsOf(const OpeEstimate& estimate) {
  if (estimate.has_outside_interval()) {
    return absl::StrCat(estimate.outside_interval(), " ", estimate.assumes());
  }
  if (!estimate.has_no_interval()) return estimate.assumes();
  return absl::StrCat(estimate.assumes(),
                      " No interval: ", estimate.no_interval());
}

const model::v1::Estimate& NumberOf(const OpeEstimate& estimate,
                                    Quantity quantity) {
  return quantity == Quantity::kValue ? estimate.value() : estimate.gain();
}

const std::string& IntervalKindOf(const OpeEstimate& estimate,
                                  Quantity quantity) {
  return quantity == Quantity::kValue ? estimate.value_interval()
                                      : estimate.gain_interval();
}

int DecimalsOf(const std::vector<const OpeEstimate*>& estimates,
               Quantity quantity) {
  std::vector<model::v1::Estimate> numbers;
  for (const OpeEstimate* estimate : estimates) {
    if (Has(*estimate, quantity)) {
      numbers.push_back(NumberOf(*estimate, quantity));
    }
  }
  return DecimalsFor(numbers);
}

std::string EstimatorName(const OpeEstimate& estimate) {
  std::string name = estimate.estimator();
  if (estimate.has_parameter()) {
    absl::StrAppend(&name, " ", FormatRounded(estimate.parameter(), 3));
  }
  return name;
}

std::string GainName(const OpeReport& report) {
  const std::string& against = report.against();
  return absl::StrCat("gain over ", against.empty() || against == "log"
                                        ? "the log"
                                        : Shorten(against, 24));
}

std::string AxisName(const OpeReport& report, Quantity quantity) {
  if (quantity == Quantity::kValue) return "reward per decision";
  return absl::StrCat(GainName(report), ", reward per decision");
}

std::string ConfidenceOf(const OpeReport& report) {
  return FormatShare(report.confidence());
}

ForestPlot::Row RowOf(const OpeEstimate& estimate, Quantity quantity,
                      const std::string& name, int decimals) {
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  ForestPlot::Row row = {.name = name,
                         .estimate = {{kUnknown, kUnknown, kUnknown}},
                         .note = "unknown",
                         .marked = estimate.chosen()};
  if (const auto alone = Alone(estimate, quantity)) {
    row.estimate = {*alone, kUnknown, kUnknown};
    row.note = EstimateText(estimate, quantity, decimals);
    return row;
  }
  if (!Has(estimate, quantity)) return row;
  const model::v1::Estimate& number = NumberOf(estimate, quantity);
  row.estimate = {number.value(), number.lower(), number.upper()};
  row.note = FormatEstimate(number, decimals);
  return row;
}

std::vector<ForestPlot::Level> LevelsOf(const OpeReport& report,
                                        Quantity quantity) {
  if (quantity == Quantity::kGain) return {{0, "no gain"}};
  if (!report.has_logged()) return {};
  return {{report.logged().value(), "mean of the log"}};
}

}  // namespace sortition
