#pragma once
// Findings about a log, and about how a policy was judged by it, beside those
// of its weights (core/counterfactual/findings.h).
#include <cstdint>
#include <string>
#include <vector>

#include "core/counterfactual/evaluation/estimator.h"
#include "sortition/model/v1/model.pb.h"
#include "trainer/ope/ope_report.h"

namespace sortition {

std::vector<model::v1::Finding> LogFindings(const OpeReportTask& task);

// The policy was learned when `before` of the decisions were there already.
model::v1::Finding LearnedFromLog(const JudgedPolicy& policy, uint64_t before,
                                  uint64_t decisions);

// Decisions lack `columns`, which the policy reads.
model::v1::Finding LacksColumns(const JudgedPolicy& policy,
                                const std::string& columns);

// A lower bound of the policy is above its upper bound.
model::v1::Finding BoundsContradict(const JudgedPolicy& policy);

// Returns the finding that the share `missing_mass` of the policy is on actions
// that the log takes too rarely, or never.
model::v1::Finding HardlyJudged(double missing_mass);

// The estimator that was asked for needs what is not there.
model::v1::Finding EstimatorDoesNotApply(EstimatorKind asked,
                                         EstimatorKind taken);

}  // namespace sortition
