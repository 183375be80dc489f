#include "trainer/offpolicy/rank_marginals.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/models/model_store.h"
#include "io/segments/decision_view.h"
#include "trainer/frames/model_frame.h"
#include "trainer/ope/policies/judged_policy.h"
#include "trainer/ope/rankings/order_view.h"

namespace sortition {
namespace {

class LoggedMarginals {
 public:
  explicit LoggedMarginals(const config::v1::TrainOptions& options)
      : options_(options) {}

  absl::Status Write(const log::v1::Decision& decision, size_t num_ranks,
                     std::vector<double>* marginals) {
    const absl::Status status = View(decision, num_ranks);
    if (!status.ok()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "version ", decision.version(), " of model '", options_.model(),
          "', decision '", decision.decision_id(), "': ", status.message(),
          "; rank_weights ITEM_POSITION and objective EXPOSURE need what "
          "logged: take PREFIXES, or other decisions (--versions, --since)"));
    }
    std::swap(view_.marginals, *marginals);
    return absl::OkStatus();
  }

 private:
  struct Version {
    std::unique_ptr<JudgedPolicy> policy;
    uint32_t sent_features = 0;
  };

  absl::StatusOr<const Version*> Find(uint64_t number) {
    const auto found = versions_.find(number);
    if (found != versions_.end()) return &found->second;
    Version version;
    if (number == 0) {
      version.policy = MakeUniformPolicy("uniform");
    } else {
      ASSIGN_OR_RETURN(
          const StoredModel stored,
          ModelStore(options_.model_store()).Load(options_.model(), number));
      version.sent_features = SentFeatures(stored.model);
      ASSIGN_OR_RETURN(version.policy,
                       MakeStoredPolicy(absl::StrCat(number), stored.model));
    }
    return &versions_.emplace(number, std::move(version)).first->second;
  }

  absl::StatusOr<OrderLaw> FindLaw(const LoggedDecision& logged) {
    const log::v1::Decision& decision = *logged.decision;
    if (decision.has_interleaving()) {
      return absl::FailedPreconditionError("another version had a part in it");
    }
    ASSIGN_OR_RETURN(const Version* const version, Find(decision.version()));
    if (decision.version() > 0 &&
        version->sent_features != decision.num_features()) {
      return absl::FailedPreconditionError(
          absl::StrCat("num_features is ", decision.num_features(),
                       ", in the store ", version->sent_features));
    }
    ASSIGN_OR_RETURN(const std::optional<OrderLaw> law,
                     version->policy->OrderLawOf(logged));
    if (!law.has_value() || !HasClosedForm(*law)) {
      return absl::FailedPreconditionError(
          "it is no plackett_luce without rank_factors, whose marginals are "
          "exact");
    }
    return *law;
  }

  // Fills in view_.
  absl::Status View(const log::v1::Decision& decision, size_t num_ranks) {
    if (!HasRankPropensitiesOfVersion(decision)) {
      return absl::FailedPreconditionError(
          "the log has no propensity of each rank of its own (the caller's "
          "baseline had a part, or the log was imported)");
    }
    ASSIGN_OR_RETURN(const DecisionView query, ViewDecision(decision));
    LoggedDecision logged;
    logged.decision = &decision;
    logged.query = {.candidates = query.candidates,
                    .eligible = query.eligible,
                    .top_k = static_cast<uint32_t>(decision.action_size()),
                    .columns = query.columns};
    logged.action = SpanOf(decision.action());
    logged.action_kind = ActionKind::kRank;
    ASSIGN_OR_RETURN(const OrderLaw law, FindLaw(logged));
    order_.Read(logged);
    RETURN_IF_ERROR(viewer_.View(
        law, {.order = order_.positions(), .num_marginals = num_ranks},
        &view_));
    return CheckConditionals();
  }

  absl::Status CheckConditionals() const {
    const std::optional<size_t> rank = order_.FindContradiction(view_);
    if (!rank.has_value()) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        "conditional_log_propensities[", *rank, "] is ",
        order_.log_conditionals()[*rank], ", must be ",
        view_.log_conditionals[*rank], " by the version in the store"));
  }

  const config::v1::TrainOptions options_;
  std::map<uint64_t, Version> versions_;
  OrderViewer viewer_;
  OrderView view_;
  LoggedOrder order_;
};

}  // namespace

RankMarginals MakeRankMarginals(const config::v1::TrainOptions& options) {
  return [logged = std::make_shared<LoggedMarginals>(options)](
             const log::v1::Decision& decision, size_t num_ranks,
             std::vector<double>* marginals) {
    return logged->Write(decision, num_ranks, marginals);
  };
}

}  // namespace sortition
