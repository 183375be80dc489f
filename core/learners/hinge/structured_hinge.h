#pragma once
// The structured hinge of one labelled query as a function of its scores s
// (seed 001, sec. 17.2),
//   H(s) = max_y' [Δ(y', y) + (ψ(y') - ψ(y))·s],
// ψ(y') being a number for each candidate, so that with s = X w the joint
// feature map of sec. 17.4.2 and 17.5.2 is X^T ψ. H is convex and at least the
// loss Δ of what s predicts, argmax_y' ψ(y')·s.
//
// | HingeOptions::Loss | y' | Δ | ψ(y')·s |
// | NDCG | orders | 1 - NDCG, gain = relevance | (1) |
// | KENDALL | for each pair, whether it counts | (2) | (2) |
// | SELECTION | candidates | (y_max - y) / y_max | s of the candidate (3) |
// | SENSITIVITY_SPECIFICITY, F_BETA | sets | 1 - measure | s of the members |
// | PRECISION | sets of k | share not relevant | s of the members (4) |
//
// (1) The mean over pairs of different relevances of the s that is above: as
// core/losses/ndcg_hinge.h, over their number [YueEtAl07], so that queries
// weigh alike. (2) H is the sum of the hinges max(0, 1 - s_i + s_j) of all
// pairs of different relevances over their number: the bound of sec. 17.4.1 but
// for pairs of equal relevance, each of which adds a constant there. It is the
// maximum over z in {0, 1} for each pair of the mean of z (1 - s_i + s_j).
// (3) Those of largest relevance count as one candidate, of their mean s.
// (4) ψ(y) is the mean over the best sets of k, so that H does not change with
// what is added to all scores; they may differ in s, which H then is above.
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

// Hinges of one factory share a workspace: one caller at a time.
class StructuredHinge {
 public:
  virtual ~StructuredHinge() = default;
  // H = the returned Δ(y') + Σ slopes·scores, y' the maximum, whose ψ(y') -
  // ψ(y) overwrites `slopes`: a subgradient. Requires as many finite scores as
  // there are candidates. Deterministic.
  virtual double Evaluate(std::span<const double> scores,
                          std::span<double> slopes) = 0;
  // Lower bound of H for all scores.
  virtual double LowerBound() const { return 0; }
};

class StructuredHinges {
 public:
  // InvalidArgument where k or beta are out of range for the loss.
  static absl::StatusOr<StructuredHinges> Create(
      const config::v1::HingeOptions& options);

  // Makes the hinge of a query. Null if the labels carry no information: all
  // relevances equal, and for SELECTION none above 0; for PRECISION none or all
  // relevant, or no more than k candidates. Never null for
  // SENSITIVITY_SPECIFICITY and F_BETA. Requires a candidate.
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
