#pragma once
// Policies that give each item of a query one of q labels, and their accuracy,
// the share of correct labels (LabelMeasure::kAccuracy; an item's relevance is
// its label).
//  - softmax_selection among q candidates with the multi-vector features of the
//    item and each label (core/data/joint_features.h): weights w_0, .. w_q-1.
//    Items are labelled one by one; abstaining counts as wrong.
//  - label_chain: the items are a sequence. weights[j q + l] is the weight of
//    feature j for label l.
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/data/action.h"
#include "core/data/labelled_items.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

// FailedPrecondition for policies of another kind; InvalidArgument if α, ε, the
// number of labels or a transition is out of its range.
absl::Status CheckLabelPolicy(const model::v1::Policy& policy);

// A policy's figures on a query. A label that the policy does not know is never
// correct.
struct LabelFigures {
  // Expected accuracy of the policy as served, mixture included. It is exact;
  // for a chain it is computed by forward and backward sums.
  double expected = 0;
  double by_score = 0;   // Accuracy of MostProbableLabels().
  double by_chance = 0;  // Accuracy of uniformly drawn labels.
  double entropy = 0;    // Entropy of a label in nats, mean over the items.
};

// Errors as CheckLabelPolicy(). InvalidArgument also if the number of weights
// is not a multiple of the features (label_chain: not q times as many), there
// is no item, or a score is not finite.
absl::StatusOr<LabelFigures> LabelFiguresOf(const model::v1::Policy& policy,
                                            std::span<const double> weights,
                                            const LabelledItems& query);

// Returns the most probable label of each item, with ties going to the lowest
// (kAbstain if abstaining is more probable). For a chain it is the most
// probable labelling (LabelChain::Maximise). Errors as LabelFiguresOf().
absl::StatusOr<std::vector<int32_t>> MostProbableLabels(
    const model::v1::Policy& policy, std::span<const double> weights,
    const Candidates& items);

}  // namespace sortition
