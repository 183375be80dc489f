#include "client/logs/choice_verify.h"

#include <bit>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/status_macros.h"
#include "core/choices/traffic_split.h"
#include "io/segments/decision_view.h"

namespace sortition {
namespace {

using Found = std::optional<std::string>;

std::string NumberText(const std::optional<double>& value) {
  return value.has_value() ? absl::StrFormat("%.17g", *value) : "none";
}

bool SameBits(const std::optional<double>& a, const std::optional<double>& b) {
  if (!a.has_value() || !b.has_value()) return a.has_value() == b.has_value();
  return std::bit_cast<uint64_t>(*a) == std::bit_cast<uint64_t>(*b);
}

Found CompareNumber(absl::string_view what,
                    const std::optional<double>& expected,
                    const std::optional<double>& logged) {
  if (SameBits(expected, logged)) return std::nullopt;
  return absl::StrCat(what, ": expected ", NumberText(expected), ", logged ",
                      NumberText(logged));
}

bool IsFBetaGame(const LinearPolicy& policy) {
  return policy.action_kind() == ActionKind::kSubset && !policy.takes_size();
}

}  // namespace

Hash128 LoggedKey(const log::v1::Decision& decision, uint64_t version,
                  absl::string_view salt) {
  return decision.has_seed() ? SeedKey(decision.seed(), salt)
                             : DecisionKey(decision.model(), version,
                                           decision.decision_id(), salt);
}

BaselinePlan PlanOf(const log::v1::BaselineChoice& baseline) {
  BaselinePlan plan;
  plan.mode = baseline.mode();
  plan.model_probability = baseline.model_probability();
  plan.action = SpanOf(baseline.action());
  if (baseline.has_log_propensity()) {
    plan.log_propensity = baseline.log_propensity();
  }
  return plan;
}

Found BaselineDifference(const log::v1::BaselineChoice& baseline,
                         const BaselineOutcome& outcome) {
  if (baseline.model_decided() != outcome.model_decided) {
    return absl::StrCat("baseline.model_decided: expected ",
                        outcome.model_decided, ", logged ",
                        baseline.model_decided());
  }
  std::optional<double> logged;
  if (baseline.has_model_log_propensity()) {
    logged = baseline.model_log_propensity();
  }
  return CompareNumber("baseline.model_log_propensity",
                       outcome.model_log_propensity, logged);
}

absl::StatusOr<Found> ArmDifference(const log::v1::Decision& decision,
                                    const BaselinePlan* plan,
                                    const PolicyQuery& query, const Draw& draw,
                                    const FindPolicy& find,
                                    PolicyWorkspace* workspace) {
  const log::v1::ArmChoice& logged = decision.arm();
  const model::v1::Split& split = logged.split();
  if (const absl::Status status = ValidateSplit(split); !status.ok()) {
    return Found(absl::StrCat("arm.split cannot be: ", status.message()));
  }
  const std::vector<VersionShare> shares =
      SharesOf(split, logged.primary_version());
  const size_t own =
      ShareAt(split, logged.primary_version(),
              SplitPlace(decision.model(), split.salt(), decision.unit_id(),
                         decision.decision_id()));
  if (shares[own].version != decision.version()) {
    return Found(absl::StrCat("version: expected ", shares[own].version,
                              " by the split, logged ", decision.version()));
  }
  std::vector<std::shared_ptr<const LinearPolicy>> policies;
  std::vector<MixedArm> arms;
  bool has_game = false;
  for (const auto& [version, places] : shares) {
    ASSIGN_OR_RETURN(auto policy, find(version));
    arms.push_back({policy.get(), static_cast<double>(places) / kSplitPlaces});
    has_game |= IsFBetaGame(*policy);
    policies.push_back(std::move(policy));
  }
  if (auto difference = CompareNumber("arm.probability", arms[own].probability,
                                      logged.probability())) {
    return difference;
  }
  std::optional<double> mixture;
  if (!has_game) {
    const auto computed =
        MixtureLogPropensity(arms, own, plan, query, draw, workspace);
    if (!computed.ok()) {
      return Found(
          absl::StrCat("arm.mixture_log_propensity: an arm refuses the "
                       "query: ",
                       computed.status().message()));
    }
    mixture = *computed;
  }
  std::optional<double> of_log;
  if (logged.has_mixture_log_propensity()) {
    of_log = logged.mixture_log_propensity();
  }
  return CompareNumber("arm.mixture_log_propensity", mixture, of_log);
}

}  // namespace sortition
