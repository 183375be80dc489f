#include "bench/papers/poem/learning_methods.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>

#include "bench/support/clocks.h"
#include "core/base/status_macros.h"
#include "core/learners/counterfactual/counterfactual_learner.h"
#include "core/learners/counterfactual/poem_options.h"
#include "core/learners/multilabel/label_weights.h"
#include "core/learners/multilabel/labels_loss_model.h"

namespace sortition {
namespace {

using config::v1::PoemOptions;
using Criteria = std::array<double, kNumCriteria>;

std::string Named(const char* name, PoemOptions::Optimiser optimiser) {
  return name + std::string(optimiser == PoemOptions::BATCH ? "(B)" : "(S)");
}

Method Make(const std::string& name, PoemOptions::Objective objective,
            PoemOptions::Optimiser optimiser) {
  Method method{.name = name};
  method.options.set_objective(objective);
  method.options.set_optimiser(optimiser);
  return method;
}

bool HasClip(const Method& method) {
  switch (method.options.objective()) {
    case PoemOptions::CRM:
    case PoemOptions::CLIPPED_IPS:
    case PoemOptions::DOUBLY_ROBUST:
      return true;
    default:
      return false;
  }
}

Criteria Validate(LabelsPolicy* policy, const Eigen::VectorXd& parameters) {
  std::vector<uint32_t> tuples(policy->num_tuples());
  std::iota(tuples.begin(), tuples.end(), 0u);
  std::vector<double> log_weights(tuples.size());
  policy->LogProbabilities(parameters, tuples, log_weights);
  double weight_sum = 0;
  double loss_sum = 0;
  for (size_t i = 0; i < tuples.size(); ++i) {
    const double weight = std::exp(log_weights[i] - policy->log_propensity(i));
    weight_sum += weight;
    loss_sum += policy->loss(i) * weight;
  }
  const double n = static_cast<double>(tuples.size());
  return {loss_sum / std::max(n, weight_sum),
          weight_sum > 0 ? loss_sum / weight_sum : 0, loss_sum / n};
}

}  // namespace

Method Ips(PoemOptions::Optimiser optimiser) {
  return Make(Named("IPS", optimiser), PoemOptions::CLIPPED_IPS, optimiser);
}

Method Poem(PoemOptions::Optimiser optimiser) {
  Method method = Make(Named("POEM", optimiser), PoemOptions::CRM, optimiser);
  for (const double c : {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0}) {
    method.options.add_lambda_factor(c);
  }
  return method;
}

Method PoemFromBothStarts() {
  Method method = Poem(PoemOptions::STOCHASTIC);
  method.name += ", both starts";
  method.both_starts = true;
  return method;
}

std::vector<Method> NewerMethods() {
  return {
      Make("Norm-POEM", PoemOptions::SELF_NORMALISED, PoemOptions::BATCH),
      Make("DR(B)", PoemOptions::DOUBLY_ROBUST, PoemOptions::BATCH),
      Make("LS(B)", PoemOptions::LOG_SMOOTHING, PoemOptions::BATCH),
  };
}

absl::StatusOr<Learnt> Learn(const Method& method, LabelLog* log) {
  Eigen::VectorXd scales;
  if (method.options.standardise()) {
    scales = LabelFeatureScales(log->contexts(), log->train_tuples());
  }
  std::unique_ptr<LabelsLossModel> model;
  if (method.options.objective() == PoemOptions::DOUBLY_ROBUST) {
    ASSIGN_OR_RETURN(
        LabelsLossModel fitted,
        LabelsLossModel::Fit(log->contexts(), log->train_tuples(),
                             {.l2 = method.options.loss_model_l2(),
                              .folds = method.options.loss_model_folds(),
                              .scales = scales}));
    model = fitted.Clone();
  }
  ASSIGN_OR_RETURN(const std::vector<LambdaChoice> lambdas,
                   ListLambdas(method.options, *log->train()));
  const double clip = ClipOf(method.options, *log->train());
  std::vector<double> clips = {clip};
  if (HasClip(method)) clips = {clip, 10 * clip, 100 * clip};
  std::vector<Eigen::VectorXd> starts(1);
  if (method.both_starts) starts.push_back(log->logging_parameters());

  Learnt learnt;
  Criteria best;
  best.fill(std::numeric_limits<double>::infinity());
  const auto fit = [&](const CounterfactualRun& run) -> absl::Status {
    const double begin = WallSeconds();
    ASSIGN_OR_RETURN(const CounterfactualResult result,
                     TrainCounterfactual(log->train(), model.get(), run));
    learnt.seconds_per_fit +=
        (WallSeconds() - begin) /
        static_cast<double>(clips.size() * lambdas.size() * starts.size());
    const Criteria criteria = Validate(log->validation(), result.parameters);
    for (size_t k = 0; k < kNumCriteria; ++k) {
      if (!(criteria[k] < best[k])) continue;
      best[k] = criteria[k];
      learnt.losses[k] = MeanHammingLosses(log->test(), result.parameters);
    }
    return absl::OkStatus();
  };
  for (const double m : clips) {
    for (const LambdaChoice& lambda : lambdas) {
      for (const Eigen::VectorXd& start : starts) {
        RETURN_IF_ERROR(fit({.options = method.options,
                             .clip = m,
                             .lambda = lambda.lambda,
                             .start = start,
                             .scales = scales}));
      }
    }
  }
  return learnt;
}

}  // namespace sortition
