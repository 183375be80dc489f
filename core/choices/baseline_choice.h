#pragma once
// Decisions in which the caller's baseline has a part (LearningMode in
// serving.proto), and mixtures of what several versions would have done.
// Serving and verification use the same functions, so that they compute the
// same propensities.
#include <cstdint>
#include <optional>
#include <span>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/hash.h"
#include "core/data/action.h"
#include "core/policies/linear_policy.h"
#include "sortition/model/v1/serving.pb.h"

namespace sortition {

// What the caller would do, and how much the model has to say.
struct BaselinePlan {
  model::v1::LearningMode mode = model::v1::APPRENTICE;  // Not ONLINE.
  // EXPLORE_ABOVE_BASELINE: w, with which the model decides; in (0, 1].
  double model_probability = 0;
  std::span<const int32_t> action;  // In document indexes; well-formed.
  // The caller's own of `action`; unset: the caller always does it.
  std::optional<double> log_propensity;
};

struct BaselineOutcome {
  bool model_decided = false;
  // Of the action taken under the model; unset: SHADOW and OFF, which do not
  // ask it, and F-score games, whose strategy depends on time.
  std::optional<double> model_log_propensity;
};

// Returns a number in [0, 1): the model decides where it is below w. It is
// independent of the draw and of everything else that ids determine.
double BaselineNumber(absl::string_view model, absl::string_view draw_salt,
                      absl::string_view decision_id);

// Takes the baseline's action or, with probability w, draws from `policy`;
// fills `draw` with the action and the propensity of the whole choice, w
// p(action) + (1 - w) [action is the baseline's]. Its conditional
// log-propensities are empty where they are not known: with a caller's own
// propensity, or where the policy would never give the baseline's order.
BaselineOutcome DecideWithBaseline(const BaselinePlan& plan,
                                   const LinearPolicy& policy,
                                   const PolicyQuery& query, const Hash128& key,
                                   double baseline_number,
                                   PolicyWorkspace* workspace, Draw* draw);

// Turns the policy's probabilities that each document is the first one, or in
// the subset, and that nothing is selected, into those of the whole choice of
// DecideWithBaseline(). `abstain` may be null. Returns false, and changes
// nothing, where the caller draws the baseline: its propensities are not known.
bool MixFirstProbabilities(const BaselinePlan& plan, ActionKind kind,
                           std::span<double> probabilities, double* abstain);

// A part of the traffic, and who decides there.
struct MixedArm {
  const LinearPolicy* policy = nullptr;
  double probability = 0;  // Above 0.
};

// Returns log Σ_a q_a p_a(action), where arm `own` drew `draw` and p_a is the
// whole choice of an arm, with its baseline where `plan` is not null. No arm
// plays an F-score game. InvalidArgument if an arm refuses the query: the
// mixture is not defined then.
absl::StatusOr<double> MixtureLogPropensity(
    std::span<const MixedArm> arms, size_t own, const BaselinePlan* plan,
    const PolicyQuery& query, const Draw& draw, PolicyWorkspace* workspace);

// Returns log Σ_a q_a exp(l_a); -infinity where no l_a is above it. As many
// probabilities as log-propensities.
double LogOfMixture(std::span<const double> probabilities,
                    std::span<const double> log_propensities);

// Returns log(w exp(l) + (1 - w) [is_baseline]).
double LogAboveBaseline(double model_probability, double log_propensity,
                        bool is_baseline);

}  // namespace sortition
