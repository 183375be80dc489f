#pragma once
// How much less ranks are examined than the first one, from rankings that were
// put in a random order on purpose: no model of attraction is needed, only
// position-based users. With other users the ratios depend on what was shown.
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/clicks/click_sessions.h"

namespace sortition {

// θ_r / θ_0.
struct PropensityRatio {
  double ratio = 1;
  // Of log(ratio), by the delta method over sessions; 0 for rank 0.
  double log_standard_error = 0;
  // ratio · e^(± z · log_standard_error)
  double lower = 1;
  double upper = 1;
};

enum class PropensityPath {
  kPivot,     // Each rank is compared with rank 0.
  kAdjacent,  // Ranks r and r + 1 are compared; the product of the ratios.
};

struct PropensityOptions {
  PropensityPath path = PropensityPath::kAdjacent;
  double confidence = 0.95;  // In (0, 1).
};

// P(item at rank r) of the policy that logged, num_items × num_ranks,
// row-major; where several policies did, the mean of theirs over their
// sessions, for which they compared the same items. A view.
struct RankProbabilities {
  std::span<const float> probabilities;
  uint32_t num_ranks = 0;

  double At(uint32_t item, size_t rank) const {
    return static_cast<double>(probabilities[size_t{item} * num_ranks + rank]);
  }
};

// Intervention harvesting [AgarwalEtAl19]: ratio of
//   Σ weight · click / P(item at its rank)
// at two ranks, over the items that both ranks could have shown. By rank.
// InvalidArgument if the table has not one row per item and a column for each
// rank, a probability is not in [0, 1], something was shown with probability 0,
// the confidence is not in (0, 1), or a rank that is compared has no clicks.
absl::StatusOr<std::vector<PropensityRatio>> HarvestPropensities(
    const ClickSessions& sessions, const RankProbabilities& probabilities,
    const PropensityOptions& options = {});

// Two ranks of a session whose items were put in a random order, both orders
// with probability 1/2: FairPairs [RadlinskiJoachims06] swaps adjacent ranks,
// RandPair [JoachimsSwaminathanSchnabel17] rank 0 and another one. Where the
// order that was drawn had the probability p, and p' once the two are swapped,
// the weight min(1, p' / p) makes both orders count alike.
struct RandomisedPair {
  uint32_t session = 0;
  uint16_t upper = 0;
  uint16_t lower = 1;
  float weight = 1;  // In (0, 1], beside that of the session.
};

// The ratio of clicks at the two ranks of a pair, over the sessions that had
// it. Pairs that the path does not need are left out. By rank, of all ranks of
// `sessions`. InvalidArgument if a pair has no such session or ranks, upper is
// not above lower, a weight is not in (0, 1], or a pair that the path needs is
// missing or without clicks at one rank, or the confidence is not in (0, 1).
absl::StatusOr<std::vector<PropensityRatio>> PairPropensities(
    const ClickSessions& sessions, std::span<const RandomisedPair> pairs,
    const PropensityOptions& options = {});

}  // namespace sortition
