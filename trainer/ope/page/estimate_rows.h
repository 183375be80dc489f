#pragma once
// Estimates of a report as rows of charts and tables.
#include <cstddef>
#include <string>
#include <vector>

#include "process/drawing/forest_plot.h"
#include "sortition/config/v1/ope_report.pb.h"

namespace sortition {

// Which number of an estimate is meant: a policy's value, or its gain over what
// it is compared with.
enum class Quantity { kValue, kGain };

// Returns whether the report has the number and it is no NaN.
bool Has(const config::v1::OpeEstimate& estimate, Quantity quantity);
// Returns the number with its interval, such as "0.12, no interval", and with
// "(!)" if an estimate was outside of its interval; an empty text if the
// estimate has no such number.
std::string EstimateText(const config::v1::OpeEstimate& estimate,
                         Quantity quantity, int decimals);
// Returns the assumptions of the estimate, and the reason if it has no interval
// or was outside of it.
std::string AssumptionsOf(const config::v1::OpeEstimate& estimate);
const model::v1::Estimate& NumberOf(const config::v1::OpeEstimate& estimate,
                                    Quantity quantity);
const std::string& IntervalKindOf(const config::v1::OpeEstimate& estimate,
                                  Quantity quantity);
// Returns the decimals for these estimates, by the narrowest interval.
int DecimalsOf(const std::vector<const config::v1::OpeEstimate*>& estimates,
               Quantity quantity);

// Returns "clipped_dr 12.5".
std::string EstimatorName(const config::v1::OpeEstimate& estimate);
// Returns "gain over the log".
std::string GainName(const config::v1::OpeReport& report);
// Returns the name of an axis: "reward per decision" or "gain over …, reward
// per decision".
std::string AxisName(const config::v1::OpeReport& report, Quantity quantity);
// Returns "95 %".
std::string ConfidenceOf(const config::v1::OpeReport& report);

// Returns a row of a forest plot. Without the number it has only a note.
ForestPlot::Row RowOf(const config::v1::OpeEstimate& estimate,
                      Quantity quantity, const std::string& name, int decimals);
// Returns the lines of a forest plot: the mean of the log, or no gain.
std::vector<ForestPlot::Level> LevelsOf(const config::v1::OpeReport& report,
                                        Quantity quantity);

}  // namespace sortition
