#include "core/learners/counterfactual/network_tuple_policy.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/random.h"
#include "core/base/status_macros.h"
#include "core/learners/counterfactual/counterfactual_learner.h"
#include "core/learners/counterfactual/poem_options.h"
#include "core/learners/counterfactual/training_weights.h"
#include "core/scoring/hidden_layer.h"

namespace sortition {

absl::StatusOr<NetworkTuplePolicy> NetworkTuplePolicy::Create(
    const LinearFamily& family, uint32_t num_units,
    std::span<const BanditTuple> tuples, HiddenActions hidden,
    std::span<const double> weights) {
  if (num_units == 0) {
    return absl::InvalidArgumentError("num_units is 0, must be at least 1");
  }
  ASSIGN_OR_RETURN(LinearTuplePolicy linear,
                   LinearTuplePolicy::Create(family, tuples, hidden, weights));
  return NetworkTuplePolicy(std::move(linear), num_units);
}

Eigen::Index NetworkTuplePolicy::dimension() const {
  return BiasesAt() + num_units_;
}

double NetworkTuplePolicy::Unit(const Candidates& candidates, uint32_t row,
                                uint32_t unit) const {
  const size_t d = family().num_features;
  const double* const inputs = parameters_.data() + InputsAt() + unit * d;
  return StableTanh(candidates.Score(row, {inputs, d}) +
                    parameters_[BiasesAt() + unit]);
}

void NetworkTuplePolicy::LogProbabilities(const Eigen::VectorXd& parameters,
                                          std::span<const uint32_t> tuples,
                                          std::span<double> log_probabilities) {
  parameters_ = parameters;
  LinearTuplePolicy::LogProbabilities(parameters, tuples, log_probabilities);
}

void NetworkTuplePolicy::ScoreRows(const Candidates& candidates,
                                   const Eigen::VectorXd& parameters,
                                   std::span<double> scores) {
  LinearTuplePolicy::ScoreRows(candidates, parameters, scores);
  for (uint32_t row = 0; row < scores.size(); ++row) {
    for (uint32_t unit = 0; unit < num_units_; ++unit) {
      scores[row] +=
          parameters_[OutputsAt() + unit] * Unit(candidates, row, unit);
    }
  }
}

void NetworkTuplePolicy::AddRows(const Candidates& candidates,
                                 std::span<const double> factors,
                                 Eigen::VectorXd* gradient) {
  LinearTuplePolicy::AddRows(candidates, factors, gradient);
  const size_t d = family().num_features;
  for (uint32_t row = 0; row < factors.size(); ++row) {
    if (factors[row] == 0) continue;
    for (uint32_t unit = 0; unit < num_units_; ++unit) {
      const double output = Unit(candidates, row, unit);
      const double slope = factors[row] * parameters_[OutputsAt() + unit] *
                           (1 - output * output);
      (*gradient)[OutputsAt() + unit] += factors[row] * output;
      (*gradient)[BiasesAt() + unit] += slope;
      candidates.AddRow(row, slope,
                        {gradient->data() + InputsAt() + unit * d, d});
    }
  }
}

absl::StatusOr<model::v1::HiddenLayer> LearnHiddenLayer(
    const HiddenLayerTask& task) {
  const std::vector<double> weights = TrainingWeights(task.tuples);
  ASSIGN_OR_RETURN(
      NetworkTuplePolicy policy,
      NetworkTuplePolicy::Create(task.family, task.num_units, task.tuples,
                                 HiddenActions::kImpossible, weights));
  const Eigen::Index d = task.family.num_features;
  const Eigen::Index units = task.num_units;
  const Eigen::Index inputs = task.family.dimension() + units;
  CounterfactualRun run;
  run.options = task.options;
  run.options.set_standardise(false);
  run.options.set_penalty(config::v1::PoemOptions::NORM);
  run.options.clear_prior_decisions();
  if (run.options.objective() == config::v1::PoemOptions::DOUBLY_ROBUST ||
      run.options.objective() == config::v1::PoemOptions::EXPOSURE) {
    // Their models of losses and exposures are those of candidates, not of
    // units.
    run.options.set_objective(config::v1::PoemOptions::CLIPPED_IPS);
    run.options.clear_lambda();
    run.options.clear_lambda_factor();
  }
  // What is known of single ranks is not used here.
  run.options.clear_rank_weights();
  run.options.clear_examination();
  run.options.clear_click_offsets();
  run.options.clear_failure_probability();
  run.options.clear_most_clicks();
  run.options.clear_sampled_orders();
  const auto& penalties = task.options.l2();
  run.l2 = penalties.empty()
               ? 1e-6  // As the grid's default.
               : *std::min_element(penalties.begin(), penalties.end());
  // Of the grid, the weights that are nearest to plain ones.
  const std::vector<double> smoothings = ListSmoothings(run.options);
  run.smoothing = *std::max_element(smoothings.begin(), smoothings.end());
  run.clip = ClipOf(run.options, policy);
  run.start = Eigen::VectorXd::Zero(policy.dimension());
  const Eigen::VectorXd scales =
      FeatureScales(task.family, task.tuples, weights);
  RandomSequence random(SeedKey(task.seed));
  for (Eigen::Index unit = 0; unit < units; ++unit) {
    for (Eigen::Index j = 0; j < d; ++j) {
      run.start[inputs + unit * d + j] =
          random.Normal() * scales[j] / std::sqrt(static_cast<double>(d));
    }
  }
  ASSIGN_OR_RETURN(const CounterfactualResult result,
                   TrainCounterfactual(&policy, nullptr, run));
  model::v1::HiddenLayer layer;
  layer.set_num_units(task.num_units);
  const double* const learned = result.parameters.data() + inputs;
  layer.mutable_weights()->Add(learned, learned + units * d);
  layer.mutable_biases()->Add(learned + units * d, learned + units * (d + 1));
  return layer;
}

}  // namespace sortition
