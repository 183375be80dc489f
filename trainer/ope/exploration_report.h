#pragma once
// What exploration costs, and how much log it takes to judge by it.
#include "sortition/config/v1/ope_report.pb.h"
#include "trainer/ope/ope_report.h"

namespace sortition {

// The power with which planned logs show an improvement.
inline constexpr double kPower = 0.8;

// Adds the newest version mixed with uniform, by mixture; nothing if it was not
// judged. `improvement` is what is to be seen, in units of the reward.
void AddExploration(const OpeReportTask& task, double improvement,
                    config::v1::OpeReport* report);

}  // namespace sortition
