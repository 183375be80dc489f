#pragma once
// sortition-trainer rollout: a new version takes over step by step, or goes
// back. What serves changes by SERVING.textproto alone, under the caller
// kRolloutCaller; a person who changes split, pin or mode ends the rollout.
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sortition/config/v1/rollout.pb.h"
#include "sortition/model/v1/rollout.pb.h"
#include "sortition/model/v1/serving.pb.h"

namespace sortition {

inline constexpr char kRolloutCaller[] = "rollout";

// What serves while a version is rolled out.
struct HeldServing {
  uint64_t stable_version = 0;
  uint64_t pinned_before = 0;  // 0: no version was pinned.
};

// Pins the version that serves, so that one that is published next does not;
// nullopt: the store has no version. FailedPrecondition: no rollout could
// begin.
absl::StatusOr<std::optional<HeldServing>> HoldServing(
    const std::string& model_store, const std::string& model);

// Undoes it, if nobody has changed what serves since.
absl::Status ReleaseServing(const std::string& model_store,
                            const std::string& model, const HeldServing& held);

// NotFound if the store has no such model, or is missing; says which models it
// has, and what to do.
absl::Status CheckModelDirectory(const std::string& model_store,
                                 const std::string& model);

// FailedPrecondition if a rollout of the model is under way.
absl::Status CheckNoRollout(const std::string& model_store,
                            const std::string& model);

// Begins a rollout of options.version: pins the stable version, which is
// `held`, or the one that serves, or the one before if the new one would serve;
// gives the new one its first share. InvalidArgument, FailedPrecondition,
// NotFound: why it cannot.
absl::StatusOr<config::v1::RolloutReport> StartRollout(
    const config::v1::RolloutOptions& options,
    const std::optional<HeldServing>& held = std::nullopt);

// Moves on, waits or goes back. Of a model without a rollout it says so.
absl::StatusOr<config::v1::RolloutReport> StepRollout(
    const config::v1::RolloutOptions& options);

// Ends the rollout; what serves stays as it is.
absl::StatusOr<config::v1::RolloutReport> StopRollout(
    const config::v1::RolloutOptions& options);

absl::StatusOr<config::v1::RolloutReport> RolloutStatus(
    const config::v1::RolloutOptions& options);

// Returns the directory of a model.
std::string ModelDirectory(const std::string& model_store,
                           const std::string& model);

// Returns the report without a step.
config::v1::RolloutReport ReportOf(const config::v1::RolloutOptions& options,
                                   const model::v1::Rollout& rollout);

// Returns the stage of which `serving` is the state; nullopt: of none.
std::optional<uint32_t> StageOf(const model::v1::Serving& serving,
                                const model::v1::Rollout& rollout);

// Gives the canary the share of the rollout's stage, beside the pinned stable
// version.
absl::Status SetStage(const model::v1::Rollout& rollout,
                      model::v1::Serving* serving);

}  // namespace sortition
