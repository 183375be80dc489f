#pragma once
// What a report on click models says in sentences.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "sortition/config/v1/clicks.pb.h"

namespace sortition {

// Returns how many standard errors a difference must have to be more than
// noise, where so many are looked at with a joint confidence (Bonferroni).
double NoiseBound(double confidence, int comparisons);

// Returns which model predicts best, and whether that is more than noise.
// Needs the models, best and simplest.
std::string ClicksVerdict(const config::v1::ClicksReport& report);

// Fills in `bias` and `ope_command`, or `bias_problem`: of position_based and
// trust_bias the one that predicts better; position_based where that is not
// more than noise.
void FillClickBias(const config::v1::ClicksOptions& options,
                   config::v1::ClicksReport* report);

// Null: it was not fitted.
const config::v1::ClicksReport::Model* FindClickModel(
    const config::v1::ClicksReport& report, absl::string_view name);

// "0.123" with four significant digits.
std::string RoundedText(double number);

}  // namespace sortition
