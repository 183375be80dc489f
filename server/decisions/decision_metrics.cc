#include "server/decisions/decision_metrics.h"

#include <cmath>
#include <vector>

namespace sortition {
namespace {

std::vector<double> CandidateBuckets() {
  return {1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 1e5, 1e6};
}

std::vector<double> ChosenBuckets() {
  return {0, 1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1e3, 1e4, 1e5, 1e6};
}

std::vector<double> RoundBuckets() {
  return {0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000};
}

std::vector<double> GapBuckets() {
  return {1e-9, 1e-6, 1e-5, 1e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.5};
}

}  // namespace

DecisionMetrics::DecisionMetrics(Metrics* metrics)
    : metrics_(metrics),
      candidates_(metrics->Histogram("sortition_candidates",
                                     "Candidates per decision",
                                     CandidateBuckets())),
      propensities_(metrics->Histogram(
          "sortition_propensity",
          "Probability of the candidate that was selected or placed first",
          PropensityBuckets())),
      abstentions_(
          metrics->Counter("sortition_abstentions_total",
                           "Select decisions that chose no candidate")),
      degraded_(
          metrics->Counter("sortition_degraded_total",
                           "Answers that fall short of what was asked for")),
      interleaved_(metrics->Counter(
          "sortition_interleaved_total",
          "Rank decisions whose order two versions made together")),
      chosen_(metrics->Histogram(
          "sortition_chosen", "Candidates chosen by Label", ChosenBuckets())),
      games_stopped_(metrics->Counter(
          "sortition_games_stopped_total",
          "F-score games that were stopped because their time ran out")),
      game_rounds_(metrics->Histogram(
          "sortition_game_rounds",
          "Rounds of the double oracle in an F-score game", RoundBuckets())),
      game_gap_(metrics->Histogram(
          "sortition_game_gap",
          "Largest distance of an F-score game's strategy from the value",
          GapBuckets())) {}

void DecisionMetrics::ObserveFirst(double log_propensity,
                                   const VersionCounters* counters) {
  const double propensity = std::exp(log_propensity);
  propensities_->Observe(propensity);
  if (counters != nullptr) counters->ObservePropensity(propensity);
}

void DecisionMetrics::Count(const PolicyQuery& query,
                            const LinearPolicy& policy, const Draw& draw,
                            bool degraded, const VersionCounters* counters) {
  candidates_->Observe(query.num_candidates());
  if (degraded) degraded_->Increment();
  switch (policy.action_kind()) {
    case ActionKind::kSelect:
      ObserveFirst(draw.log_propensity, counters);
      if (draw.action[0] != kAbstain) break;
      abstentions_->Increment();
      if (counters != nullptr) counters->CountAbstention();
      break;
    case ActionKind::kRank:
      // Empty: a baseline whose caller knows only that of the whole order.
      if (draw.conditional_log_propensities.empty()) break;
      ObserveFirst(draw.conditional_log_propensities[0], counters);
      break;
    case ActionKind::kSubset:
      chosen_->Observe(static_cast<double>(draw.action.size()));
      if (policy.takes_size() || !draw.game.has_value()) break;
      if (draw.game_rounds.has_value()) games_stopped_->Increment();
      game_rounds_->Observe(draw.game->rounds);
      game_gap_->Observe(draw.game->gap);
      break;
  }
}

MetricCounter* DecisionMetrics::UnreadCounter(const std::string& model,
                                              const std::string& column) {
  auto& counters = unread_[model];
  const auto known = counters.find(column);
  if (known != counters.end()) return known->second;
  const std::string name = counters.size() < kMaxUnreadColumns ? column : "";
  MetricCounter*& counter = counters[name];
  if (counter == nullptr) {
    counter = metrics_->Counter(
        "sortition_unread_columns_total",
        "Requests with a column that the version does not read; the column is "
        "logged, and a later version may read it",
        {{"model", model}, {"column", name}});
  }
  return counter;
}

void DecisionMetrics::CountUnread(const std::string& model,
                                  const Schema& schema,
                                  const v1::Columns& columns) {
  for (const auto* of_scope : {&columns.candidate(), &columns.query()}) {
    for (const v1::Column& column : *of_scope) {
      if (schema.Find(column.name()).has_value()) continue;
      const std::lock_guard lock(unread_mutex_);
      UnreadCounter(model, column.name())->Increment();
    }
  }
}

}  // namespace sortition
