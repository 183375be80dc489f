#include "trainer/ope/rankings/ranking_judgement.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/hash.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

// Items that are looked at less often than this by all that the log could do
// count as if they were looked at so often.
constexpr double kLeastExamination = 1e-3;

}  // namespace

RankingJudgement::RankingJudgement(Parts parts)
    : parts_(std::move(parts)),
      weights_(parts_.ranking.WeightsOf(
          std::min(parts_.num_ranks, RankingValue::kMaxCountedRanks))),
      states_(parts_.policies.size()),
      judged_(parts_.policies.size()) {
  for (State& state : states_) {
    state.has_prefix_model = parts_.model != nullptr;
  }
}

absl::StatusOr<std::unique_ptr<RankingJudgement>> RankingJudgement::Create(
    Parts parts) {
  std::unique_ptr<RankingJudgement> judgement(
      new RankingJudgement(std::move(parts)));
  RETURN_IF_ERROR(judgement->MakeSums());
  return judgement;
}

absl::Status RankingJudgement::MakeSums() {
  const bool has_model = parts_.model != nullptr;
  const RankingValue value = {.rank_weights = weights_, .whole_weight = 0};
  const RankingInputs inputs = {.marginals = true,
                                .prefix_model = has_model,
                                .position_model = has_model,
                                .pseudo_inverse = true};
  ASSIGN_OR_RETURN(sums_, RankingSums::Create(
                              {.value = value,
                               .policies = std::vector(num_policies(), inputs),
                               .num_groups = kNumGroups}));
  for (size_t k = 0; k < num_policies(); ++k) {
    ASSIGN_OR_RETURN(
        UserTestSums tests,
        UserTestSums::Create(
            {.value = value, .has_marginals = true, .num_groups = kNumGroups}));
    tests_.push_back(std::move(tests));
  }
  if (parts_.ranking.examination.has_value()) {
    clicks_.emplace(num_policies() + 1, kNumGroups);
  }
  return absl::OkStatus();
}

bool RankingJudgement::Has(size_t policy, RankingEstimatorKind kind) const {
  const State& state = states_[policy];
  if (!state.has_law) return false;
  if (kind == RankingEstimatorKind::kAdaptive) return has_marginals_;
  if (kind == RankingEstimatorKind::kDirect) return parts_.model != nullptr;
  const RankingWeightKind weight = *RankingWeightOf(kind);
  if (weight == RankingWeightKind::kMarginal && !has_marginals_) return false;
  if (weight == RankingWeightKind::kPseudoInverse &&
      !state.has_pseudo_inverse) {
    return false;
  }
  if (*RankingFormOf(kind) != RankingForm::kDoublyRobust) return true;
  return weight == RankingWeightKind::kPrefix ? state.has_prefix_model
                                              : parts_.model != nullptr;
}

double RankingJudgement::marginal_error(size_t policy) const {
  if (counts_.decisions == 0) return 0;
  return (states_[policy].marginal_errors + log_marginal_errors_) /
         static_cast<double>(counts_.decisions);
}

absl::Status RankingJudgement::ViewLog(const LoggedDecision& decision) {
  const size_t shown = feedback_.rewards.size();
  log_.log_marginals.assign(shown, 0);
  log_law_.reset();
  const log::v1::Decision& logged = *decision.decision;
  JudgedPolicy* const policy = parts_.logging.PolicyOf(logged.version());
  bool is_known = policy != nullptr && !logged.has_interleaving();
  if (is_known) {
    ASSIGN_OR_RETURN(log_law_, policy->OrderLawOf(decision));
    is_known = log_law_.has_value();
  }
  if (is_known) {
    RETURN_IF_ERROR(viewer_.View(
        *log_law_,
        {.order = order_.positions(),
         .game = decision.query.game,
         .num_marginals = has_marginals_ ? shown : 0,
         .key = StableHash(HashDomain::kTraining,
                           {"rank marginals", logged.decision_id()})},
        &log_.view));
    is_known = !order_.FindContradiction(log_.view).has_value();
  }
  for (size_t k = 0; is_known && has_marginals_ && k < shown; ++k) {
    const double marginal =
        log_.view.marginals[k * order_.num_eligible() + order_.position(k)];
    is_known = marginal > 0;
    log_.log_marginals[k] = is_known ? std::min(std::log(marginal), 0.0) : 0;
  }
  if (!is_known) {
    ++counts_.without_marginals;
    has_marginals_ = false;
    log_.log_marginals.assign(shown, 0);
    log_law_.reset();
  } else if (has_marginals_) {
    log_marginal_errors_ += log_.view.marginal_error;
  }
  return absl::OkStatus();
}

void RankingJudgement::ViewUnknown(State* state) const {
  const size_t shown = feedback_.rewards.size();
  state->view.log_conditionals.assign(order_.log_conditionals().begin(),
                                      order_.log_conditionals().end());
  state->view.marginals.clear();
  state->log_marginals.assign(shown, 0);
  state->prefix_logged.assign(shown, 0);
  state->prefix_policy.assign(shown, 0);
  state->position_logged.assign(shown, 0);
  state->position_policy.assign(shown, 0);
}

void RankingJudgement::UseModel(const OrderLaw& law, State* state) {
  if (parts_.model == nullptr) return;
  const size_t m = order_.num_eligible();
  state->has_prefix_model = state->has_prefix_model && HasClosedForm(law);
  probabilities_.resize(m);
  for (size_t k = 0; k < feedback_.rewards.size(); ++k) {
    const std::span<const double> expected(expected_.data() + k * m, m);
    const double logged = weights_[k] * expected[order_.position(k)];
    state->position_logged[k] = logged;
    for (size_t i = 0; i < m; ++i) {
      state->position_policy[k] +=
          weights_[k] * state->view.marginals[k * m + i] * expected[i];
    }
    if (!state->has_prefix_model) continue;
    ConditionalsAfter(law, order_.positions().first(k), probabilities_);
    state->prefix_logged[k] = logged;
    for (size_t i = 0; i < m; ++i) {
      state->prefix_policy[k] += weights_[k] * probabilities_[i] * expected[i];
    }
  }
}

absl::Status RankingJudgement::ViewPolicy(const LoggedDecision& decision,
                                          size_t policy) {
  State& state = states_[policy];
  ViewUnknown(&state);
  if (!state.has_law) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::optional<OrderLaw> law,
                   parts_.policies[policy]->OrderLawOf(decision));
  if (!law.has_value()) {
    state.has_law = false;
    return absl::OkStatus();
  }
  const size_t shown = feedback_.rewards.size();
  const bool wants_marginals = has_marginals_ || parts_.model != nullptr;
  RETURN_IF_ERROR(viewer_.View(
      *law,
      {.order = order_.positions(),
       .game = decision.query.game,
       .num_marginals = wants_marginals ? shown : 0,
       .key = StableHash(HashDomain::kTraining,
                         {"rank marginals", decision.decision->decision_id()})},
      &state.view));
  state.marginal_errors += state.view.marginal_error;
  for (size_t k = 0; has_marginals_ && k < shown; ++k) {
    state.log_marginals[k] =
        std::min(std::log(state.view.marginals[k * order_.num_eligible() +
                                               order_.position(k)]),
                 0.0);
  }
  UseModel(*law, &state);
  return absl::OkStatus();
}

absl::StatusOr<SlateInverse> RankingJudgement::InverseOfLog() const {
  const size_t ranks = feedback_.rewards.size();
  double orders = 1;
  for (size_t k = 0; k < ranks; ++k) {
    orders *= static_cast<double>(order_.num_eligible() - k);
  }
  if (!HasClosedForm(*log_law_) ||
      order_.num_eligible() * ranks > kMostIndicators || orders > kMostOrders) {
    return absl::FailedPreconditionError("too many orders");
  }
  ASSIGN_OR_RETURN(
      const SlateMoments moments,
      SlateMoments::Enumerate(
          order_.num_eligible(), ranks,
          [&](std::span<const int> above, std::span<double> probabilities) {
            ConditionalsAfter(*log_law_, above, probabilities);
          }));
  return moments.Invert();
}

absl::StatusOr<double> RankingJudgement::UniformWeight(
    const State& state) const {
  const size_t ranks = feedback_.rewards.size();
  UniformOrder uniform = {.num_candidates = order_.num_eligible(),
                          .num_ranks = ranks};
  for (size_t k = 0; k < ranks; ++k) {
    for (size_t j = 0; j < ranks; ++j) {
      const double marginal =
          state.view.marginals[j * order_.num_eligible() + order_.position(k)];
      uniform.anywhere += marginal;
      if (j == k) uniform.at_their_ranks += marginal;
    }
  }
  // Rounding may leave more.
  const auto most = static_cast<double>(ranks);
  uniform.anywhere = std::min(uniform.anywhere, most);
  uniform.at_their_ranks = std::min(uniform.at_their_ranks, most);
  return UniformPseudoInverseWeight(uniform);
}

void RankingJudgement::Invert() {
  const size_t ranks = feedback_.rewards.size();
  const bool is_uniform = has_marginals_ && log_law_->policy->kind_case() ==
                                                model::v1::Policy::KIND_NOT_SET;
  const bool is_asked =
      std::any_of(states_.begin(), states_.end(), [](const State& state) {
        return state.has_law && state.has_pseudo_inverse;
      });
  std::optional<SlateInverse> inverse;
  if (is_asked && has_marginals_ && !is_uniform) {
    absl::StatusOr<SlateInverse> made = InverseOfLog();
    if (made.ok()) inverse.emplace(*std::move(made));
  }
  std::vector<double> by_item(order_.num_eligible() * ranks);
  for (State& state : states_) {
    state.pseudo_inverse = 1;
    if (!state.has_law || !state.has_pseudo_inverse) continue;
    absl::StatusOr<double> weight =
        absl::FailedPreconditionError("no inverse of the log");
    if (is_uniform) {
      weight = UniformWeight(state);
    } else if (inverse.has_value()) {
      for (size_t i = 0; i < order_.num_eligible(); ++i) {
        for (size_t k = 0; k < ranks; ++k) {
          by_item[i * ranks + k] = std::min(
              state.view.marginals[k * order_.num_eligible() + i], 1.0);
        }
      }
      const auto made = inverse->WeightOf(by_item, order_.positions());
      if (made.ok()) weight = made->weight;
    }
    state.has_pseudo_inverse = weight.ok();
    if (weight.ok()) state.pseudo_inverse = *weight;
  }
}

double RankingJudgement::ExpectedAt(size_t k, std::span<const double> marginals,
                                    std::span<const double> values) const {
  double sum = 0;
  const size_t ranks = std::min(values.size(), feedback_.rewards.size());
  for (size_t j = 0; j < ranks; ++j) {
    sum +=
        marginals[j * order_.num_eligible() + order_.position(k)] * values[j];
  }
  return sum;
}

absl::Status RankingJudgement::AddClicks(uint64_t unit, double share) {
  if (!clicks_.has_value() || !has_marginals_) return absl::OkStatus();
  const Examination& examination = *parts_.ranking.examination;
  const size_t shown = feedback_.rewards.size();
  std::vector<double> worth = examination.alpha;
  worth.resize(shown, 0);
  double offset = 0;
  for (size_t k = 0; k < shown; ++k) {
    worth[k] *= weights_[k];
    if (k < examination.beta.size())
      offset += weights_[k] * examination.beta[k];
  }
  std::vector<double> examinations(shown);
  for (size_t k = 0; k < shown; ++k) {
    examinations[k] =
        std::max(ExpectedAt(k, log_.view.marginals, examination.alpha),
                 kLeastExamination);
  }
  std::vector<double> targets(shown);
  std::vector<ClickTerms> terms(num_policies() + 1);
  for (size_t p = 0; p <= num_policies(); ++p) {
    const State& state = p < num_policies() ? states_[p] : log_;
    if (!state.has_law) continue;
    for (size_t k = 0; k < shown; ++k) {
      targets[k] = ExpectedAt(k, state.view.marginals, worth);
    }
    ASSIGN_OR_RETURN(terms[p],
                     ClickTermsOf(examination, {.clicks = feedback_.clicks,
                                                .target_weights = targets,
                                                .examinations = examinations}));
    // Clicks that nothing interesting makes come to every order.
    terms[p].plain += offset;
  }
  clicks_->Add(unit, share, terms);
  return absl::OkStatus();
}

absl::Status RankingJudgement::Add(const LoggedDecision& decision) {
  if (!HasRankPropensities(decision)) {
    ++counts_.left_out;
    return absl::OkStatus();
  }
  feedback_ = ReadRankFeedback(*decision.tuple, parts_.options.reward_max());
  ++counts_.decisions;
  counts_.with_rank_rewards += feedback_.has_rank_rewards;
  counts_.without_ranks += feedback_.is_without_ranks;
  counts_.shown_otherwise += feedback_.shown_otherwise;
  counts_.outside_range += feedback_.num_outside;
  order_.Read(decision);
  RETURN_IF_ERROR(ViewLog(decision));
  if (parts_.model != nullptr) {
    parts_.model->Predict(decision, feedback_.rewards.size(), &expected_);
  }
  for (size_t k = 0; k < num_policies(); ++k) {
    RETURN_IF_ERROR(ViewPolicy(decision, k));
  }
  Invert();
  const bool same_units = parts_.options.units() == "same";
  const uint64_t unit = same_units
                            ? UnitKey("", decision.decision->decision_id())
                            : decision.unit;
  const double share = parts_.units.ShareOf(unit);
  const RankedDecision ranked = {.rewards = feedback_.rewards,
                                 .log_conditionals = order_.log_conditionals(),
                                 .log_marginals = log_.log_marginals};
  for (size_t k = 0; k < num_policies(); ++k) {
    const State& state = states_[k];
    judged_[k] = {.log_conditionals = state.view.log_conditionals,
                  .log_marginals = state.log_marginals,
                  .prefix_logged = state.prefix_logged,
                  .prefix_policy = state.prefix_policy,
                  .position_logged = state.position_logged,
                  .position_policy = state.position_policy,
                  .pseudo_inverse_weight = state.pseudo_inverse};
    RETURN_IF_ERROR(tests_[k].Add(unit, share, ranked, judged_[k]));
  }
  RETURN_IF_ERROR(sums_->Add(unit, share, ranked, judged_));
  return AddClicks(unit, share);
}

}  // namespace sortition
