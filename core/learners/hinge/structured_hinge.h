#pragma once
// The structured hinge of one labelled query as a function of its scores s
// (seed 001, sec. 17.2),
//   H(s) = max_y' [Δ(y', y) + (ψ(y') - ψ(y))·s],
// where ψ(y') has a number for each candidate, so that with s = X w the joint
// feature map of sec. 17.4.2 and 17.5.2 is X^T ψ. H is convex and at least the
// loss Δ of the prediction from s, argmax_y' ψ(y')·s.
//
// | HingeOptions::Loss | y' | Δ | ψ(y')·s |
// | NDCG | orders | 1 - NDCG, gain = relevance | (1) |
// | KENDALL | for each pair, whether it counts | (2) | (2) |
// | SELECTION | candidates | (y_max - y) / y_max | s of the candidate (3) |
// | SENSITIVITY_SPECIFICITY, F_BETA | sets | 1 - measure | s of the members |
// | the same with `fewest`, `most` | sets of such sizes | 1 - measure | (4) |
// | PRECISION | sets of k | share not relevant | s of the members (4) |
//
// (1) The mean, over pairs of different relevances, of the s of the candidate
// above: core/losses/ndcg_hinge.h divided by the number of pairs [YueEtAl07],
// so that queries weigh alike. (2) H is the sum of the hinges max(0, 1 - s_i +
// s_j) of all pairs of different relevances, divided by their number. It is the
// bound of sec. 17.4.1 without the pairs of equal relevance, each of which only
// adds a constant there. It is also a maximum: over z in {0, 1} for each pair,
// of the mean of z (1 - s_i + s_j). (3) The candidates of largest relevance
// count as one, with their mean s. (4) ψ(y) is the mean over the best sets of
// k, so that H does not change if a number is added to all scores. With
// `fewest` (V≥k of sec. 17.5.2) or `most` (V≤k) it is the mean over the sets of
// least Δ that have an allowed size; if the labels are one, that one. These
// sets may have different s; H then is above 0.
//
// A maximum over candidates or sets is dominated by the worst of many: with
// noisy labels, no w but 0 may lower the mean H of SELECTION, F_BETA or
// PRECISION. NDCG and KENDALL sum over pairs and do not have this problem.
#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "sortition/config/v1/hinge.pb.h"

namespace sortition {

// Hinges of one factory share a workspace: only one caller at a time.
class StructuredHinge {
 public:
  virtual ~StructuredHinge() = default;
  // Returns Δ(y') for the maximum y', and overwrites `slopes` with the
  // subgradient ψ(y') - ψ(y), so that H = Δ(y') + Σ slopes·scores. Requires one
  // finite score for each candidate. Deterministic.
  virtual double Evaluate(std::span<const double> scores,
                          std::span<double> slopes) = 0;
  // Returns a lower bound of H for all scores.
  virtual double LowerBound() const { return 0; }
};

class StructuredHinges {
 public:
  // InvalidArgument if k, fewest, most or beta is out of range for the loss.
  static absl::StatusOr<StructuredHinges> Create(
      const config::v1::HingeOptions& options);

  // Makes the hinge of a query. Null if the labels carry no information: if all
  // relevances are equal, for SELECTION also if none is above 0, and for
  // PRECISION if none or all candidates are relevant or there are no more than
  // k. Never null for SENSITIVITY_SPECIFICITY and F_BETA of sets of any size;
  // with bounds if none or all candidates are relevant or there are no more
  // than `fewest`. Requires a candidate.
  std::unique_ptr<StructuredHinge> Of(
      std::span<const uint32_t> relevances) const;

 private:
  struct Workspace;
  explicit StructuredHinges(const config::v1::HingeOptions& options);

  config::v1::HingeOptions options_;
  std::shared_ptr<Workspace> workspace_;

  class Ndcg;
  class Kendall;
  class Selection;
  class Sets;
};

}  // namespace sortition
