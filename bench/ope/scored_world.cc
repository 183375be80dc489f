#include "bench/ope/scored_world.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"
#include "core/learners/classes/logistic.h"
#include "core/simulation/user_model.h"
#include "core/simulation/world.h"

namespace sortition {
namespace {

// Replaces scores by probabilities.
void Softmax(double floor, std::vector<double>* scores) {
  const double most = *std::max_element(scores->begin(), scores->end());
  double sum = 0;
  for (double& score : *scores) sum += score = std::exp(score - most);
  for (double& score : *scores) {
    score =
        (1 - floor) * score / sum + floor / static_cast<double>(scores->size());
  }
}

double Logistic(double x) { return 1 / (1 + std::exp(-x)); }

// The demo's queries for a model, and the rest.
constexpr size_t kFirstQueries = 20;
constexpr double kDemoInverseTemperature = 0.5;
constexpr double kDemoFloor = 0.1;

absl::StatusOr<LogisticResult> FitQueries(
    const LabelledQueries& world, std::span<const LabelledQuery> queries) {
  std::vector<float> features;
  std::vector<uint8_t> labels;
  for (const LabelledQuery& query : queries) {
    features.insert(features.end(), query.features.begin(),
                    query.features.end());
    for (const uint32_t relevance : query.relevances) {
      labels.push_back(relevance > 0 ? 1 : 0);
    }
  }
  return FitLogistic({.features = features,
                      .labels = labels,
                      .num_features = world.num_features},
                     config::v1::LogisticOptions());
}

double ScoreOf(const LogisticResult& model, std::span<const float> row) {
  double score = 0;
  for (size_t j = 0; j < row.size(); ++j) score += model.weights[j] * row[j];
  return score;
}

}  // namespace

TabularWorld AtStep(const ScoredWorld& scored, double step) {
  TabularWorld world;
  for (const std::vector<ScoredAction>& actions : scored.contexts) {
    std::vector<double> logging;
    std::vector<double> target;
    for (const ScoredAction& action : actions) {
      logging.push_back(action.logging_score);
      target.push_back(action.logging_score +
                       step * (action.target_score - action.logging_score));
    }
    Softmax(scored.logging_floor, &logging);
    Softmax(scored.target_floor, &target);
    WorldContext& context = world.emplace_back();
    for (size_t a = 0; a < actions.size(); ++a) {
      context.push_back({.logging = logging[a],
                         .target = target[a],
                         .reward = actions[a].reward,
                         .late_reward = actions[a].late_reward,
                         .model = actions[a].model});
    }
  }
  return world;
}

absl::StatusOr<TabularWorld> WithImprovement(const ScoredWorld& scored,
                                             double improvement) {
  const auto improvement_at = [&](double step) {
    const Truth truth = TruthOf(AtStep(scored, step), LogShape());
    return truth.gain() / truth.logged;
  };
  if (improvement_at(1) < improvement) {
    return absl::FailedPreconditionError(
        absl::StrCat("the target improves by ", improvement_at(1),
                     " at most, not by ", improvement));
  }
  double low = 0;
  double high = 1;
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    (improvement_at(middle) < improvement ? low : high) = middle;
  }
  return AtStep(scored, high);
}

ScoredWorld MakeSoftmaxWorld(const SoftmaxWorldOptions& options,
                             uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  ScoredWorld world;
  world.logging_floor = options.logging_floor;
  world.target_floor = options.target_floor;
  const auto reward_of = [&](double quality) {
    return options.least_reward + (options.most_reward - options.least_reward) *
                                      Logistic(1.5 * quality);
  };
  // A score with a correlation with `quality`.
  const auto score_of = [&](double skill, double sharpness, double quality) {
    return sharpness *
           (skill * quality + std::sqrt(1 - skill * skill) * random.Normal());
  };
  for (int i = 0; i < options.contexts; ++i) {
    std::vector<ScoredAction>& actions = world.contexts.emplace_back();
    for (int a = 0; a < options.actions; ++a) {
      const double quality = random.Normal();
      const double late = options.drifts ? random.Normal() : quality;
      ScoredAction action;
      action.reward = reward_of(quality);
      action.late_reward = reward_of(late);
      action.logging_score =
          score_of(options.logging_skill, options.logging_sharpness, quality);
      action.target_score =
          score_of(options.target_skill, options.target_sharpness, quality);
      action.model = reward_of(score_of(0.8, 1, quality));
      actions.push_back(action);
    }
  }
  return world;
}

absl::StatusOr<ScoredWorld> MakeDemoWorld() {
  ASSIGN_OR_RETURN(const LabelledQueries queries,
                   MakeWorld(config::v1::WorldOptions()));
  const std::span<const LabelledQuery> all(queries.queries);
  ASSIGN_OR_RETURN(const LogisticResult logging,
                   FitQueries(queries, all.first(kFirstQueries)));
  ASSIGN_OR_RETURN(const LogisticResult target,
                   FitQueries(queries, all.subspan(kFirstQueries)));
  const UserModel users{UserModelOptions()};
  ScoredWorld world;
  world.logging_floor = kDemoFloor;
  world.target_floor = kDemoFloor;
  for (const LabelledQuery& query : all) {
    std::vector<ScoredAction>& actions = world.contexts.emplace_back();
    const auto add = [&](int32_t document, double logging_score,
                         double target_score) {
      const double reward =
          users.ExpectedSelectReward(query.relevances, document);
      actions.push_back(
          {.logging_score = kDemoInverseTemperature * logging_score,
           .target_score = target_score,
           .reward = reward,
           .late_reward = reward});
    };
    for (size_t i = 0; i < query.relevances.size(); ++i) {
      const std::span<const float> row =
          std::span(query.features)
              .subspan(i * queries.num_features, queries.num_features);
      add(static_cast<int32_t>(i), ScoreOf(logging, row), ScoreOf(target, row));
    }
    add(kAbstain, -logging.intercept, -target.intercept);
  }
  return world;
}

}  // namespace sortition
