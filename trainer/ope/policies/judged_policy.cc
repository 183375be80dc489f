#include "trainer/ope/policies/judged_policy.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/features/schema/bound_columns.h"
#include "core/features/schema/column_presence.h"
#include "core/policies/distribution_factory.h"

namespace sortition {
namespace {

void ViewByLinear(const LinearPolicy& policy, const LoggedDecision& decision,
                  bool wants_first, PolicyWorkspace* workspace,
                  PolicyView* view) {
  view->log_probability =
      policy.LogPropensity(decision.query, decision.action, workspace);
  view->first.clear();
  if (wants_first) {
    view->abstain =
        policy.FirstProbabilities(decision.query, workspace, &view->first);
  }
}

class StoredPolicy : public JudgedPolicy {
 public:
  StoredPolicy(std::string name, std::string description, LinearPolicy policy,
               model::v1::Policy law,
               std::unique_ptr<const ActionDistribution> distribution,
               int64_t learned_time_us)
      : JudgedPolicy(std::move(name), std::move(description)),
        policy_(std::move(policy)),
        law_(std::move(law)),
        distribution_(std::move(distribution)),
        learned_time_us_(learned_time_us) {
    if (const FeatureTransform* const transform =
            policy_.features().transform()) {
      presence_.emplace(transform->schema());
    }
  }

  int64_t learned_time_us() const override { return learned_time_us_; }
  std::string AbsentColumns() const override {
    return presence_.has_value() ? presence_->AbsentText() : "";
  }

  std::string UnknownText() const override {
    return "a version reads a column with another type";
  }
  bool Knows(const LoggedDecision& decision) const override {
    return Binds(decision, {.absent_is_missing = true});
  }
  bool CouldDecide(const LoggedDecision& decision) const override {
    return Binds(decision, {});
  }

  absl::Status View(const LoggedDecision& decision, bool wants_first,
                    PolicyView* view) override {
    ViewByLinear(policy_, decision, wants_first, &workspace_, view);
    if (presence_.has_value() && decision.query.columns != nullptr) {
      presence_->Add(*decision.query.columns);
    }
    return workspace_.refusal;
  }

  absl::StatusOr<std::optional<OrderLaw>> OrderLawOf(
      const LoggedDecision& decision) override {
    policy_.LogPropensity(decision.query, decision.action, &workspace_);
    RETURN_IF_ERROR(workspace_.refusal);
    return OrderLaw{&law_, distribution_.get(), workspace_.scores};
  }

 private:
  bool Binds(const LoggedDecision& decision, const BindOptions& options) const {
    const FeatureTransform* const transform = policy_.features().transform();
    if (transform == nullptr || decision.query.columns == nullptr) return true;
    BoundColumns bound;
    return bound.Bind(transform->schema(), *decision.query.columns, options)
        .ok();
  }

  const LinearPolicy policy_;
  const model::v1::Policy law_;
  const std::unique_ptr<const ActionDistribution> distribution_;
  const int64_t learned_time_us_;
  PolicyWorkspace workspace_;
  std::optional<ColumnPresence> presence_;  // Unset: it reads no columns.
};

class UniformPolicy : public JudgedPolicy {
 public:
  explicit UniformPolicy(std::string name)
      : JudgedPolicy(std::move(name), "every action equally likely") {}

  absl::Status View(const LoggedDecision& decision, bool wants_first,
                    PolicyView* view) override {
    const bool can_abstain = decision.decision->can_abstain();
    if (!policy_ || policy_->action_kind() != decision.action_kind ||
        policy_->can_abstain() != can_abstain) {
      policy_ = LinearPolicy::Uniform(decision.action_kind, can_abstain);
    }
    ViewByLinear(*policy_, decision, wants_first, &workspace_, view);
    return absl::OkStatus();
  }

  absl::StatusOr<std::optional<OrderLaw>> OrderLawOf(
      const LoggedDecision& decision) override {
    scores_.assign(decision.num_eligible(), 0);
    return OrderLaw{&law_, orders_.get(), scores_};
  }

 private:
  std::optional<LinearPolicy> policy_;
  PolicyWorkspace workspace_;
  const model::v1::Policy law_;
  const std::unique_ptr<const ActionDistribution> orders_ =
      MakeUniformDistribution(ActionKind::kRank);
  std::vector<double> scores_;
};

class ConstantPolicy : public JudgedPolicy {
 public:
  ConstantPolicy(std::string name, std::string description, int32_t first,
                 int32_t second, double mixture)
      : JudgedPolicy(std::move(name), std::move(description)),
        documents_{first, second},
        mixture_(mixture) {}

  absl::Status View(const LoggedDecision& decision, bool,
                    PolicyView* view) override {
    const size_t n = decision.query.num_candidates();
    const auto document =
        static_cast<size_t>(documents_[UnitHalf(decision.unit)]);
    view->first.assign(n, 0);
    view->abstain = 0;
    if (document < n && decision.is_eligible(document)) {
      view->first[document] = 1;
    } else {
      const double share = 1 / static_cast<double>(decision.num_eligible());
      for (size_t i = 0; i < n; ++i) {
        if (decision.is_eligible(i)) view->first[i] = share;
      }
    }
    FinishSelection(decision, mixture_, view);
    return absl::OkStatus();
  }

 private:
  const int32_t documents_[2];
  const double mixture_;
};

}  // namespace

void FinishSelection(const LoggedDecision& decision, double mixture,
                     PolicyView* view) {
  const bool can_abstain = decision.decision->can_abstain();
  if (mixture > 0) {
    const double uniform =
        mixture /
        static_cast<double>(decision.num_eligible() + (can_abstain ? 1 : 0));
    for (size_t i = 0; i < view->first.size(); ++i) {
      view->first[i] *= 1 - mixture;
      if (decision.is_eligible(i)) view->first[i] += uniform;
    }
    view->abstain *= 1 - mixture;
    if (can_abstain) view->abstain += uniform;
  }
  const int32_t chosen = decision.action[0];
  view->log_probability = std::log(
      chosen == kAbstain ? view->abstain : view->first[size_t(chosen)]);
}

size_t LoggedDecision::num_eligible() const {
  if (query.eligible.empty()) return query.num_candidates();
  return static_cast<size_t>(
      std::count(query.eligible.begin(), query.eligible.end(), true));
}

absl::StatusOr<std::unique_ptr<JudgedPolicy>> MakeStoredPolicy(
    std::string name, const model::v1::Model& model) {
  ASSIGN_OR_RETURN(LinearPolicy policy, LinearPolicy::Create(model));
  ASSIGN_OR_RETURN(auto distribution, MakeActionDistribution(model.policy()));
  std::string description = absl::StrCat(
      "version ", model.version(), ", ", PolicyKindName(model.policy()),
      ", inverse temperature ", model.policy().inverse_temperature(),
      ", uniform mixture ", model.policy().uniform_mixture());
  const model::v1::Provenance& provenance = model.provenance();
  return std::make_unique<StoredPolicy>(
      std::move(name), std::move(description), std::move(policy),
      model.policy(), std::move(distribution),
      provenance.learner() == "poem" ? provenance.created_time_us() : 0);
}

std::unique_ptr<JudgedPolicy> MakeUniformPolicy(std::string name) {
  return std::make_unique<UniformPolicy>(std::move(name));
}

std::unique_ptr<JudgedPolicy> MakeConstantPolicy(std::string name,
                                                 int32_t first, int32_t second,
                                                 double mixture) {
  std::string description =
      first == second
          ? absl::StrCat("always document_index ", first,
                         ", the best on both halves of the units")
          : absl::StrCat("always document_index ", second, " or ", first,
                         ": each is the best on one half of the units, and "
                         "judged on the other");
  return std::make_unique<ConstantPolicy>(
      std::move(name), std::move(description), first, second, mixture);
}

}  // namespace sortition
