#pragma once
// Models of how users click rankings. A user examines some ranks, and clicks an
// examined item i with its attraction a_i. Ranks count from 0.
//
// Clicks of one ranking are independent in two models:
//   position-based [CraswellEtAl08]: P(click) = θ_r a_i
//   trust bias [AgarwalEtAl19b, VardasbiEtAl20]: P(click) = α_r a_i + β_r,
//   where
//     α_r = θ_r (ε⁺_r - ε⁻_r), β_r = θ_r ε⁻_r: an examined item that does not
//     attract is clicked with probability ε⁻_r, others with ε⁺_r
// In the others the user reads from the top, always examines rank 0, and after
// it examines rank r + 1 only if rank r was examined, with a probability that
// depends on what happened there:
//   cascade [CraswellEtAl08]: 0 after a click, else 1
//   dependent click [GuoLiuWang09]: λ_r after a click, else 1
//   dynamic Bayesian network [ChapelleZhang09]: γ (1 - s_i) after a click, else
//     γ, with the satisfaction s_i of the clicked item and the perseverance γ;
//     γ = 1 is the simplified one
// A user of the last is satisfied at rank r with probability P(examined) a s,
// and with γ = 1 the expectation of 1 / (rank + 1) of that rank is the expected
// reciprocal rank of R = a s [Chapelle09].
//
// What clicks tell, given that items are seen at several ranks: of
// position-based users θ_r and a_i up to one factor (θ_0 = 1 here); of trust
// bias α, β and a up to an affine map of a, so that α_0 and β_0 have to be
// known from elsewhere; of a cascade a_i of items that are examined; of
// dependent clicks also λ_r of all ranks but the last one; of the network a_i,
// γ, and s_i of what is clicked above the last rank. Items that are never moved
// leave θ and a, or γ and a, confounded.
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/random.h"

namespace sortition {

enum class ClickModelKind {
  kPositionBased,
  kTrustBias,
  kCascade,
  kDependentClick,
  kBayesianNetwork,
};
// "position_based", "trust_bias", "cascade", "dependent_click",
// "bayesian_network".
absl::string_view ClickModelName(ClickModelKind kind);
// InvalidArgument if no kind has this name.
absl::StatusOr<ClickModelKind> ParseClickModelKind(absl::string_view name);
std::span<const ClickModelKind> AllClickModelKinds();

// The user's part of a model. Ranks beyond the end of a vector have its last
// value.
struct ClickModel {
  ClickModelKind kind = ClickModelKind::kPositionBased;
  // θ_r: position-based, trust bias. It is not identified by clicks of trust
  // bias, where empty stands for α_r + β_r, the least that it can be if
  // attraction never repels (ε⁺ = 1).
  std::vector<double> examination = {};
  std::vector<double> slopes = {};         // α_r: trust bias.
  std::vector<double> offsets = {};        // β_r: trust bias.
  std::vector<double> continuations = {};  // λ_r: dependent click.
  double perseverance = 1;                 // γ: Bayesian network.

  double Examination(size_t rank) const;
  double Slope(size_t rank) const;
  double Offset(size_t rank) const;
  double Continuation(size_t rank) const;
};

// InvalidArgument if a vector that the kind needs is empty, a probability is
// not in [0, 1], or θ_r is below β_r or α_r + β_r.
absl::Status CheckClickModel(const ClickModel& model);

// What a user is shown, by rank. All are probabilities.
struct ShownList {
  std::span<const double> attractions;
  // One per rank for the Bayesian network, not read by other kinds.
  std::span<const double> satisfactions = {};
};

// The functions below require a model that CheckClickModel() accepts and as
// many elements in each span as there are attractions.

// Writes P(click at r) and P(rank r is examined).
void MarginalClickProbabilities(const ClickModel& model, const ShownList& list,
                                std::span<double> clicks,
                                std::span<double> examinations);
// Writes P(click at r | clicks above r). A click of probability 0 is followed
// by what would follow if its rank had been examined.
void ConditionalClickProbabilities(const ClickModel& model,
                                   const ShownList& list,
                                   std::span<const uint8_t> clicks,
                                   std::span<double> probabilities);
// Returns log P(clicks); -infinity for what cannot be.
double ClickLogLikelihood(const ClickModel& model, const ShownList& list,
                          std::span<const uint8_t> clicks);
// Draws clicks: that of rank r by the number r of `random`.
void SimulateClicks(const ClickModel& model, const ShownList& list,
                    const CounterRandom& random, std::span<uint8_t> clicks);

// Writes the probability that the user of a Bayesian network is satisfied at
// rank r, and stops there. Requires that kind.
void SatisfactionProbabilities(const ClickModel& model, const ShownList& list,
                               std::span<double> probabilities);
// Returns the expectation of 1 / (rank + 1) of the rank that satisfies.
double ExpectedReciprocalRank(const ClickModel& model, const ShownList& list);

}  // namespace sortition
