#pragma once
// Policies that give each item of a query one of q labels, and the share of
// labels that is right (LabelMeasure::kAccuracy; an item's relevance is its
// label).
//  - softmax_selection among q candidates, the multi-vector features of the
//  item
//    and each label (core/data/joint_features.h): weights w_0, w_1, .. w_q-1.
//    Items are labelled one by one; abstaining is wrong.
//  - label_chain: the items are a sequence. weights[j q + l] of feature j for
//    label l.
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/data/action.h"
#include "core/data/labelled_items.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

// FailedPrecondition for policies of another kind; InvalidArgument where α, ε,
// the number of labels or the transitions are out of their range.
absl::Status CheckLabelPolicy(const model::v1::Policy& policy);

// What it is worth on a query. A label that the policy does not know is never
// right.
struct LabelFigures {
  // Share of right labels, exactly in expectation over the draws of the policy
  // as served, mixture included; of a chain by forward and backward sums.
  double expected = 0;
  double by_score = 0;   // Of MostProbableLabels().
  double by_chance = 0;  // Of labels drawn uniformly.
  double entropy = 0;    // In nats: mean over the items of their labels'.
};

// As CheckLabelPolicy(); InvalidArgument where the weights are not a multiple
// of the features (label_chain: q times as many), there is no item, or a score
// is not finite.
absl::StatusOr<LabelFigures> LabelFiguresOf(const model::v1::Policy& policy,
                                            std::span<const double> weights,
                                            const LabelledItems& query);

// The most probable label of each item, the lowest where several are (kAbstain
// where that is more probable); of a chain the most probable labelling
// (LabelChain::Maximise). Errors as LabelFiguresOf().
absl::StatusOr<std::vector<int32_t>> MostProbableLabels(
    const model::v1::Policy& policy, std::span<const double> weights,
    const Candidates& items);

}  // namespace sortition
