#pragma once
// `chain` in the frame of labelled learners: labels of sequences, trained by
// chain.h. A query is a sequence in the order of its items. An item's relevance
// is its label, 0 .. q - 1, where q is one more than the largest label in the
// data.
#include <memory>

#include "absl/status/statusor.h"
#include "core/learners/labelled/labelled_learner.h"
#include "sortition/config/v1/classes.pb.h"

namespace sortition {

// Chooses λ by the accuracy of the most probable labelling. Publishes
// label_chain, which servers refuse: weights d × q by rows, transitions in the
// policy, no uniform mixture. Its action is label.
//
// The gap of LIKELIHOOD follows from strong convexity. L-BFGS ends by its own
// tolerances, and the report warns if the gap exceeds one_slack.gap_tolerance.
// The inverse temperature of its distribution is 1.
//
// Training returns FailedPrecondition if all items have the same label.
absl::StatusOr<std::unique_ptr<LabelledLearner>> MakeChainLearner(
    const config::v1::ChainOptions& options, const LabelledShape& shape);

}  // namespace sortition
