#include "core/learners/hinge/hinge_learner.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/learners/hinge/hinge_problem.h"
#include "core/learners/hinge/hinge_solver.h"
#include "core/learners/labelled/lambda_path.h"
#include "core/learners/labelled/rank_policy.h"
#include "core/learners/labelled/tuned_learner.h"

namespace sortition {
namespace {

using config::v1::HingeOptions;

constexpr char kLambda[] = "hinge.lambda";

absl::Status WithName(const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat("hinge.", std::string(status.message())));
}

absl::Status CheckOptions(const HingeOptions& options) {
  if (const auto hinges = StructuredHinges::Create(options); !hinges.ok()) {
    return WithName(hinges.status());
  }
  if (options.relevant_from() < 1) {
    return absl::InvalidArgumentError(
        "hinge.relevant_from is 0, must be at least 1");
  }
  if (!(options.gap_tolerance() > 0 && options.gap_tolerance() <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("hinge.gap_tolerance is ", options.gap_tolerance(),
                     ", must be above 0 and at most 1"));
  }
  if (options.max_passes() < 1) {
    return absl::InvalidArgumentError(
        "hinge.max_passes is 0, must be at least 1");
  }
  return LambdaPath(options.lambda(), 1, kLambda).status();
}

absl::StatusOr<LabelMeasure> MeasureOf(const HingeOptions& options,
                                       const LabelledShape& shape) {
  ASSIGN_OR_RETURN(LabelMeasure measure, OrderMeasure(shape));
  if (options.loss() == HingeOptions::NDCG ||
      options.loss() == HingeOptions::KENDALL) {
    return measure;
  }
  measure.k = 0;
  if (options.loss() == HingeOptions::SELECTION) {
    measure.kind = LabelMeasure::Kind::kGain;
    for (uint32_t y = 0; y < measure.gains.size(); ++y) {
      measure.gains[y] =
          static_cast<double>(y) / std::max(1u, shape.max_relevance);
    }
    return measure;
  }
  measure.gains = BinaryGains(shape.max_relevance, options.relevant_from());
  if (options.loss() == HingeOptions::PRECISION) {
    measure.kind = LabelMeasure::Kind::kPrecision;
    measure.k = options.k();
    return measure;
  }
  measure.kind = LabelMeasure::Kind::kFBeta;
  if (options.loss() == HingeOptions::F_BETA) measure.beta = options.beta();
  return measure;
}

// Returns the allowed actions, the default first.
std::vector<ActionKind> ActionsOf(HingeOptions::Loss loss) {
  switch (loss) {
    case HingeOptions::NDCG:
    case HingeOptions::KENDALL:
      return {ActionKind::kRank, ActionKind::kSelect};
    case HingeOptions::SELECTION:
      return {ActionKind::kSelect, ActionKind::kRank};
    case HingeOptions::SENSITIVITY_SPECIFICITY:
    case HingeOptions::F_BETA:
      break;
    case HingeOptions::PRECISION:
      return {ActionKind::kSubset, ActionKind::kRank};
  }
  return {ActionKind::kSubset};
}

// The solver that all points share. It refers to the task's queries, so it must
// not be used after the task's end.
struct Solver {
  std::unique_ptr<HingeProblem> problem;
  std::unique_ptr<HingeSolver> solver;
};

absl::StatusOr<PointFit> FitHinge(HingeSolver* solver, double lambda,
                                  const std::function<void()>& on_step) {
  ASSIGN_OR_RETURN(const HingeResult found, solver->Minimise(lambda, on_step));
  return PointFit{.weights = {found.weights.begin(), found.weights.end()},
                  .objective = found.objective,
                  .dual_bound = found.dual_bound,
                  .passes = found.passes,
                  .termination = found.termination};
}

absl::StatusOr<std::vector<TuningPoint>> PointsOf(const HingeOptions& options,
                                                  const LabelledTask& task) {
  ASSIGN_OR_RETURN(const std::vector<double> lambdas,
                   LambdaPath(options.lambda(), task.training.size(), kLambda));
  auto problem = HingeProblem::Create(task.training, options, PullOf(task));
  if (!problem.ok()) return problem.status();
  auto shared = std::make_shared<Solver>();
  shared->problem = *std::move(problem);
  shared->solver = MakeHingeSolver(shared->problem.get(), options);
  return PointsAt(lambdas, [shared](const LabelledTask&, double lambda,
                                    const std::function<void()>& on_step) {
    return FitHinge(shared->solver.get(), lambda, on_step);
  });
}

}  // namespace

absl::StatusOr<std::unique_ptr<LabelledLearner>> MakeHingeLearner(
    const HingeOptions& options, const LabelledShape& shape) {
  RETURN_IF_ERROR(CheckOptions(options));
  TunedLearnerSpec spec;
  spec.options = std::make_shared<HingeOptions>(options);
  ASSIGN_OR_RETURN(spec.measure, MeasureOf(options, shape));
  spec.actions = ActionsOf(options.loss());
  spec.default_action = spec.actions[0];
  spec.needs_constant =
      options.loss() == HingeOptions::SENSITIVITY_SPECIFICITY ||
      options.loss() == HingeOptions::F_BETA;
  spec.gap_tolerance = options.gap_tolerance();
  spec.trusts_orders = true;
  spec.most_steps = std::max(2u, options.max_passes());  // SUBGRADIENT takes 2.
  spec.num_points = LambdaPathSize(options.lambda());
  spec.points = [options](const LabelledTask& task) {
    return PointsOf(options, task);
  };
  const uint32_t size =
      options.loss() == HingeOptions::PRECISION ? options.k() : 0;
  spec.make_policy = [size](const LabelledPolicyTask& task) {
    return MakeRankPolicy(task, config::v1::RankPolicyOptions::PLACKETT_LUCE,
                          size);
  };
  return std::make_unique<TunedLearner>(std::move(spec));
}

}  // namespace sortition
