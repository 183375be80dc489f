#include "core/learners/counterfactual/counterfactual_learner.h"

#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/counterfactual/crm.h"
#include "core/counterfactual/risk_objective.h"
#include "core/counterfactual/risks.h"
#include "core/counterfactual/tuple_terms.h"
#include "core/counterfactual/weighted_terms.h"
#include "core/learners/counterfactual/poem.h"
#include "core/optim/lbfgs.h"

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
      return 1 / std::sqrt(static_cast<double>(policy.num_tuples()));
    case PoemOptions::CRM:
    case PoemOptions::DOUBLY_ROBUST:
      break;
  }
  return CalibratedLambda(policy);
}

absl::StatusOr<CounterfactualResult> Minimise(const Objective& objective,
                                              const CounterfactualRun& run) {
  ASSIGN_OR_RETURN(
      LbfgsResult result,
      MinimizeByLbfgs(objective,
                      run.start.size() > 0
                          ? run.start
                          : Eigen::VectorXd::Zero(objective.dimension()),
                      run.options.lbfgs(), run.on_round));
  return CounterfactualResult{
      .parameters = std::move(result.point),
      .objective = result.value,
      .iterations = result.iterations,
      .termination = std::string(LbfgsTerminationName(result.termination))};
}

// Descends in mini-batches. For logarithmic smoothing, λ is part of the terms.
absl::StatusOr<CounterfactualResult> Descend(TupleTerms* terms, double lambda,
                                             const CounterfactualRun& run) {
  PoemRun poem{.adagrad = run.options.adagrad(),
               .crm = {.lambda = lambda, .l2 = run.l2},
               .seed = run.options.seed(),
               .start = run.start,
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
                   RiskObjective::Create(policy, &risk, run.l2));
  return Minimise(objective, run);
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

absl::StatusOr<CounterfactualResult> TrainCounterfactual(
    TuplePolicy* policy, LossModel* model, const CounterfactualRun& run) {
  RETURN_IF_ERROR(ValidatePoemOptions(run.options));
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
  if (run.options.optimiser() == PoemOptions::STOCHASTIC) {
    return Descend(&terms, lambda, run);
  }
  ASSIGN_OR_RETURN(const TermObjective whole,
                   TermObjective::Create(&terms, lambda, run.l2));
  return Minimise(whole, run);
}

}  // namespace sortition
