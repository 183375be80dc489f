#pragma once
// What `cluster` prints.
#include <string>

#include "sortition/config/v1/trainer.pb.h"

namespace sortition {

std::string FormatClusterReport(const config::v1::ClusterReport& report);

}  // namespace sortition
