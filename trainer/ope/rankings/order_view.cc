#include "trainer/ope/rankings/order_view.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/base/status_macros.h"
#include "core/policies/marginals/sampled_marginals.h"
#include "trainer/ope/policies/logging_policies.h"

namespace sortition {
namespace {

// What PlackettLuceMarginals takes. Beyond it no order is drawn.
constexpr double kLargestLogit = 1e9;

bool IsUniform(const OrderLaw& law) {
  return law.policy->kind_case() == model::v1::Policy::KIND_NOT_SET;
}

// Of Plackett-Luce; 0 for uniform, whose candidates are all alike.
double InverseTemperature(const OrderLaw& law) {
  return IsUniform(law) ? 0 : law.policy->inverse_temperature();
}

double Mixture(const OrderLaw& law) {
  return IsUniform(law) ? 0 : law.policy->uniform_mixture();
}

ScoredCandidates Scored(const OrderLaw& law,
                        const OrderViewer::Question& question, size_t ranks) {
  ScoredCandidates scored;
  scored.scores = law.scores;
  scored.top_k = static_cast<uint32_t>(ranks);
  scored.game = question.game;
  return scored;
}

}  // namespace

void LoggedOrder::Read(const LoggedDecision& decision) {
  const log::v1::Decision& logged = *decision.decision;
  const size_t n = decision.query.num_candidates();
  by_document_.assign(n, -1);
  num_eligible_ = 0;
  for (size_t document = 0; document < n; ++document) {
    if (decision.is_eligible(document)) {
      by_document_[document] = static_cast<int32_t>(num_eligible_++);
    }
  }
  positions_.clear();
  for (const int32_t document : logged.action()) {
    positions_.push_back(by_document_[static_cast<size_t>(document)]);
  }
  log_conditionals_.assign(logged.conditional_log_propensities().begin(),
                           logged.conditional_log_propensities().end());
  // 1 may have been rounded up.
  for (double& log : log_conditionals_) log = std::min(log, 0.0);
}

std::optional<size_t> LoggedOrder::FindContradiction(
    const OrderView& view) const {
  for (size_t k = 0; k < positions_.size(); ++k) {
    const double difference = view.log_conditionals[k] - log_conditionals_[k];
    if (!(std::abs(difference) <= LoggingPolicies::kLogTolerance)) return k;
  }
  return std::nullopt;
}

bool HasClosedForm(const OrderLaw& law) {
  return IsUniform(law) || (law.policy->has_plackett_luce() &&
                            law.policy->plackett_luce().rank_factors().empty());
}

void ConditionalsAfter(const OrderLaw& law, std::span<const int32_t> above,
                       std::span<double> probabilities) {
  const size_t m = law.scores.size();
  const double alpha = InverseTemperature(law);
  const double epsilon = Mixture(law);
  // The whole order is mixed: which part it is of depends on what is above.
  double log_law = std::log1p(-epsilon);
  double log_uniform = std::log(epsilon);
  std::fill(probabilities.begin(), probabilities.end(), 1);
  double sum = 0;
  for (size_t k = 0;; ++k) {
    double largest = -std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < m; ++i) {
      if (probabilities[i] != 0) {
        largest = std::max(largest, alpha * law.scores[i]);
      }
    }
    sum = 0;
    for (size_t i = 0; i < m; ++i) {
      if (probabilities[i] == 0) continue;
      // Never 0, which marks those above.
      probabilities[i] = std::max(std::exp(alpha * law.scores[i] - largest),
                                  std::numeric_limits<double>::min());
      sum += probabilities[i];
    }
    if (k == above.size()) break;
    const auto chosen = static_cast<size_t>(above[k]);
    log_law += std::log(probabilities[chosen] / sum);
    log_uniform -= std::log(static_cast<double>(m - k));
    probabilities[chosen] = 0;
  }
  const double law_share = 1 / (1 + std::exp(log_uniform - log_law));
  const double uniform =
      (1 - law_share) / static_cast<double>(m - above.size());
  for (double& p : probabilities) {
    if (p != 0) p = law_share * p / sum + uniform;
  }
}

absl::Status OrderViewer::View(const OrderLaw& law, const Question& question,
                               OrderView* view) {
  ViewConditionals(law, question, view);
  view->marginals.clear();
  view->marginal_error = 0;
  return question.num_marginals == 0 ? absl::OkStatus()
                                     : ViewMarginals(law, question, view);
}

void OrderViewer::ViewConditionals(const OrderLaw& law,
                                   const Question& question, OrderView* view) {
  view->log_conditionals.clear();
  // The longest part of the order that is possible; all of it, as a rule.
  size_t possible = question.order.size();
  while (possible > 0) {
    const ScoredCandidates scored = Scored(law, question, possible);
    const auto part = question.order.first(possible);
    if (law.distribution->LogPropensity(scored, part) != -HUGE_VAL) {
      law.distribution->ConditionalLogPropensities(scored, part,
                                                   &view->log_conditionals);
      break;
    }
    --possible;
  }
  view->log_conditionals.resize(question.order.size(), -HUGE_VAL);
  for (double& log : view->log_conditionals) log = std::min(log, 0.0);
}

absl::Status OrderViewer::ViewMarginals(const OrderLaw& law,
                                        const Question& question,
                                        OrderView* view) {
  const size_t m = law.scores.size();
  const size_t ranks = question.num_marginals;
  if (HasClosedForm(law)) {
    const double alpha = InverseTemperature(law);
    logits_.resize(m);
    for (size_t i = 0; i < m; ++i) logits_[i] = alpha * law.scores[i];
    view->marginals.assign(m * ranks, 0);
    const bool are_possible = std::all_of(
        logits_.begin(), logits_.end(),
        [](double logit) { return std::abs(logit) <= kLargestLogit; });
    if (!are_possible) return absl::OkStatus();
    if (alpha == 0) {
      std::fill(view->marginals.begin(), view->marginals.end(),
                1 / static_cast<double>(m));
    } else {
      exact_.Compute(logits_, ranks, view->marginals);
      MixMarginals(Mixture(law), m, view->marginals);
    }
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(
      SampledMarginals sampled,
      SampleMarginals(*law.distribution, Scored(law, question, ranks),
                      {.num_draws = kSampledOrders, .key = question.key}));
  view->marginals = std::move(sampled.marginals);
  // What was logged at a rank can be there, whether or not it was drawn.
  constexpr double kLeast = 0.5 / kSampledOrders;
  for (size_t k = 0; k < ranks; ++k) {
    const size_t entry = k * m + static_cast<size_t>(question.order[k]);
    double& marginal = view->marginals[entry];
    if (view->log_conditionals[k] != -HUGE_VAL) {
      marginal = std::max(marginal, kLeast);
    }
    if (marginal > 0) {
      view->marginal_error += sampled.standard_errors[entry] / marginal;
    }
  }
  view->marginal_error /= static_cast<double>(ranks);
  return absl::OkStatus();
}

}  // namespace sortition
