#pragma once
// `chain` in the frame of labelled learners: labels of sequences, by chain.h. A
// query is a sequence in the order of its items, an item's relevance its label,
// 0 .. q - 1, q being one more than the largest in the data.
#include <memory>

#include "absl/status/statusor.h"
#include "core/learners/labelled/labelled_learner.h"
#include "sortition/config/v1/classes.pb.h"

namespace sortition {

// λ is chosen by the accuracy of the most probable
// labelling. It publishes label_chain, which servers refuse: weights d × q by
// rows, transitions in the policy, no uniform mixture. Its action is label.
//
// The gap of LIKELIHOOD follows from strong convexity; L-BFGS ends by its own
// tolerances, and the report warns by one_slack.gap_tolerance. Its
// distribution is that of the inverse temperature 1.
//
// Training returns FailedPrecondition if all items have the same label.
absl::StatusOr<std::unique_ptr<LabelledLearner>> MakeChainLearner(
    const config::v1::ChainOptions& options, const LabelledShape& shape);

}  // namespace sortition
