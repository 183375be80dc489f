#include "core/learners/counterfactual/counterfactual_learner.h"

#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/counterfactual/crm.h"
#include "core/counterfactual/likelihood_terms.h"
#include "core/counterfactual/moments.h"
#include "core/counterfactual/risk_objective.h"
#include "core/counterfactual/risks.h"
#include "core/counterfactual/tuple_terms.h"
#include "core/counterfactual/weighted_terms.h"
#include "core/learners/counterfactual/poem.h"
#include "core/optim/lbfgs.h"
#include "core/optim/parameter_frame.h"

namespace sortition {
namespace {

using config::v1::PoemOptions;

bool HasClip(PoemOptions::Objective objective) {
  return objective == PoemOptions::CRM ||
         objective == PoemOptions::CLIPPED_IPS ||
         objective == PoemOptions::DOUBLY_ROBUST;
}

bool HasLambda(PoemOptions::Objective objective) {
  return objective != PoemOptions::IPS && objective != PoemOptions::CLIPPED_IPS;
}

// Returns "field is value, must be permitted for objective NAME".
absl::Status Unfit(absl::string_view field, absl::string_view value,
                   absl::string_view permitted, const PoemOptions& options) {
  return absl::InvalidArgumentError(absl::StrCat(
      field, " is ", value, ", must be ", permitted, " for objective ",
      PoemOptions::Objective_Name(options.objective())));
}

absl::Status ValidateLambdas(
    const PoemOptions& options, absl::string_view field,
    const google::protobuf::RepeatedField<double>& values) {
  for (const double value : values) {
    if (value != 0 && !HasLambda(options.objective())) {
      return Unfit(field, absl::StrCat(value), "0 or unset", options);
    }
    if (!(value > 0) && options.objective() == PoemOptions::LOG_SMOOTHING) {
      return Unfit(field, absl::StrCat(value), "positive", options);
    }
  }
  return absl::OkStatus();
}

// Returns the factors for options that give none.
std::vector<double> DefaultFactors(PoemOptions::Objective objective) {
  switch (objective) {
    case PoemOptions::IPS:
    case PoemOptions::CLIPPED_IPS:
      return {0};
    case PoemOptions::SELF_NORMALISED:
      return {0, 0.01, 0.1, 1};
    // LogSmoothingBound() exceeds the risk by about λ E[ρ² δ²] / 2 for the
    // smoothing and log(1/η) / (λ n) for chance. The sum is least at λ = √(2
    // log(1/η) / E[ρ² δ²]) / √n. For η = 0.05 that root is 8 if E[ρ² δ²] = 0.1
    // (a policy near the logging one), and 0.1 if it is 600.
    case PoemOptions::LOG_SMOOTHING:
      return {0.1, 1, 10};
    case PoemOptions::CRM:
    case PoemOptions::DOUBLY_ROBUST:
      break;
  }
  return {0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1};  // Sec. 6.
}

Moments MomentsOfLosses(const TuplePolicy& policy) {
  Moments losses;
  for (size_t i = 0; i < policy.num_tuples(); ++i) {
    losses.Add(policy.loss(i), policy.weight(i));
  }
  return losses;
}

// Returns λ for c = 1. For doubly robust terms it is CRM's: their own would
// need the whole distribution of the logging policy, and the scale is the same.
absl::StatusOr<double> LambdaUnit(PoemOptions::Objective objective,
                                  const TuplePolicy& policy) {
  switch (objective) {
    case PoemOptions::IPS:
    case PoemOptions::CLIPPED_IPS:
    case PoemOptions::SELF_NORMALISED:
      return 1;
    case PoemOptions::LOG_SMOOTHING:
      return 1 / std::sqrt(MomentsOfLosses(policy).total());
    case PoemOptions::CRM:
    case PoemOptions::DOUBLY_ROBUST:
      break;
  }
  return CalibratedLambda(policy);
}

// What is minimised beside the risk, and in which units.
struct Setting {
  ParameterFrame frame;
  double unit = 1;                        // κ
  std::unique_ptr<LikelihoodTerms> pull;  // Null: none.
  double pull_weight = 0;
  double l2 = 0;
};

Setting MakeSetting(const CounterfactualRun& run, TuplePolicy* policy) {
  CHECK(run.parent.size() == 0 || run.parent.size() == policy->dimension());
  CHECK(run.scales.size() == 0 || run.scales.size() == policy->dimension());
  Setting setting;
  const PoemOptions& options = run.options;
  if (options.standardise()) setting.frame.scales = run.scales;
  if (options.scale_losses()) {
    setting.unit = LossUnit(options.objective(), *policy);
  }
  switch (options.penalty()) {
    case PoemOptions::PROXIMAL:
      setting.frame.origin = run.parent;
      break;
    case PoemOptions::KL:
      setting.pull = std::make_unique<LikelihoodTerms>(policy);
      setting.pull_weight = run.l2;
      return setting;
    case PoemOptions::NORM:
      break;
  }
  setting.l2 = run.l2;
  return setting;
}

absl::StatusOr<CounterfactualResult> Minimise(const Objective& risk,
                                              const Setting& setting,
                                              const CounterfactualRun& run) {
  FramedTask task{.risk = &risk,
                  .unit = setting.unit,
                  .pull_weight = setting.pull_weight,
                  .l2 = setting.l2};
  std::optional<TermObjective> pull;
  if (setting.pull != nullptr) {
    ASSIGN_OR_RETURN(pull, TermObjective::Create(setting.pull.get(), 0, 0));
    task.pull = &*pull;
  }
  const FramedObjective objective(task, &setting.frame);
  const Eigen::VectorXd start = run.start.size() > 0
                                    ? run.start
                                    : Eigen::VectorXd::Zero(risk.dimension());
  if (start.size() != risk.dimension()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "start has ", start.size(), " entries, must have ", risk.dimension()));
  }
  ASSIGN_OR_RETURN(const LbfgsResult result,
                   MinimizeByLbfgs(objective, setting.frame.Into(start),
                                   run.options.lbfgs(), run.on_round));
  return CounterfactualResult{
      .parameters = setting.frame.From(result.point),
      .objective = setting.unit * result.value,
      .iterations = result.iterations,
      .termination = std::string(LbfgsTerminationName(result.termination))};
}

// Descends in mini-batches. For logarithmic smoothing, λ is part of the terms.
absl::StatusOr<CounterfactualResult> Descend(TupleTerms* terms, double lambda,
                                             const Setting& setting,
                                             const CounterfactualRun& run) {
  PoemRun poem{.adagrad = run.options.adagrad(),
               .crm = {.lambda = lambda, .l2 = setting.l2},
               .seed = run.options.seed(),
               .start = run.start,
               .frame = setting.frame,
               .unit = setting.unit,
               .pull = setting.pull.get(),
               .pull_weight = setting.pull_weight,
               .on_epoch = run.on_round};
  ASSIGN_OR_RETURN(PoemResult result, TrainPoemOnTerms(terms, poem));
  return CounterfactualResult{
      .parameters = std::move(result.parameters),
      .objective = result.objective,
      .epochs = result.epochs,
      .termination = std::string(PoemTerminationName(result.termination))};
}

absl::StatusOr<CounterfactualResult> TrainSelfNormalised(
    TuplePolicy* policy, const CounterfactualRun& run) {
  ASSIGN_OR_RETURN(const SelfNormalisedRisk risk,
                   SelfNormalisedRisk::Create(run.lambda));
  ASSIGN_OR_RETURN(const RiskObjective objective,
                   RiskObjective::Create(policy, &risk, 0));
  return Minimise(objective, MakeSetting(run, policy), run);
}

absl::Status ValidateL2(double l2) {
  if (l2 >= 0 && std::isfinite(l2)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("l2 is ", l2, ", must be finite and at least 0"));
}

}  // namespace

absl::Status ValidatePoemOptions(const PoemOptions& options) {
  if (options.lambda_size() > 0 && options.lambda_factor_size() > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("lambda_factor is ", options.lambda_factor(0),
                     ", must be unset where lambda is set"));
  }
  RETURN_IF_ERROR(ValidateLambdas(options, "lambda", options.lambda()));
  RETURN_IF_ERROR(
      ValidateLambdas(options, "lambda_factor", options.lambda_factor()));
  if (options.objective() == PoemOptions::SELF_NORMALISED &&
      options.optimiser() != PoemOptions::BATCH) {
    return Unfit("optimiser", PoemOptions::Optimiser_Name(options.optimiser()),
                 "BATCH", options);
  }
  if (options.clip() != 0 && !HasClip(options.objective())) {
    return Unfit("clip", absl::StrCat(options.clip()), "0 or unset", options);
  }
  if (options.clip() != 0 && !(options.clip() >= 1)) {
    return Unfit("clip", absl::StrCat(options.clip()), "0 or at least 1",
                 options);
  }
  return absl::OkStatus();
}

double ClipOf(const PoemOptions& options, const TuplePolicy& policy) {
  if (!HasClip(options.objective())) {
    return std::numeric_limits<double>::infinity();
  }
  return options.clip() > 0 ? options.clip() : DefaultClip(policy);
}

absl::StatusOr<std::vector<LambdaChoice>> ListLambdas(
    const PoemOptions& options, const TuplePolicy& policy) {
  std::vector<LambdaChoice> choices;
  for (const double lambda : options.lambda()) {
    choices.push_back({std::nullopt, lambda});
  }
  if (!choices.empty()) return choices;
  std::vector<double> factors(options.lambda_factor().begin(),
                              options.lambda_factor().end());
  if (factors.empty()) factors = DefaultFactors(options.objective());
  for (const double factor : factors) {
    LambdaChoice choice{factor, 0};
    if (factor != 0) {
      ASSIGN_OR_RETURN(const double unit,
                       LambdaUnit(options.objective(), policy));
      choice.lambda = factor * unit;
    }
    choices.push_back(choice);
  }
  return choices;
}

double LossUnit(PoemOptions::Objective objective, const TuplePolicy& policy) {
  const Moments losses = MomentsOfLosses(policy);
  double square = losses.variance();
  if (objective != PoemOptions::SELF_NORMALISED) {
    square *= 1 - 1 / losses.total();  // The divisor of a mean.
    square += losses.mean() * losses.mean();
  }
  return square > 0 ? std::sqrt(square) : 1;
}

absl::StatusOr<CounterfactualResult> TrainCounterfactual(
    TuplePolicy* policy, LossModel* model, const CounterfactualRun& run) {
  RETURN_IF_ERROR(ValidatePoemOptions(run.options));
  RETURN_IF_ERROR(ValidateL2(run.l2));
  const PoemOptions::Objective objective = run.options.objective();
  CHECK((objective == PoemOptions::DOUBLY_ROBUST) == (model != nullptr));
  if (objective == PoemOptions::SELF_NORMALISED) {
    return TrainSelfNormalised(policy, run);
  }
  const bool smooths = objective == PoemOptions::LOG_SMOOTHING;
  const double clip =
      HasClip(objective) ? run.clip : std::numeric_limits<double>::infinity();
  RETURN_IF_ERROR(smooths ? LogSmoothingRisk::Create(run.lambda).status()
                          : ValidateClipAndLambda(clip, run.lambda));
  ASSIGN_OR_RETURN(
      WeightedTerms terms,
      WeightedTerms::Create(
          policy, smooths ? LogSmoothedTerm(run.lambda) : ClippedTerm(clip),
          model));
  const double lambda = smooths ? 0 : run.lambda;
  const Setting setting = MakeSetting(run, policy);
  if (run.options.optimiser() == PoemOptions::STOCHASTIC) {
    return Descend(&terms, lambda, setting, run);
  }
  ASSIGN_OR_RETURN(const TermObjective whole,
                   TermObjective::Create(&terms, lambda, 0));
  return Minimise(whole, setting, run);
}

}  // namespace sortition
