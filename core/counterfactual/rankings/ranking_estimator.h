#pragma once
// The off-policy estimators of an order with rewards by rank, what each assumes
// of users, and what they are called.
#include <optional>
#include <span>
#include <string>

#include "absl/strings/string_view.h"

namespace sortition {

// For a decision with logged order a, N ranks, the first L of them shown:
// ρ_{1:k} is the ratio of the probabilities of the first k ranks under policy
// and log, m_k that of the probabilities of a_k being at rank k, γ the weight
// of pseudo_inverse.h. R = Σ_k α_k r_k + β w. Each is a mean over decisions
// unless it says otherwise; models q and q_h are those of JudgedRanking.
//
// Feedback w that names no rank is about the order as a whole. Only weights of
// the whole order, or of all that was shown, are right for it. So estimators
// with weights by rank add β ρ_{1:L} w, whatever they do with r_k.
enum class RankingEstimatorKind {
  kWholeOrder,                 // ρ_{1:N} R
  kSelfNormalisedWholeOrder,   // Σ ρ_{1:N} R / Σ ρ_{1:N}
  kWholeOrderDr,               // Σ_k q_h(k) + ρ_{1:N} (R - Σ_k q(a_k, k))
  kShownPrefix,                // ρ_{1:L} R
  kSelfNormalisedShownPrefix,  // Σ ρ_{1:L} R / Σ ρ_{1:L}
  kShownPrefixDr,              // Σ_k q_h(k) + ρ_{1:L} (R - Σ_k q(a_k, k))
  // RIPS: Σ_k α_k ρ_{1:k} r_k [McInerneyEtAl20]
  kRewardInteraction,
  // Σ_k α_k (Σ ρ_{1:k} r_k / Σ ρ_{1:k}): each rank has its own denominator.
  kSelfNormalisedRewardInteraction,
  // Σ_k ρ_{1:k-1} q_h,k + ρ_{1:k} (α_k r_k - q_k), with the model by prefix
  // [KiyoharaEtAl22, eq. 6]
  kCascadeDr,
  // IIPS: Σ_k α_k m_k r_k [LiEtAl18]
  kItemPosition,
  kSelfNormalisedItemPosition,  // Σ_k α_k (Σ m_k r_k / Σ m_k)
  kItemPositionDr,              // Σ_k q_h(k) + m_k (α_k r_k - q(a_k, k))
  // γ R [SwaminathanEtAl17]. Here w, too, is taken for a sum over ranks.
  kPseudoInverse,
  kSelfNormalisedPseudoInverse,  // Σ γ R / Σ γ
  kPseudoInverseDr,              // Σ_k q_h(k) + γ (R - Σ_k q(a_k, k))
  kDirect,                       // Σ_k q_h(k), and β ρ_{1:L} w
  // In each segment of queries that of kShownPrefix, kRewardInteraction and
  // kItemPosition which seems to have the least squared error
  // [KiyoharaEtAl23]: behaviour_choice.h.
  kAdaptive,
};

// Which weight of a decision an estimator uses.
enum class RankingWeightKind {
  kWholeOrder,     // ρ_{1:N}
  kShownPrefix,    // ρ_{1:L}
  kPrefix,         // ρ_{1:k}
  kMarginal,       // m_k
  kPseudoInverse,  // γ
};
inline constexpr size_t kNumRankingWeights = 5;

enum class RankingForm { kPlain, kSelfNormalised, kDoublyRobust };

// All of them, in the order in which tables show them.
std::span<const RankingEstimatorKind> AllRankingEstimators();

// A name for use in programs, such as "rips".
std::string RankingEstimatorKey(RankingEstimatorKind kind);
std::optional<RankingEstimatorKind> RankingEstimatorOfKey(
    absl::string_view key);
// A name for people, such as "reward interaction".
std::string RankingEstimatorName(RankingEstimatorKind kind);
// What it assumes of users, in a sentence. Besides, all assume that the log
// could show whatever the policy does.
std::string RankingAssumptionOf(RankingEstimatorKind kind);

// nullopt for kDirect and kAdaptive.
std::optional<RankingWeightKind> RankingWeightOf(RankingEstimatorKind kind);
// nullopt for kDirect and kAdaptive.
std::optional<RankingForm> RankingFormOf(RankingEstimatorKind kind);

}  // namespace sortition
