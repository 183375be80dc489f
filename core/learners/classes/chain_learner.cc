#include "core/learners/classes/chain_learner.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/learners/classes/chain.h"
#include "core/learners/labelled/label_accuracy.h"
#include "core/learners/labelled/lambda_path.h"
#include "core/learners/labelled/tuned_learner.h"

namespace sortition {
namespace {

using config::v1::ChainOptions;

constexpr char kChainLambda[] = "chain.lambda";

absl::Status CheckLabels(std::span<const LabelledItems> sequences) {
  const uint32_t first = sequences[0].relevances[0];
  for (const LabelledItems& sequence : sequences) {
    for (const uint32_t label : sequence.relevances) {
      if (label != first) return absl::OkStatus();
    }
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "every item of the ", sequences.size(), " training sequences has label ",
      first, ": nothing tells labels apart"));
}

absl::StatusOr<PointFit> Fit(ChainTrainer* trainer, double lambda,
                             uint32_t num_features, uint32_t num_labels,
                             const std::function<void()>& on_step) {
  ASSIGN_OR_RETURN(const ChainFit chain, trainer->Train(lambda, on_step));
  const auto unary = chain.parameters.begin() +
                     static_cast<Eigen::Index>(num_features) * num_labels;
  return PointFit{.weights = {chain.parameters.begin(), unary},
                  .transitions = {unary, chain.parameters.end()},
                  .objective = chain.objective,
                  .dual_bound = chain.dual_bound,
                  .passes = chain.evaluations,
                  .termination = chain.termination};
}

absl::StatusOr<std::vector<TuningPoint>> Points(const ChainOptions& options,
                                                uint32_t num_labels,
                                                const LabelledTask& task) {
  RETURN_IF_ERROR(CheckLabels(task.training));
  ASSIGN_OR_RETURN(
      const std::vector<double> lambdas,
      LambdaPath(options.lambda(), task.training.size(), kChainLambda));
  ASSIGN_OR_RETURN(std::shared_ptr<ChainTrainer> trainer,
                   ChainTrainer::Create(task.training, num_labels, options,
                                        task.parallel_for));
  return PointsAt(lambdas, [=](const LabelledTask& of, double lambda,
                               const std::function<void()>& on_step) {
    return Fit(trainer.get(), lambda, of.training[0].items.num_features(),
               num_labels, on_step);
  });
}

absl::StatusOr<model::v1::Policy> ChainPolicy(uint32_t num_labels,
                                              const LabelledPolicyTask& task) {
  if (task.rank.ByteSizeLong() > 0) {
    return absl::InvalidArgumentError(
        "rank_policy is set, must be unset for learner chain");
  }
  model::v1::Policy policy;
  policy.set_inverse_temperature(task.inverse_temperature);
  policy.mutable_label_chain()->set_num_labels(num_labels);
  policy.mutable_label_chain()->mutable_transitions()->Add(
      task.transitions.begin(), task.transitions.end());
  RETURN_IF_ERROR(CheckLabelPolicy(policy));
  return policy;
}

// Returns the accuracy of the most probable labelling.
absl::StatusOr<double> ChainAccuracy(uint32_t num_labels,
                                     const LabelledItems& query,
                                     const PointFit& fit) {
  LabelledPolicyTask task;
  task.transitions = fit.transitions;
  ASSIGN_OR_RETURN(const model::v1::Policy policy,
                   ChainPolicy(num_labels, task));
  ASSIGN_OR_RETURN(const std::vector<int32_t> labels,
                   MostProbableLabels(policy, fit.weights, query.items));
  return EvaluateAction({.kind = LabelMeasure::Kind::kAccuracy},
                        query.relevances, labels);
}

}  // namespace

absl::StatusOr<std::unique_ptr<LabelledLearner>> MakeChainLearner(
    const ChainOptions& options, const LabelledShape& shape) {
  RETURN_IF_ERROR(LambdaPath(options.lambda(), 1, kChainLambda).status());
  const uint32_t q = std::max(2U, shape.max_relevance + 1);
  const bool hinge = options.objective() == ChainOptions::HINGE;
  TunedLearnerSpec spec;
  spec.options = std::make_shared<ChainOptions>(options);
  spec.measure = {.kind = LabelMeasure::Kind::kAccuracy};
  spec.default_action = ActionKind::kSubset;
  spec.actions = {ActionKind::kSubset};
  spec.gap_tolerance = options.one_slack().gap_tolerance();
  spec.most_steps = hinge ? options.one_slack().max_iterations()
                          : options.lbfgs().max_iterations();
  spec.num_points = LambdaPathSize(options.lambda());
  spec.weights_per_feature = q;
  spec.points = [options, q](const LabelledTask& task) {
    return Points(options, q, task);
  };
  spec.validate = [q](const LabelledItems& query, const PointFit& fit) {
    return ChainAccuracy(q, query, fit);
  };
  spec.make_policy = [q](const LabelledPolicyTask& task) {
    return ChainPolicy(q, task);
  };
  return std::make_unique<TunedLearner>(std::move(spec));
}

}  // namespace sortition
