#include "server/decisions/version_choice.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status_macros.h"
#include "io/clocks.h"
#include "server/decisions/request_validation.h"

namespace sortition {
namespace {

std::string LoadedVersions(const ServingSet& set) {
  return absl::StrJoin(set.loaded, ", ",
                       [](std::string* text, const auto& loaded) {
                         absl::StrAppend(text, loaded.first);
                       });
}

absl::Status NotLoaded(const ServingSet& set, uint64_t version) {
  return absl::FailedPreconditionError(absl::StrCat(
      "context.version = ", version, ": not loaded; must be one of ",
      LoadedVersions(set), ", which model ", set.name, " has loaded (",
      set.primary->version, " serves), or unset"));
}

absl::Status NoSuchLabel(const ServingSet& set, absl::string_view label) {
  std::vector<std::string> names;
  for (const auto& known : set.serving.labels()) names.push_back(known.name());
  return absl::FailedPreconditionError(
      absl::StrCat("context.label = \"", absl::CHexEscape(label.substr(0, 64)),
                   "\": no such label; model ", set.name, " has ",
                   names.empty() ? "none" : absl::StrJoin(names, ", ")));
}

std::vector<int32_t> FirstEligible(const PolicyQuery& query, uint32_t count) {
  std::vector<int32_t> action;
  const uint32_t n = query.num_candidates();
  for (uint32_t i = 0; i < n && action.size() < count; ++i) {
    if (query.eligible.empty() || query.eligible[i]) {
      action.push_back(static_cast<int32_t>(i));
    }
  }
  return action;
}

absl::Status CheckDocuments(const v1::Baseline& baseline,
                            const PolicyQuery& query) {
  const uint32_t n = query.num_candidates();
  std::vector<uint32_t> sorted(baseline.action().begin(),
                               baseline.action().end());
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) {
    const bool is_bad = sorted[i] >= n ||
                        (i > 0 && sorted[i] == sorted[i - 1]) ||
                        (!query.eligible.empty() && !query.eligible[sorted[i]]);
    if (!is_bad) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "context.baseline.action holds ", sorted[i],
        ": must hold document indexes of eligible candidates, in [0, ", n - 1,
        "], each once"));
  }
  return absl::OkStatus();
}

absl::Status WrongSize(size_t size, absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat(
      "context.baseline.action has ", size, " entries: must have ", expected));
}

// Returns how many candidates the baseline of a ranking or a subset has.
uint32_t BaselineSize(const PolicyQuery& query) {
  const uint32_t eligible = NumEligible(query);
  return query.top_k == 0 ? eligible : std::min(query.top_k, eligible);
}

absl::Status CheckBaseline(const v1::Baseline& baseline,
                           const LinearPolicy& policy,
                           const PolicyQuery& query) {
  if (baseline.abstain() && !policy.can_abstain()) {
    return absl::InvalidArgumentError(
        "context.baseline.abstain = true: must be false; the model cannot "
        "abstain");
  }
  // The range also refuses NaN.
  if (baseline.has_log_propensity() &&
      !(baseline.log_propensity() <= 0 && baseline.log_propensity() > -1e9)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "context.baseline.log_propensity = ", baseline.log_propensity(),
        ": must be the logarithm of a probability, in (-1e9, 0]"));
  }
  const auto size = static_cast<size_t>(baseline.action_size());
  const bool is_given = size > 0 || baseline.abstain();
  switch (policy.action_kind()) {
    case ActionKind::kSelect:
      if (is_given && size + (baseline.abstain() ? 1 : 0) != 1) {
        return WrongSize(size, "one, or none with abstain");
      }
      break;
    case ActionKind::kRank:
      if (is_given && size < BaselineSize(query)) {
        return WrongSize(
            size, absl::StrCat("at least top_k = ", BaselineSize(query)));
      }
      break;
    case ActionKind::kSubset:
      if (query.top_k > 0 && is_given && size != query.top_k) {
        return WrongSize(size, absl::StrCat("k = ", query.top_k));
      }
      break;
  }
  return CheckDocuments(baseline, query);
}

}  // namespace

absl::StatusOr<VersionChoice> ChooseVersion(const ServingSet& set,
                                            const v1::DecisionContext& context,
                                            const std::string& decision_id) {
  VersionChoice choice;
  if (context.has_version()) {
    if (!context.label().empty()) {
      return absl::InvalidArgumentError(
          "context.version and context.label are both set: at most one must "
          "be");
    }
    choice.model = set.FindVersion(context.version());
    if (choice.model == nullptr) return NotLoaded(set, context.version());
  } else if (!context.label().empty()) {
    choice.model = set.FindLabel(context.label());
    if (choice.model == nullptr) return NoSuchLabel(set, context.label());
  } else if (set.is_split()) {
    choice.arm = &set.ArmOf(context.unit_id(), decision_id);
    choice.model = choice.arm->model;
  } else {
    choice.model = set.primary.get();
    choice.interleaved = set.InterleavedFor(context.unit_id(), decision_id);
  }
  return choice;
}

absl::Status SetBaseline(const v1::DecisionContext& context,
                         const LinearPolicy& policy, const PolicyQuery& query,
                         Action* action) {
  const v1::Baseline& baseline = context.baseline();
  RETURN_IF_ERROR(CheckBaseline(baseline, policy, query));
  const ActionKind kind = policy.action_kind();
  if (kind == ActionKind::kSelect && baseline.abstain()) {
    action->assign(1, kAbstain);
    return absl::OkStatus();
  }
  if (!baseline.action().empty()) {
    action->assign(baseline.action().begin(), baseline.action().end());
    if (kind == ActionKind::kRank) action->resize(BaselineSize(query));
    if (kind == ActionKind::kSubset) std::sort(action->begin(), action->end());
    return absl::OkStatus();
  }
  if (kind == ActionKind::kSubset && query.top_k == 0) {
    // A subset of any size: none given is none chosen.
    action->clear();
    return absl::OkStatus();
  }
  *action = FirstEligible(
      query, kind == ActionKind::kSelect ? 1 : BaselineSize(query));
  return absl::OkStatus();
}

void CountAgreement(const ServedModel& model, const BaselinePlan& plan,
                    const BaselineOutcome& outcome, const LinearPolicy& policy,
                    const PolicyQuery& query, PolicyWorkspace* decided,
                    BaselineAgreement* agreement) {
  agreement->CountDecision(model.name, plan.mode);
  // What the model decided says nothing of the baseline's action. Who decides
  // does not depend on the query, so the others are a fair sample.
  if (outcome.model_decided || !outcome.model_log_propensity.has_value()) {
    return;
  }
  std::optional<bool> agrees;
  if (plan.mode == model::v1::APPRENTICE) {
    const Action mode = policy.DecidedMode(query, decided);
    agrees = std::equal(mode.begin(), mode.end(), plan.action.begin(),
                        plan.action.end());
  }
  agreement->CountAsked({model.name, model.version, plan.mode},
                        *outcome.model_log_propensity, agrees, NowUs());
}

void FillInterleaving(const ServingSet& set,
                      const ServingSet::Interleaved& interleaved,
                      log::v1::Interleaving* record) {
  record->set_other_version(interleaved.other->version);
  record->set_method(interleaved.interleaver.method());
  record->set_probability(interleaved.probability);
  record->set_salt(set.serving.interleave().salt());
}

absl::Status FillArmChoice(const ServingSet& set, const VersionChoice& choice,
                           const BaselinePlan* plan, const PolicyQuery& query,
                           ActionKind kind, const Draw& draw,
                           PolicyWorkspace* others,
                           log::v1::ArmChoice* record) {
  record->set_probability(choice.arm->probability);
  *record->mutable_split() = set.serving.split();
  record->set_primary_version(set.primary->version);
  if (set.has_f_beta_game) return absl::OkStatus();
  std::vector<MixedArm> arms;
  for (const ServingSet::Arm& arm : set.arms) {
    arms.push_back({&*arm.model->PolicyFor(kind), arm.probability});
  }
  const auto mixture = MixtureLogPropensity(
      arms, static_cast<size_t>(choice.arm - set.arms.data()), plan, query,
      draw, others);
  if (!mixture.ok()) {
    return absl::Status(
        mixture.status().code(),
        absl::StrCat("context.candidates: ", mixture.status().message(),
                     " (another version of the split)"));
  }
  record->set_mixture_log_propensity(*mixture);
  return absl::OkStatus();
}

}  // namespace sortition
