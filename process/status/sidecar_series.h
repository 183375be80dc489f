#pragma once
// The series that follow from what a sidecar says, which a server shows, too.
#include "process/status/history.h"
#include "sortition/status/v1/status.pb.h"

namespace sortition {

// At most so many versions have series of their reward.
inline constexpr int kMaxWorthSeries = 24;

// Adds pending, lag, and the reward of versions.
void AddSidecarSeries(const status::v1::Sidecar& sidecar, int64_t now_us,
                      HistorySample* sample);

}  // namespace sortition
