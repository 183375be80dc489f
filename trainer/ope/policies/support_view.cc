#include "trainer/ope/policies/support_view.h"

#include <cmath>

#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"
#include "core/choices/traffic_split.h"

namespace sortition {
namespace {

// Draws an order, in document indexes, as long as the logged action. Returns
// its log-probability.
double DrawOrder(const OrderLaw& law, const LoggedDecision& decision,
                 Action* order) {
  ScoredCandidates candidates;
  candidates.scores = law.scores;
  candidates.top_k = static_cast<uint32_t>(decision.action.size());
  candidates.game = decision.query.game;
  Draw draw;
  law.distribution->Sample(
      candidates,
      CounterRandom(
          StableHash(HashDomain::kTraining,
                     {"missing mass", decision.decision->decision_id()})),
      &draw);
  std::vector<int32_t> documents;
  for (size_t i = 0; i < decision.query.num_candidates(); ++i) {
    if (decision.is_eligible(i)) documents.push_back(static_cast<int32_t>(i));
  }
  order->clear();
  for (const int32_t position : draw.action) {
    order->push_back(documents[static_cast<size_t>(position)]);
  }
  return draw.log_propensity;
}

}  // namespace

absl::StatusOr<double> SupportView::LogLogged(const LoggedDecision& decision,
                                              bool wants_first) {
  if (wants_first) logged_.assign(decision.query.num_candidates() + 1, 0);
  double probability = 0;
  for (const Part& part : parts_) {
    RETURN_IF_ERROR(part.policy->View(decision, wants_first, &view_));
    probability += part.share * std::exp(view_.log_probability);
    if (!wants_first) continue;
    for (size_t i = 0; i < view_.first.size(); ++i) {
      logged_[i] += part.share * view_.first[i];
    }
    logged_.back() += part.share * view_.abstain;
  }
  return std::log(probability);
}

absl::Status SupportView::Take(const LoggedDecision& decision) {
  parts_.clear();
  is_refuted_ = false;
  is_known_ = false;
  const log::v1::Decision& logged = *decision.decision;
  if (logged.has_interleaving() || logged.has_baseline() ||
      decision.action_kind == ActionKind::kSubset) {
    return absl::OkStatus();
  }
  if (decision.action_kind == ActionKind::kSelect) {
    logged_ =
        ProbabilitiesOfTwo({.num_candidates = decision.query.num_candidates(),
                            .eligible = decision.query.eligible,
                            .can_abstain = logged.can_abstain(),
                            .action = decision.action[0],
                            .log_propensity = decision.log_propensity});
    is_known_ = !logged_.empty();
    if (is_known_) return absl::OkStatus();
  }
  if (decision.arm_use == ArmUse::kBalanced) {
    for (const VersionShare& arm :
         SharesOf(logged.arm().split(), logged.arm().primary_version())) {
      parts_.push_back({logging_.PolicyOf(arm.version),
                        static_cast<double>(arm.places) / kSplitPlaces});
    }
  } else {
    parts_.push_back({logging_.PolicyOf(logged.version()), 1});
  }
  for (const Part& part : parts_) {
    if (part.policy != nullptr) continue;
    parts_.clear();
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(
      const double log_probability,
      LogLogged(decision, decision.action_kind == ActionKind::kSelect));
  is_refuted_ = !(std::abs(log_probability - decision.log_propensity) <=
                  LoggingPolicies::kLogTolerance);
  is_known_ = !is_refuted_;
  return absl::OkStatus();
}

absl::StatusOr<std::optional<MissingMass>> SupportView::Of(
    const LoggedDecision& decision, const PolicyView& view,
    JudgedPolicy* policy) {
  if (!is_known_) return std::nullopt;
  if (decision.action_kind == ActionKind::kSelect) {
    if (view.first.empty()) return std::nullopt;
    target_ = view.first;
    target_.push_back(view.abstain);
    return MissingMassOf(target_, logged_);
  }
  ASSIGN_OR_RETURN(const std::optional<OrderLaw> law,
                   policy->OrderLawOf(decision));
  if (!law.has_value()) return std::nullopt;
  Action order;
  const double log_target = DrawOrder(*law, decision, &order);
  if (!std::isfinite(log_target)) return std::nullopt;
  LoggedDecision drawn = decision;
  drawn.action = order;
  ASSIGN_OR_RETURN(const double log_logged, LogLogged(drawn, false));
  return MissingMassOfDraw(log_target - log_logged);
}

}  // namespace sortition
