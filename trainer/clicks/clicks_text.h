#pragma once
// What click models found, as tables for people.
#include <string>

#include "sortition/config/v1/clicks.pb.h"

namespace sortition {

std::string FormatClicksReport(const config::v1::ClicksReport& report);

}  // namespace sortition
