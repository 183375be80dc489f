#include "trainer/exploration/calibrate_data.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/policies/distribution_factory.h"
#include "io/models/store_listing.h"
#include "process/command.h"
#include "process/log.h"
#include "trainer/exploration/exploration_list.h"
#include "trainer/frames/model_frame.h"
#include "trainer/offpolicy/evaluate.h"
#include "trainer/tuples/tuple_convert.h"

namespace sortition {
namespace {

using config::v1::CalibrateOptions;

constexpr char kCalibratedKinds[] =
    "softmax_selection, plackett_luce, sorted_ranking or boltzmann_ranking";

std::string VersionText(const model::v1::Model& model) {
  return absl::StrCat("version ", model.version(), " of model '", model.name(),
                      "'");
}

// Explorations are parsed before the log is read, which may take long.
absl::Status CheckExplorations(const CalibrateOptions& options,
                               const model::v1::Model& model) {
  if (RanksByScores(model.policy())) {
    return ListExplorations(model.policy(), 0, options.explorations()).status();
  }
  if (options.explorations().empty() && !options.has_delta() &&
      options.against() == 0) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      VersionText(model), " has the policy ", PolicyKindName(model.policy()),
      ", must have plackett_luce or sorted_ranking for explorations, delta and "
      "against"));
}

}  // namespace

absl::StatusOr<StoredModel> LoadCalibrated(const CalibrateOptions& options,
                                           const ModelStore& store) {
  uint64_t version = options.version();
  if (version == 0) {
    ASSIGN_OR_RETURN(const auto versions, store.ListVersions(options.model()));
    if (versions.empty()) {
      return NoVersionError(options.model_store(), options.model());
    }
    version = versions.back();
  }
  ASSIGN_OR_RETURN(StoredModel stored, store.Load(options.model(), version));
  const model::v1::Policy& policy = stored.model.policy();
  const std::string name = VersionText(stored.model);
  if (policy.has_independent_labels() || policy.has_label_chain()) {
    return absl::FailedPreconditionError(
        absl::StrCat(name, " has the policy ", PolicyKindName(policy),
                     ", must have ", kCalibratedKinds));
  }
  if (policy.has_game_ranking() ||
      ActionKindOf(policy) == ActionKind::kSubset) {
    return absl::FailedPreconditionError(
        absl::StrCat(name, " plays a game or chooses subsets, must have ",
                     kCalibratedKinds));
  }
  if (options.publish() && !policy.softmax_selection().has_abstain_score()) {
    return absl::FailedPreconditionError(absl::StrCat(
        name,
        " cannot abstain: there is no rate to calibrate to, and nothing to "
        "publish"));
  }
  RETURN_IF_ERROR(CheckExplorations(options, stored.model));
  return stored;
}

absl::StatusOr<std::optional<StoredModel>> LoadAgainst(
    const CalibrateOptions& options, const ModelStore& store,
    const model::v1::Model& calibrated) {
  if (options.against() == 0) return std::nullopt;
  if (options.against() == calibrated.version()) {
    return absl::InvalidArgumentError(
        absl::StrCat("against is ", options.against(),
                     ", the calibrated version itself, must be another one"));
  }
  ASSIGN_OR_RETURN(StoredModel stored,
                   store.Load(options.model(), options.against()));
  const model::v1::Policy& policy = stored.model.policy();
  if (!RanksByScores(policy) && !policy.has_boltzmann_ranking()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "against: ", VersionText(stored.model), " has the policy ",
        PolicyKindName(policy),
        ", must have plackett_luce, sorted_ranking or boltzmann_ranking"));
  }
  if (!IsSameFrame(stored.model, calibrated)) {
    return absl::FailedPreconditionError(
        absl::StrCat("against: ", VersionText(stored.model),
                     " has other features, trees or hidden units than version ",
                     calibrated.version(), ", must have the same"));
  }
  return stored;
}

absl::StatusOr<TupleData> ReadCalibrationData(const CalibrateOptions& options,
                                              const model::v1::Model& model) {
  config::v1::TrainOptions read;
  read.set_tuples(options.tuples());
  read.set_allow_incomplete(options.allow_incomplete());
  read.set_mix_joins(options.mix_joins());
  read.set_model(options.model());
  read.set_validation_fraction(options.validation_fraction());
  read.set_test_fraction(options.test_fraction());
  read.set_reward_min(options.reward_min());
  read.set_reward_max(options.reward_max());
  read.set_clamp_rewards(options.clamp_rewards());
  read.set_memory_mb(options.memory_mb());
  read.set_scratch(options.scratch());
  read.set_scratch_mb(options.scratch_mb());
  read.set_versions(options.versions());
  read.set_overrides(options.overrides());
  read.set_ranks(options.ranks());
  read.set_since(options.since());
  read.set_until(options.until());
  read.set_warmup_queries(0);
  ASSIGN_OR_RETURN(const ModelFrame frame, FrameOf(model));
  ASSIGN_OR_RETURN(
      TupleData data,
      ReadTuples(read,
                 {.action_kind = ActionKindOf(model.policy()),
                  .num_features = SentFeatures(model),
                  .can_abstain =
                      model.policy().softmax_selection().has_abstain_score(),
                  .baseline_version = std::nullopt,
                  .evaluate_from_version = model.provenance().parent_version(),
                  .features = frame.features}));
  if (const uint64_t abstained = data.left_out(LeftOutReason::kAbstained) +
                                 data.abstained_validation.size() +
                                 data.abstained_test.size();
      abstained > 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        abstained, " tuples abstained, which version ", model.version(),
        " of model '", options.model(),
        "' cannot: estimates without them would be too high; give the versions "
        "that could not abstain either by --versions"));
  }
  const std::optional<std::string> warning = data.overridden.Warning();
  if (warning.has_value() && options.overrides() == "intent_to_treat") {
    LogWarning(*warning);
  }
  if (std::min(data.validation.size(), data.test.size()) < kFewestTuples) {
    return NotYetError(absl::StrCat(
        "not enough data yet: ", data.validation.size(), " to validate, ",
        data.test.size(), " to test, logged by version ",
        model.provenance().parent_version(),
        " or later (the calibrated one may have been trained on older ones), "
        "must be at least ",
        kFewestTuples, " each (", data.DescribeExclusions(), ")"));
  }
  return data;
}

}  // namespace sortition
