#pragma once
// What follows from the evidence: move on, wait or go back.
#include <cstdint>
#include <string>
#include <vector>

#include "sortition/config/v1/rollout.pb.h"
#include "sortition/model/v1/rollout.pb.h"
#include "trainer/rollout/rollout_evidence.h"
#include "trainer/rollout/server_counts.h"

namespace sortition {

enum class RolloutAction { kMoveOn, kWait, kGoBack };

// Confidence of the intervals in the sentences; nothing else depends on it.
inline constexpr double kRolloutConfidence = 0.95;

struct RolloutVerdict {
  RolloutAction action = RolloutAction::kWait;
  // Why, as the end of a sentence; empty: the rewards alone say so.
  std::string reason;
  // What could not be judged, as the end of a sentence; empty: nothing.
  std::string problems = {};
};

// Returns what follows, in this order.
//   Go back: errors or times are worse (JudgeServers); the evidence that the
//   canary earns less, or that a guardrail falls by more than it may, has
//   reached (1 + guardrails) / back_error; max_seconds have passed.
//   Move on: the evidence that the canary earns no less than the margin of this
//   stage allows has reached 1 / move_error, and the stage has the decisions
//   and the time that it must have; to serve all, each guardrail's evidence
//   that it holds as well. Not while outcomes are unknown more often in one arm
//   (ArmCensoring): what is left would be no fair sample.
//   Wait otherwise.
// Evidence that was reached once counts: Ville's inequality bounds the
// probability that it ever is.
RolloutVerdict JudgeRollout(const model::v1::Rollout& rollout,
                            const RolloutEvidence& evidence,
                            const ServerFinding& servers, int64_t now_us);

// Returns the verdict of a step that could not judge everything: it may go back
// and wait, but not move on. `problems` are in words; without any, the verdict
// stays.
RolloutVerdict WithProblems(RolloutVerdict verdict,
                            const std::vector<std::string>& problems);

// Returns the numbers that the verdict goes by; intervals take a while.
config::v1::RolloutStep NumbersOf(const model::v1::Rollout& rollout,
                                  const RolloutEvidence& evidence);

// Returns the evidence that is needed for going back and for moving on.
double BackNeeded(const config::v1::RolloutPlan& plan);
double MoveNeeded(const config::v1::RolloutPlan& plan);

}  // namespace sortition
