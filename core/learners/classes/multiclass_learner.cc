#include "core/learners/classes/multiclass_learner.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "Eigen/Core"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/learners/classes/linear_svm.h"
#include "core/learners/classes/logistic.h"
#include "core/learners/classes/multiclass.h"
#include "core/learners/labelled/label_accuracy.h"
#include "core/learners/labelled/lambda_path.h"
#include "core/learners/labelled/tuned_learner.h"

namespace sortition {
namespace {

using config::v1::MulticlassOptions;

constexpr char kMulticlassLambda[] = "multiclass.lambda";
constexpr uint32_t kNewtonSteps = 100;

// The items of all training queries.
struct Examples {
  uint32_t num_classes = 0;
  uint32_t num_features = 0;
  std::vector<float> features = {};
  std::vector<uint32_t> classes = {};

  MulticlassData View() const {
    return {features, classes, num_features, num_classes};
  }
};

absl::StatusOr<Examples> ExamplesOf(std::span<const LabelledItems> queries,
                                    uint32_t num_classes) {
  Examples all{.num_classes = num_classes,
               .num_features = queries[0].items.num_features()};
  std::vector<double> row(all.num_features);
  for (const LabelledItems& query : queries) {
    all.classes.insert(all.classes.end(), query.relevances.begin(),
                       query.relevances.end());
    for (uint32_t i = 0; i < query.items.num_candidates(); ++i) {
      std::fill(row.begin(), row.end(), 0);
      query.items.AddRow(i, 1, row);
      all.features.insert(all.features.end(), row.begin(), row.end());
    }
  }
  RETURN_IF_ERROR(ValidateMulticlass(all.View()));
  const uint32_t first = all.classes[0];
  if (std::all_of(all.classes.begin(), all.classes.end(),
                  [first](uint32_t label) { return label == first; })) {
    return absl::FailedPreconditionError(absl::StrCat(
        "every item of the ", queries.size(), " training queries is of class ",
        first, ": nothing tells classes apart"));
  }
  return all;
}

// Sums over the binary learners that have run so far.
struct BinarySums {
  uint32_t num_learners = 0;
  uint32_t num_open = 0;  // Learners that stopped before they converged.
  double objective = 0;
  double dual_bound = 0;
  uint32_t passes = 0;

  void Add(double of_objective, double of_bound, uint32_t of_passes,
           bool done) {
    ++num_learners;
    num_open += done ? 0 : 1;
    objective += of_objective;
    dual_bound += of_bound;
    passes += of_passes;
  }
};

Eigen::VectorXd ToVector(const std::vector<double>& weights) {
  return Eigen::Map<const Eigen::VectorXd>(
      weights.data(), static_cast<Eigen::Index>(weights.size()));
}

absl::StatusOr<Eigen::VectorXd> FitSvm(const MulticlassOptions& options,
                                       const BinaryData& data, double lambda,
                                       BinarySums* sums) {
  const double tolerance = options.one_slack().gap_tolerance();
  ASSIGN_OR_RETURN(
      const LinearSvmResult result,
      TrainLinearSvm(data,
                     {.lambda = lambda,
                      .gap_tolerance = tolerance,
                      .max_passes = options.one_slack().max_iterations()}));
  sums->Add(result.objective, result.dual_bound, result.passes,
            result.gap() <= tolerance);
  return ToVector(result.weights);
}

// Fits logistic.h, which minimises the sum over n examples instead of the mean,
// so its weight of ‖w‖² is n times ours. By strong convexity the objective is
// within ‖gradient‖² / (2 l2) of its minimum.
absl::StatusOr<Eigen::VectorXd> FitHomogeneousLogistic(const BinaryData& data,
                                                       double lambda,
                                                       BinarySums* sums) {
  const auto n = static_cast<double>(data.labels.size());
  config::v1::LogisticOptions options;
  options.set_l2(lambda * n);
  options.set_max_iterations(kNewtonSteps);
  ASSIGN_OR_RETURN(const LogisticResult result,
                   FitLogistic({.features = data.features,
                                .labels = data.labels,
                                .num_features = data.num_features,
                                .has_intercept = false},
                               options));
  const double gap = data.num_features * result.gradient_norm *
                     result.gradient_norm / (2 * options.l2());
  sums->Add(result.objective / n, (result.objective - gap) / n,
            result.iterations, result.converged);
  return ToVector(result.weights);
}

std::vector<double> ByBlocks(const MulticlassModel& model) {
  std::vector<double> weights;
  for (Eigen::Index l = 0; l < model.weights.rows(); ++l) {
    for (const double weight : model.weights.row(l)) weights.push_back(weight);
  }
  return weights;
}

absl::StatusOr<PointFit> FitReduction(const MulticlassOptions& options,
                                      const Examples& examples, double lambda,
                                      const std::function<void()>& on_step) {
  BinarySums sums;
  const auto binary =
      [&](std::span<const float> features,
          std::span<const uint8_t> labels) -> absl::StatusOr<Eigen::VectorXd> {
    on_step();
    const BinaryData data = {features, labels, examples.num_features};
    return options.binary() == MulticlassOptions::SVM
               ? FitSvm(options, data, lambda, &sums)
               : FitHomogeneousLogistic(data, lambda, &sums);
  };
  ASSIGN_OR_RETURN(const MulticlassModel model,
                   options.method() == MulticlassOptions::ALL_PAIRS
                       ? AllPairs(examples.View(), binary)
                       : OneAgainstAll(examples.View(), binary));
  return PointFit{
      .weights = ByBlocks(model),
      .objective = sums.objective / sums.num_learners,
      .dual_bound = sums.dual_bound / sums.num_learners,
      .passes = sums.passes,
      .termination = sums.num_open == 0
                         ? "all solved"
                         : absl::StrCat(sums.num_open, " of ",
                                        sums.num_learners, " not solved")};
}

absl::StatusOr<PointFit> FitHinge(MulticlassHingeTrainer* trainer,
                                  double lambda,
                                  const std::function<void()>& on_step) {
  ASSIGN_OR_RETURN(const MulticlassResult result,
                   trainer->Train(lambda, on_step));
  return PointFit{.weights = ByBlocks(result.model),
                  .objective = result.descent.objective,
                  .dual_bound = result.descent.dual_bound,
                  .passes = result.descent.evaluations,
                  .termination = std::string(
                      OneSlackTerminationName(result.descent.termination))};
}

absl::Status CheckOptions(const MulticlassOptions& options, uint32_t q) {
  RETURN_IF_ERROR(LambdaPath(options.lambda(), 1, kMulticlassLambda).status());
  const std::string method = MulticlassOptions::Method_Name(options.method());
  const bool hinge = options.method() == MulticlassOptions::HINGE;
  if (hinge && options.has_binary()) {
    return absl::InvalidArgumentError(
        "multiclass.binary is set, must be unset for method HINGE: it is for "
        "ONE_AGAINST_ALL and ALL_PAIRS");
  }
  if (!hinge && options.cost_size() > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("multiclass.cost is set, must be unset for method ",
                     method, ": it is for HINGE"));
  }
  const auto size = static_cast<size_t>(options.cost_size());
  if (size == 0 || size == size_t{q} * q) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "multiclass.cost has ", size, " values, must have ", size_t{q} * q, ", ",
      q, " x ", q, " for the classes of the data"));
}

MulticlassHinge HingeOf(const MulticlassOptions& options, uint32_t q) {
  MulticlassHinge hinge{.one_slack = options.one_slack()};
  if (options.cost_size() > 0) {
    hinge.costs =
        Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic,
                                       Eigen::RowMajor>>(options.cost().data(),
                                                         q, q);
  }
  return hinge;
}

// What all points of a task share.
struct Shared {
  MulticlassOptions options;
  Examples examples;
  std::unique_ptr<MulticlassHingeTrainer> hinge = nullptr;
};

absl::StatusOr<std::vector<TuningPoint>> Points(
    const MulticlassOptions& options, uint32_t num_classes,
    const LabelledTask& task) {
  ASSIGN_OR_RETURN(Examples examples, ExamplesOf(task.training, num_classes));
  ASSIGN_OR_RETURN(
      const std::vector<double> lambdas,
      LambdaPath(options.lambda(), examples.classes.size(), kMulticlassLambda));
  const auto shared = std::make_shared<Shared>(
      Shared{.options = options, .examples = std::move(examples)});
  if (options.method() == MulticlassOptions::HINGE) {
    ASSIGN_OR_RETURN(shared->hinge, MulticlassHingeTrainer::Create(
                                        shared->examples.View(),
                                        HingeOf(options, num_classes)));
  }
  return PointsAt(lambdas, [shared](const LabelledTask&, double lambda,
                                    const std::function<void()>& on_step) {
    return shared->hinge != nullptr
               ? FitHinge(shared->hinge.get(), lambda, on_step)
               : FitReduction(shared->options, shared->examples, lambda,
                              on_step);
  });
}

uint32_t MostSteps(const MulticlassOptions& options, uint32_t q) {
  switch (options.method()) {
    case MulticlassOptions::HINGE:
      return options.one_slack().max_iterations();
    case MulticlassOptions::ONE_AGAINST_ALL:
      return q;
    case MulticlassOptions::ALL_PAIRS:
      break;
  }
  return q * (q - 1) / 2;
}

// Returns the accuracy of the most probable classes.
absl::StatusOr<double> Accuracy(const LabelledItems& query,
                                const PointFit& fit) {
  model::v1::Policy policy;
  policy.mutable_softmax_selection();
  policy.set_inverse_temperature(1);
  ASSIGN_OR_RETURN(const std::vector<int32_t> classes,
                   MostProbableLabels(policy, fit.weights, query.items));
  return EvaluateAction({.kind = LabelMeasure::Kind::kAccuracy},
                        query.relevances, classes);
}

}  // namespace

absl::StatusOr<std::unique_ptr<LabelledLearner>> MakeMulticlassLearner(
    const MulticlassOptions& options, const LabelledShape& shape) {
  const uint32_t q = std::max(2U, shape.max_relevance + 1);
  RETURN_IF_ERROR(CheckOptions(options, q));
  TunedLearnerSpec spec;
  spec.options = std::make_shared<MulticlassOptions>(options);
  spec.measure = {.kind = LabelMeasure::Kind::kAccuracy};
  spec.default_action = ActionKind::kSelect;
  spec.actions = {ActionKind::kSelect};
  spec.gap_tolerance = options.one_slack().gap_tolerance();
  spec.most_steps = MostSteps(options, q);
  spec.num_points = LambdaPathSize(options.lambda());
  spec.points = [options, q](const LabelledTask& task) {
    return Points(options, q, task);
  };
  spec.validate = &Accuracy;
  return std::make_unique<TunedLearner>(std::move(spec));
}

}  // namespace sortition
