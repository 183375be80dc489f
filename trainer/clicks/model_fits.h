#pragma once
// Fits click models and compares them on sessions that they have not seen.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/clicks/click_model.h"
#include "sortition/config/v1/clicks.pb.h"
#include "trainer/clicks/click_data.h"

namespace sortition {

// Returns the kinds that `options.models` names, all if it names none.
// InvalidArgument if one is unknown or named twice.
absl::StatusOr<std::vector<ClickModelKind>> ParseClickModels(
    const config::v1::ClicksOptions& options);

// Fits the kinds one after the other and fills in report->models, best,
// simplest and verdict. Differences of held-out log-likelihood have standard
// errors by units. Several models are compared at once: each with a confidence
// that together keeps that of the options (Bonferroni). Of a model only its
// numbers are kept. Errors as ClickFitter and the intervals.
absl::Status FitClickModels(const config::v1::ClicksOptions& options,
                            const std::vector<ClickModelKind>& kinds,
                            const ClickData& data,
                            config::v1::ClicksReport* report);

// A mean of differences between two series of the same sessions, and its
// standard error where those of one unit depend on each other: the square root
// of U / (U - 1) Σ_u (Σ_{s of u} (d_s - d))² / n². Requires sessions, and units
// below num_units.
struct UnitDifference {
  double difference = 0;
  double standard_error = 0;  // 0 for one unit.
};
UnitDifference DifferenceByUnits(const std::vector<double>& a,
                                 const std::vector<double>& b,
                                 const std::vector<uint32_t>& units,
                                 uint32_t num_units);

}  // namespace sortition
