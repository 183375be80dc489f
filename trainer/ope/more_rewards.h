#pragma once
// What a report says of rewards beside that of the log.
#include <vector>

#include "sortition/config/v1/ope_report.pb.h"
#include "sortition/model/v1/model.pb.h"
#include "trainer/ope/ope_report.h"

namespace sortition {

// Adds each further reward of a policy, and whether its guardrail holds. A
// reward of which no range is known has no estimate, and its guardrail holds
// only for the policy that logged. A guardrail is judged by the best interval
// that is valid, not by the one that the options ask for.
void AddMoreRewards(const OpeReportTask& task, size_t policy,
                    config::v1::OpePolicy* stored);

// Findings about guardrails whose rewards have no range that was given.
std::vector<model::v1::Finding> RewardFindings(const OpeReportTask& task);

}  // namespace sortition
