#pragma once
// The counters of a sidecar as figures of its status page.
#include <string>

#include "sidecar/sidecar_metrics.h"
#include "sortition/status/v1/status.pb.h"

namespace sortition {

// Returns all but worths, since_us and problem. 0 bytes are free where that
// cannot be told.
status::v1::Sidecar StatusFigures(const SidecarCounts& counts,
                                  const std::string& tuple_dir);

}  // namespace sortition
