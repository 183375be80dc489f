#include "core/clicks/click_unknowns.h"

#include <algorithm>
#include <cmath>

#include "core/base/status_macros.h"

namespace sortition {
namespace {

// Returns hits / (hits + misses), or `before` where there is no evidence.
double Rate(double hits, double misses, double before) {
  const double total = hits + misses;
  return total > 0 ? std::clamp(hits / total, 0.0, 1.0) : before;
}

double LogPriorOf(const std::vector<double>& probabilities, double hits,
                  double misses) {
  double sum = 0;
  for (const double p : probabilities) {
    if (hits > 0) sum += hits * std::log(p);
    if (misses > 0) sum += misses * std::log(1 - p);
  }
  return sum;
}

// Gives elements without evidence the mean of the others.
void FillByMean(const ExpectedOutcomes& outcomes, std::vector<double>* values) {
  double hits = 0;
  double total = 0;
  for (size_t i = 0; i < outcomes.hits.size(); ++i) {
    hits += outcomes.hits[i];
    total += outcomes.hits[i] + outcomes.misses[i];
  }
  if (!(total > 0)) return;
  for (size_t i = 0; i < values->size(); ++i) {
    if (outcomes.hits[i] + outcomes.misses[i] > 0) continue;
    (*values)[i] = hits / total;
  }
}

// Away from 0 and 1, which EM never leaves.
double Inside(double probability) {
  return std::clamp(probability, 0.02, 0.98);
}

// Calls visit(pointer) for the probabilities, those of items only `with_items`.
template <typename Unknowns, typename Visit>
void VisitProbabilities(Unknowns* unknowns, bool with_items,
                        const Visit& visit) {
  for (auto& p : unknowns->ranks) visit(&p);
  for (auto& p : unknowns->offsets) visit(&p);
  visit(&unknowns->perseverance);
  if (!with_items) return;
  for (auto& p : unknowns->attractions) visit(&p);
  for (auto& p : unknowns->satisfactions) visit(&p);
}

}  // namespace

ClickUnknowns ClickMaximisation::Start(const WeightedSessions& sessions) const {
  const ClickSessions& all = *sessions.sessions;
  ExpectedOutcomes items;
  ExpectedOutcomes ranks;
  items.Clear(all.num_items());
  ranks.Clear(all.num_ranks());
  for (size_t s = 0; s < all.size(); ++s) {
    const ClickSession session = all[s];
    const double weight = sessions.weight(s);
    for (size_t r = 0; r < session.size(); ++r) {
      (session.clicked(r) ? items.hits : items.misses)[session.item(r)] +=
          weight;
      (session.clicked(r) ? ranks.hits : ranks.misses)[r] += weight;
    }
  }
  ClickUnknowns start;
  start.attractions.resize(all.num_items());
  for (size_t i = 0; i < start.attractions.size(); ++i) {
    start.attractions[i] =
        (items.hits[i] + .5) / (items.hits[i] + items.misses[i] + 1);
  }
  if (options_.kind == ClickModelKind::kDependentClick) {
    start.ranks.assign(all.num_ranks(), .5);
  } else if (options_.kind == ClickModelKind::kPositionBased ||
             options_.kind == ClickModelKind::kTrustBias) {
    const double first = Rate(ranks.hits[0], ranks.misses[0], 1);
    for (size_t r = 0; r < all.num_ranks(); ++r) {
      const double rate = Rate(ranks.hits[r], ranks.misses[r], 0);
      start.ranks.push_back(Inside(first > 0 ? rate / first : 1));
    }
  }
  if (options_.kind == ClickModelKind::kTrustBias) {
    for (const double p : start.ranks) {
      start.offsets.push_back(p * std::max(.1, options_.first_offset));
    }
  }
  if (is_network()) {
    start.perseverance = .9;
    start.satisfactions.assign(all.num_items(), .5);
  }
  if (has_features()) {
    start.attraction_weights =
        Eigen::VectorXd::Zero(Eigen::Index{features_.num_features} + 1);
    if (is_network()) start.satisfaction_weights = start.attraction_weights;
  }
  Fix(&start);
  Predict(&start);
  return start;
}

void ClickMaximisation::Fix(ClickUnknowns* unknowns) const {
  switch (options_.kind) {
    case ClickModelKind::kPositionBased:
      unknowns->ranks[0] = 1;
      return;
    case ClickModelKind::kTrustBias:
      unknowns->ranks[0] = options_.first_offset + options_.FirstSlope();
      unknowns->offsets[0] = options_.first_offset;
      return;
    case ClickModelKind::kBayesianNetwork:
      if (options_.perseverance.has_value()) {
        unknowns->perseverance = *options_.perseverance;
      }
      return;
    default:
      unknowns->perseverance = 1;
      return;
  }
}

void ClickMaximisation::Predict(ClickUnknowns* unknowns) const {
  if (!has_features()) return;
  LogisticProbabilities(features_, unknowns->attraction_weights,
                        unknowns->attractions);
  if (!is_network()) return;
  LogisticProbabilities(features_, unknowns->satisfaction_weights,
                        unknowns->satisfactions);
}

std::vector<double> ClickMaximisation::Rates(
    const ExpectedOutcomes& outcomes, const std::vector<double>& before) const {
  std::vector<double> rates(before.size());
  for (size_t i = 0; i < rates.size(); ++i) {
    rates[i] = Rate(outcomes.hits[i] + options_.prior_hits,
                    outcomes.misses[i] + options_.prior_misses, before[i]);
  }
  return rates;
}

absl::StatusOr<ClickUnknowns> ClickMaximisation::Step(
    const ClickUnknowns& unknowns, const ExpectedCounts& counts) const {
  ClickUnknowns next = unknowns;
  const auto set_ranks = [](const ExpectedOutcomes& outcomes,
                            std::vector<double>* ranks) {
    for (size_t r = 0; r < ranks->size(); ++r) {
      (*ranks)[r] = Rate(outcomes.hits[r], outcomes.misses[r], (*ranks)[r]);
    }
  };
  set_ranks(counts.ranks, &next.ranks);
  set_ranks(counts.offsets, &next.offsets);
  if (is_network()) {
    next.perseverance =
        Rate(counts.perseverance.hits[0], counts.perseverance.misses[0],
             unknowns.perseverance);
  }
  Fix(&next);
  if (!has_features()) {
    next.attractions = Rates(counts.attracted, unknowns.attractions);
    if (is_network()) {
      next.satisfactions = Rates(counts.satisfied, unknowns.satisfactions);
    }
    return next;
  }
  ASSIGN_OR_RETURN(
      next.attraction_weights,
      ImproveLogisticWeights({features_, counts.attracted, options_.l2},
                             unknowns.attraction_weights));
  if (is_network()) {
    ASSIGN_OR_RETURN(
        next.satisfaction_weights,
        ImproveLogisticWeights({features_, counts.satisfied, options_.l2},
                               unknowns.satisfaction_weights));
  }
  Predict(&next);
  return next;
}

double ClickMaximisation::LogPrior(const ClickUnknowns& unknowns) const {
  if (!has_features()) {
    return LogPriorOf(unknowns.attractions, options_.prior_hits,
                      options_.prior_misses) +
           LogPriorOf(unknowns.satisfactions, options_.prior_hits,
                      options_.prior_misses);
  }
  const auto squares = [&](const Eigen::VectorXd& weights) {
    return weights.size() == 0
               ? 0.0
               : weights.head(features_.num_features).squaredNorm();
  };
  return -options_.l2 / 2 *
         (squares(unknowns.attraction_weights) +
          squares(unknowns.satisfaction_weights));
}

std::vector<double> ClickMaximisation::Flatten(
    const ClickUnknowns& unknowns) const {
  std::vector<double> values;
  VisitProbabilities(&unknowns, !has_features(),
                     [&](const double* p) { values.push_back(*p); });
  for (const double w : unknowns.attraction_weights) values.push_back(w);
  for (const double w : unknowns.satisfaction_weights) values.push_back(w);
  return values;
}

ClickUnknowns ClickMaximisation::Unflatten(const std::vector<double>& values,
                                           const ClickUnknowns& inside) const {
  // A tenth of the way is left to a border that would be crossed.
  constexpr double kLeft = 0.1;
  ClickUnknowns unknowns = inside;
  size_t next = 0;
  VisitProbabilities(&unknowns, !has_features(), [&](double* p) {
    const double value = values[next++];
    if (value <= 0) {
      *p *= kLeft;
    } else if (value >= 1) {
      *p = 1 - kLeft * (1 - *p);
    } else {
      *p = value;
    }
  });
  for (double& w : unknowns.attraction_weights) w = values[next++];
  for (double& w : unknowns.satisfaction_weights) w = values[next++];
  Predict(&unknowns);
  return unknowns;
}

FittedClicks ClickMaximisation::Finish(const ClickUnknowns& unknowns,
                                       const ExpectedCounts& counts) const {
  FittedClicks fitted;
  fitted.model.kind = options_.kind;
  fitted.model.perseverance = unknowns.perseverance;
  if (options_.kind == ClickModelKind::kPositionBased) {
    fitted.model.examination = unknowns.ranks;
  } else if (options_.kind == ClickModelKind::kDependentClick) {
    fitted.model.continuations = unknowns.ranks;
  } else if (options_.kind == ClickModelKind::kTrustBias) {
    fitted.model.offsets = unknowns.offsets;
    for (size_t r = 0; r < unknowns.ranks.size(); ++r) {
      fitted.model.slopes.push_back(unknowns.ranks[r] - unknowns.offsets[r]);
    }
  }
  fitted.attractions = unknowns.attractions;
  fitted.satisfactions = unknowns.satisfactions;
  fitted.attraction_weights = unknowns.attraction_weights;
  fitted.satisfaction_weights = unknowns.satisfaction_weights;
  const bool has_prior = options_.prior_hits + options_.prior_misses > 0;
  if (!has_features() && !has_prior) {
    FillByMean(counts.attracted, &fitted.attractions);
    if (is_network()) FillByMean(counts.satisfied, &fitted.satisfactions);
  }
  return fitted;
}

ClickUnknowns ClickMaximisation::Unfinish(const FittedClicks& fitted) const {
  ClickUnknowns unknowns;
  const ClickModel& model = fitted.model;
  unknowns.perseverance = model.perseverance;
  unknowns.attractions = fitted.attractions;
  unknowns.satisfactions = fitted.satisfactions;
  unknowns.attraction_weights = fitted.attraction_weights;
  unknowns.satisfaction_weights = fitted.satisfaction_weights;
  unknowns.offsets = model.offsets;
  unknowns.ranks = options_.kind == ClickModelKind::kDependentClick
                       ? model.continuations
                       : model.examination;
  for (size_t r = 0; r < model.slopes.size(); ++r) {
    unknowns.ranks.push_back(
        std::clamp(model.slopes[r] + model.offsets[r], 0.0, 1.0));
  }
  // EM would never leave a border, where other weights may not want to be.
  constexpr double kBorder = 1e-4;
  VisitProbabilities(&unknowns, !has_features(), [kBorder](double* p) {
    *p = std::clamp(*p, kBorder, 1 - kBorder);
  });
  Fix(&unknowns);
  return unknowns;
}

}  // namespace sortition
