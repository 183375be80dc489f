#include "bench/answers/bandit_round.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "Eigen/Core"
#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "core/base/status_macros.h"
#include "core/learners/classes/logistic.h"
#include "core/learners/counterfactual/counterfactual_learner.h"
#include "core/learners/counterfactual/linear_tuple_policy.h"
#include "core/learners/counterfactual/poem_options.h"
#include "core/policies/linear_policy.h"

namespace sortition {
namespace {

constexpr size_t kLabelledQuestions = 20;
constexpr uint32_t kTimesAsked = 8;
constexpr double kInverseTemperature = 0.5;
constexpr double kUniformMixture = 0.1;

// Scores w·x - the score of abstaining.
AnswerScorer ScorerOf(std::vector<double> weights, double abstain_score) {
  return [weights = std::move(weights),
          abstain_score](const FeatureMatrix& matrix) {
    const Candidates candidates = matrix.View();
    std::vector<uint32_t> indexes(candidates.num_candidates());
    std::iota(indexes.begin(), indexes.end(), 0u);
    std::vector<double> scores(indexes.size());
    candidates.Scores(indexes, weights, scores);
    for (double& score : scores) score -= abstain_score;
    return scores;
  };
}

absl::StatusOr<LogisticResult> FitFew(const AnswerData& data) {
  const AnswerPart& part = data.triggering_train;
  const uint32_t num_features = data.transform.num_features();
  std::vector<float> features;
  std::vector<uint8_t> labels;
  for (size_t i = 0; i < std::min(part.size(), kLabelledQuestions); ++i) {
    const Candidates candidates = part.features[i].View();
    for (uint32_t k = 0; k < candidates.num_candidates(); ++k) {
      std::vector<double> row(num_features, 0.0);
      candidates.AddRow(k, 1, row);
      features.insert(features.end(), row.begin(), row.end());
      labels.push_back(part.relevances[i][k] > 0 ? 1 : 0);
    }
  }
  return FitLogistic(
      {.features = features, .labels = labels, .num_features = num_features},
      {});
}

// Returns what the policy did, and what it earned.
std::vector<BanditTuple> MakeLog(const LinearPolicy& policy,
                                 const AnswerPart& part) {
  std::vector<BanditTuple> log;
  PolicyWorkspace workspace;
  Draw draw;
  for (uint32_t time = 0; time < kTimesAsked; ++time) {
    for (size_t i = 0; i < part.size(); ++i) {
      const FeatureMatrix& matrix = part.features[i];
      PolicyQuery query;
      query.candidates = matrix.View();
      const Hash128 key =
          StableHash(HashDomain::kSimulation,
                     {"answers", absl::StrCat(time), absl::StrCat(i)});
      policy.Decide(query, key, &workspace, &draw);
      BanditTuple& tuple = log.emplace_back();
      tuple.values = matrix.values;
      tuple.row_offsets = matrix.row_offsets;
      tuple.columns = matrix.columns;
      tuple.num_features = matrix.num_features;
      tuple.action = draw.action;
      tuple.log_propensity = draw.log_propensity;
      const int32_t chosen = draw.action[0];
      const bool is_right = chosen != kAbstain &&
                            part.relevances[i][static_cast<size_t>(chosen)] > 0;
      tuple.loss = chosen == kAbstain ? -kAbstainReward : is_right ? -1 : 0;
    }
  }
  return log;
}

// Returns the estimate by inverse propensities of what `parameters` would earn.
double Estimate(LinearTuplePolicy* log, const Eigen::VectorXd& parameters) {
  double sum = 0;
  for (size_t i = 0; i < log->num_tuples(); ++i) {
    sum += log->reward(i) * std::exp(log->LogWeight(parameters, i));
  }
  return sum / static_cast<double>(log->num_tuples());
}

}  // namespace

absl::StatusOr<AnswerScorer> FitFirstModel(const AnswerData& data) {
  ASSIGN_OR_RETURN(const LogisticResult first, FitFew(data));
  return ScorerOf(first.weights, -first.intercept);
}

absl::StatusOr<AnswerScorer> LearnFromBanditRound(const AnswerData& data) {
  ASSIGN_OR_RETURN(const LogisticResult first, FitFew(data));
  model::v1::Policy served;
  served.mutable_softmax_selection()->set_abstain_score(-first.intercept);
  served.set_inverse_temperature(kInverseTemperature);
  served.set_uniform_mixture(kUniformMixture);
  ASSIGN_OR_RETURN(const LinearPolicy policy,
                   LinearPolicy::Create(served, first.weights));
  const std::vector<BanditTuple> train = MakeLog(policy, data.triggering_train);
  const std::vector<BanditTuple> validate =
      MakeLog(policy, data.triggering_validate);
  const LinearFamily family = {.action_kind = ActionKind::kSelect,
                               .num_features = data.transform.num_features(),
                               .can_abstain = true,
                               .uniform_mixture = 0.02};
  ASSIGN_OR_RETURN(LinearTuplePolicy training,
                   LinearTuplePolicy::Create(family, train));
  ASSIGN_OR_RETURN(LinearTuplePolicy validation,
                   LinearTuplePolicy::Create(family, validate));
  CounterfactualRun run;
  run.clip = ClipOf(run.options, training);
  run.l2 = 1e-6;
  ASSIGN_OR_RETURN(const std::vector<LambdaChoice> choices,
                   ListLambdas(run.options, training));
  Eigen::VectorXd best;
  double best_reward = -1;
  for (const LambdaChoice& choice : choices) {
    run.lambda = choice.lambda;
    ASSIGN_OR_RETURN(const CounterfactualResult result,
                     TrainCounterfactual(&training, nullptr, run));
    const double reward = Estimate(&validation, result.parameters);
    if (reward <= best_reward) continue;
    best_reward = reward;
    best = result.parameters;
  }
  return ScorerOf(WeightsAt(family, best), best[best.size() - 1]);
}

}  // namespace sortition
