#pragma once
// By which propensity the decisions of a traffic split are weighed (ArmChoice
// in log.proto).
//
// Apart: by that of the version that decided, p_a. Weights π / p_a have mean 1
// in every arm, whoever reads which of them.
//
// Balanced: by that of the mixture, Σ_a q_a p_a, which gives smaller weights
// [AgarwalEtAl17, balanced IPS]. Weights have mean 1 over all arms together, in
// none of them alone: decisions of all arms must be read. And those of a unit
// have one arm together, so they are no independent draws, which the question
// about "these very units" takes them for.
//
// q_a is the probability that a decision has arm a only if the number of
// decisions does not depend on the arm. This holds if each decision draws its
// own arm. But a unit keeps its arm, and may return more often with one arm
// than with another: with n_a decisions per unit of arm a, the share of
// decisions is q_a n_a / Σ_b q_b n_b, and the mean weight against the nominal
// mixture is not 1. Counts cannot show that this bias is negligible, because
// the noise of decisions per unit, σ / √n for n units, is as large as that of
// the estimate. So `auto` weighs decisions that name their unit apart, which is
// exact for the contexts that each arm met.
#include <cstdint>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "sortition/config/v1/ope.pb.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// How a decision was weighed.
enum class ArmUse {
  kNoArm,  // Traffic was not split, or the request named a version.
  kApart,
  kNoMixture,     // Apart, because an arm plays an F-score game.
  kUnitKeepsArm,  // Apart, because the decision names its unit.
  kBalanced,
};

// Not thread-safe.
class ArmPropensities {
 public:
  // InvalidArgument where options.arms() is unknown, or is balanced and options
  // choose versions or ask about the same units.
  static absl::StatusOr<ArmPropensities> Create(
      const config::v1::OpeOptions& options);

  // Returns the log-propensity that the decision is weighed by. One that a
  // mixture lacks makes all later decisions of its split apart: a second pass
  // over a log weighs all of them alike. An order that is cut to its first
  // ranks is apart, since the log has the mixture's propensity for whole orders
  // only. That is no bias: how far users look has the same law in all arms, so
  // that both kinds of decisions together give E_π[r].
  double Of(const log::v1::Decision& decision, double log_propensity,
            bool is_cut, ArmUse* use);

 private:
  ArmPropensities(bool is_balanced, bool is_balanced_by_unit)
      : is_balanced_(is_balanced), is_balanced_by_unit_(is_balanced_by_unit) {}

  bool is_balanced_;
  bool is_balanced_by_unit_;  // Even if decisions name their units.
  std::string bytes_;
  absl::flat_hash_set<std::string> without_mixture_;  // Splits.
};

}  // namespace sortition
