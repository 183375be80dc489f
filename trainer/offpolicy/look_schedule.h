#pragma once
// When the test part is looked at again.
#include <cstddef>
#include <limits>
#include <optional>

#include "sortition/config/v1/train.pb.h"
#include "sortition/config/v1/train_report.pb.h"
#include "sortition/model/v1/model.pb.h"
#include "trainer/tuples/scan/tuple_scan.h"

namespace sortition {

// Numbers of tuples of two parts.
struct LookSizes {
  size_t validation = 0;
  size_t test = 0;
  // (Σ ρ)² / Σ ρ² of the policy on the validation part.
  double effective_validation = std::numeric_limits<double>::infinity();
};

// Returns what the next look waits for. Test tuples
// that came since the last look at the decisions of the same version must be
// at least (look_growth - 1) times those of that look, and at least one. So n
// times the data are looked at log(n) / log(look_growth) times, however often
// training runs, and the failure probability of each look stays large. Returns
// nothing if the test part may be looked at: at the first look, and always with
// look_now.
//
// Decisions that were made after the last look count as new, also where `since`
// leaves out as many old ones. Otherwise the growth of the test part counts.
//
// With look_when_likely, a look also waits until the bound of the validation
// part, at the failure probability and the number of tuples of the look, would
// be above 0, give or take a fifth of its distance from the estimate, and
// until the test part has about 100 effective tuples: with fewer, the
// validation part promises most where luck chose the policy. This reads no
// reward of the test part.
std::optional<config::v1::TrainReport::DeferredLook> DeferLook(
    const config::v1::TrainOptions& options, const TupleCounts& counts,
    const LookSizes& sizes, const model::v1::Estimate& validation_improvement);

}  // namespace sortition
