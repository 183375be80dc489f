#pragma once
// The report of `ope` as tables, for people.
#include <string>

#include "sortition/config/v1/ope_report.pb.h"

namespace sortition {

std::string FormatOpeReport(const config::v1::OpeReport& report);

}  // namespace sortition
