#pragma once
// The estimators of a policy's value, and what they are called.
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace sortition {

// ρ is the weight of the logged action, r the reward in [0, 1], q and q_h what
// a model of rewards expects of the logged action and of the policy. Each is a
// mean over decisions unless it says otherwise.
enum class EstimatorKind {
  kIps,            // ρ r [HorvitzThompson52]
  kControlledIps,  // ρ r - β (ρ - 1), β of least variance; E[ρ] = 1 needed
  kSelfNormalised,    // Σ ρ r / Σ ρ
  kClipped,           // min(ρ, M) r [BottouEtAl13]
  kLogSmoothed,       // ln(1 + λ ρ r) / λ [SakhiEtAl24]
  kSubGaussian,       // ρ r / (1 - λ + λ ρ) [MetelliRussoRestelli21]
  kDirect,            // q_h
  kDoublyRobust,      // q_h + ρ (r - q) [DudikLangfordLi11]
  kSelfNormalisedDr,  // mean q_h + Σ ρ (r - q) / Σ ρ
  // Those above and kClippedDr, combined by their errors: blend.h.
  kBlendedDr,
  kClippedDr,     // q_h + min(ρ, M) (r - q) [SuEtAl20]
  kOptimisticDr,  // q_h + λ ρ / (ρ² + λ) (r - q) [SuEtAl20]
  kSwitch,        // q_h + ρ 1{ρ <= τ} (r - q) [WangAgarwalDudik17]
  // As kDoublyRobust, with a model fitted for least variance of this estimate
  // [FarajtabarChowGhavamzadeh18].
  kMoreRobustDr,
  // With weights against the mixture of all logging policies, and means by
  // logging policy combined by their divergence [AgarwalEtAl17].
  kBalanced,
  kWeighted,
  // With weights of the action's category in place of the action's. Unbiased
  // if actions of a category earn the same [SaitoJoachims22].
  kMarginalised,
};

// All of them, in the order in which tables show them.
std::span<const EstimatorKind> AllEstimatorKinds();

// A name for use in programs, such as "snips": those of OpeOptions.estimator.
std::string EstimatorKey(EstimatorKind kind);
std::optional<EstimatorKind> EstimatorOfKey(absl::string_view key);
// A name for people, such as "self-normalised IPS".
std::string EstimatorName(EstimatorKind kind);

// Whether the model of rewards is used.
bool NeedsModel(EstimatorKind kind);
// Whether its expectation differs from the value even with full support, by
// more than what falls with the number of decisions. kMarginalised is not among
// them; it has an assumption instead.
bool IsBiased(EstimatorKind kind);
// Whether factors or a parameter are fitted to the rewards of the log. Errors
// of the estimate take them for given.
bool IsFittedToRewards(EstimatorKind kind);

struct Estimator {
  EstimatorKind kind;
  double parameter = 0;  // M, λ or τ, where the kind has one.
};

// Returns the one that answers unless somebody asks for another: kBlendedDr, or
// without a model kSelfNormalised.
Estimator DefaultEstimator(bool has_model);

// The values of the parameter of `kind` among which is chosen, from most bias
// to least; empty if it has none. Weights are compared with them, so that they
// do not depend on rewards.
std::vector<double> ParametersOf(EstimatorKind kind);

// How many values a parameter has.
inline constexpr size_t kNumParameters = 8;
// M of clipped weights, and τ of switches: a factor of 2 to 10 apart, which
// costs little against the best.
inline constexpr double kClips[kNumParameters] = {1,  2,  5,   10,
                                                  20, 50, 100, 1000};
// λ of shrunk weights.
inline constexpr double kShrinkages[kNumParameters] = {1,   4,    16,   64,
                                                       256, 1024, 4096, 65536};
// λ of smoothed ones.
inline constexpr double kSmoothings[kNumParameters] = {0.5,  0.2,  0.1,   0.05,
                                                       0.02, 0.01, 0.002, 1e-4};

}  // namespace sortition
