#include "trainer/ope/judgement.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

// Fewer than for all decisions: these sums answer side questions.
constexpr size_t kSideGroups = 2048;

bool IsSelection(const LoggedDecision& decision) {
  return decision.action_kind == ActionKind::kSelect;
}

}  // namespace

double NamedRewards::Scaled(double reward) const {
  if (!file.is_range_known()) return 0;
  return (reward - file.min()) / (file.max() - file.min());
}

Judgement::Judgement(const Parts& parts, Slices slices)
    : parts_(parts),
      all_(parts.policies.policies.size(), GroupSums::kDefaultGroups),
      grouped_(parts.policies.num_reported, kSideGroups),
      slices_(std::move(slices)),
      weights_(parts.policies.policies.size(), parts.summary.decisions,
               parts.options.sample()),
      exploration_(parts.summary.reward_sum /
                   static_cast<double>(parts.summary.decisions)),
      support_(parts.logging) {
  const size_t size = parts.policies.policies.size();
  for (size_t i = 0; i < parts.rewards.size(); ++i) {
    reward_sums_.emplace_back(parts.policies.num_reported, kSideGroups);
  }
  learned_after_.resize(size);
  has_model_.assign(size, parts.model != nullptr);
  has_marginal_.assign(size, parts.categories.is_set());
  views_.resize(size);
  judged_.resize(size);
  log_weights_.resize(size);
}

absl::StatusOr<std::unique_ptr<Judgement>> Judgement::Plan(const Parts& parts) {
  ASSIGN_OR_RETURN(Slices slices, Slices::Plan(parts.options, parts.summary,
                                               parts.policies.num_reported));
  return std::unique_ptr<Judgement>(new Judgement(parts, std::move(slices)));
}

absl::Status Judgement::Judge(const LoggedDecision& decision, size_t k) {
  const PolicyView& view = views_[k];
  JudgedDecision& judged = judged_[k];
  judged = {};
  log_weights_[k] = view.log_probability - decision.log_propensity;
  judged.log_weight = log_weights_[k];
  judged.is_logging_refuted = support_.is_refuted();
  ASSIGN_OR_RETURN(
      judged.missing,
      support_.Of(decision, view, parts_.policies.policies[k].get()));
  if (parts_.logging.log_mixture()) {
    judged.log_balanced_weight =
        view.log_probability - *parts_.logging.log_mixture();
  }
  const bool has_first = !view.first.empty();
  if (!has_first) has_model_[k] = false;
  if (parts_.model != nullptr && has_first) {
    judged.modelled_logged = expected_.Of(decision.action);
    judged.modelled_policy = expected_.Of(view);
    if (parts_.robust_models[k] != nullptr) {
      parts_.robust_models[k]->Predict(decision, &robust_);
      judged.robust_logged = robust_.Of(decision.action);
      judged.robust_policy = robust_.Of(view);
    }
  }
  const PolicyView* const logging = parts_.logging.logging_view();
  if (parts_.categories.is_set() && has_first && logging != nullptr) {
    judged.log_marginal_weight =
        std::log(parts_.categories.ProbabilityOf(view)) -
        std::log(parts_.categories.ProbabilityOf(*logging));
  } else {
    has_marginal_[k] = false;
  }
  return absl::OkStatus();
}

JudgedRow Judgement::RowOf(const LoggedDecision& decision) {
  JudgedRow row;
  if (parts_.options.units() == "same") {
    row.group_hash = UnitKey("", decision.decision->decision_id());
    row.share = parts_.summary.ids.ShareOf(row.group_hash);
  } else {
    row.group_hash = decision.unit;
    row.share = parts_.summary.units.ShareOf(decision.unit);
    if (row.share < 1) ++weighed_down_;
  }
  row.reward = decision.reward;
  // Weights against a mixture have mean 1 over all arms, in none of them.
  row.logging_policy =
      parts_.logging.IndexOf(decision.arm_use == ArmUse::kBalanced
                                 ? decision.decision->arm().primary_version()
                                 : decision.decision->version());
  row.policies = judged_;
  return row;
}

absl::Status Judgement::Add(const LoggedDecision& decision) {
  const bool wants_categories =
      parts_.categories.is_set() && IsSelection(decision);
  RETURN_IF_ERROR(parts_.logging.View(decision, wants_categories));
  RETURN_IF_ERROR(support_.Take(decision));
  has_balanced_ &= parts_.logging.log_mixture().has_value();
  has_cut_ |= decision.is_cut;
  has_mixed_arms_ |= decision.arm_use == ArmUse::kBalanced;
  if (wants_categories) RETURN_IF_ERROR(parts_.categories.Mark(decision));
  if (parts_.model != nullptr) parts_.model->Predict(decision, &expected_);
  const bool wants_first = parts_.model != nullptr || IsSelection(decision);
  for (size_t k = 0; k < views_.size(); ++k) {
    RETURN_IF_ERROR(
        parts_.policies.policies[k]->View(decision, wants_first, &views_[k]));
    RETURN_IF_ERROR(Judge(decision, k));
    if (decision.decision->time_us() <
        parts_.policies.policies[k]->learned_time_us()) {
      ++learned_after_[k];
    }
  }
  RETURN_IF_ERROR(uniform_->View(decision, false, &uniform_view_));
  weights_.Add({.decision_id = decision.decision->decision_id(),
                .log_propensity = decision.log_propensity,
                .log_uniform = uniform_view_.log_probability,
                .shown_otherwise = !decision.action_shown,
                .full_support = decision.full_support},
               log_weights_);
  if (parts_.policies.has_exploration()) {
    exploration_.Add(decision.reward, decision.log_propensity,
                     views_[parts_.policies.num_reported].log_probability,
                     uniform_view_.log_probability);
  }
  JudgedRow row = RowOf(decision);
  if (has_several_versions()) {
    context_mix_.Add(row.logging_policy, decision.unit,
                     decision.query.candidates);
  }
  row.AddTo(&all_);
  slices_.Add(decision, row);
  for (size_t i = 0; i < reward_sums_.size(); ++i) {
    NamedRewards& rewards = parts_.rewards[i];
    const std::string& id = decision.decision->decision_id();
    const int64_t time_us = decision.decision->time_us();
    const std::optional<double> reward =
        rewards.coverage.NoteUsed(rewards.file, id, time_us);
    if (!reward.has_value()) continue;
    row.reward = rewards.Scaled(decision.action_shown ? *reward : 0);
    row.AddTo(&reward_sums_[i]);
  }
  row.reward = decision.reward;
  row.group_hash =
      UnitKey("", absl::StrCat(decisions_ / parts_.options.group_size()));
  row.share = 1;
  row.AddTo(&grouped_);
  ++decisions_;
  return absl::OkStatus();
}

void Judgement::Finish() {
  for (size_t k = 0; k < num_reported(); ++k) {
    if (!all_.IsLoggingRefuted(k)) continue;
    for (PolicySums& sums : reward_sums_) sums.RefuteLogging(k);
    slices_.RefuteLogging(k);
  }
}

}  // namespace sortition
