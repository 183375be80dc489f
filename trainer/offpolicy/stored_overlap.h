#pragma once
// Overlap and findings as reports store them.
#include <vector>

#include "core/counterfactual/diagnostics.h"
#include "core/counterfactual/findings.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

void StoreOverlap(const Overlap& overlap, model::v1::Overlap* stored);

// Returns what JudgeOverlap() finds; the caller says of which part it is.
std::vector<model::v1::Finding> StoredFindings(const Overlap& overlap,
                                               TupleUse use);

}  // namespace sortition
