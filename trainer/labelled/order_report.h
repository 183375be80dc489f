#pragma once
// The report of `evaluate` as text.
#include <string>

#include "sortition/config/v1/evaluate.pb.h"

namespace sortition {

std::string FormatOrderReport(const config::v1::EvaluateReport& report);

}  // namespace sortition
