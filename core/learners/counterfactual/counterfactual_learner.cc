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
#include "core/learners/counterfactual/poem_options.h"
#include "core/optim/lbfgs.h"
#include "core/optim/parameter_frame.h"

namespace sortition {
namespace {

using config::v1::PoemOptions;

// What is minimised beside the risk, and in which units: of a policy whose
// propensities are not smoothed.
struct Setting {
  ParameterFrame frame;
  double unit = 1;                        // κ
  std::unique_ptr<LikelihoodTerms> pull;  // Null: none.
  double pull_weight = 0;
  double l2 = 0;
};

Setting MakeSetting(const CounterfactualRun& run, TuplePolicy* policy) {
  CHECK(run.prior.size() == 0 || run.prior.size() == policy->dimension());
  CHECK(run.scales.size() == 0 || run.scales.size() == policy->dimension());
  Setting setting;
  const PoemOptions& options = run.options;
  if (options.standardise()) setting.frame.scales = run.scales;
  if (options.scale_losses()) {
    setting.unit = run.risk != nullptr
                       ? run.risk->loss_unit()
                       : LossUnit(options.objective(), *policy, run.smoothing);
  }
  switch (options.penalty()) {
    case PoemOptions::PROXIMAL:
      setting.frame.origin = run.prior;
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

// `weighed` has the propensities that weigh the tuples.
absl::StatusOr<CounterfactualResult> TrainSelfNormalised(
    TuplePolicy* weighed, const Setting& setting,
    const CounterfactualRun& run) {
  ASSIGN_OR_RETURN(const SelfNormalisedRisk risk,
                   SelfNormalisedRisk::Create(run.lambda));
  ASSIGN_OR_RETURN(const RiskObjective objective,
                   RiskObjective::Create(weighed, &risk, 0));
  return Minimise(objective, setting, run);
}

absl::Status ValidateRun(const CounterfactualRun& run) {
  RETURN_IF_ERROR(ValidatePoemOptions(run.options));
  if (!(run.l2 >= 0 && std::isfinite(run.l2))) {
    return absl::InvalidArgumentError(
        absl::StrCat("l2 is ", run.l2, ", must be finite and at least 0"));
  }
  if (!(run.smoothing > 0 && run.smoothing <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("smoothing is ", run.smoothing, ", must be in (0, 1]"));
  }
  if (run.risk != nullptr) {
    if (run.smoothing == 1) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("smoothing is ", run.smoothing,
                     ", must be 1 for data with a risk of their own"));
  }
  if (run.options.objective() == PoemOptions::EXPOSURE) {
    return absl::InvalidArgumentError(
        "objective is EXPOSURE, must be another for data without rewards by "
        "rank");
  }
  if (run.options.rank_weights() != PoemOptions::ORDER) {
    return absl::InvalidArgumentError(
        absl::StrCat("rank_weights is ",
                     PoemOptions::RankWeights_Name(run.options.rank_weights()),
                     ", must be ORDER for data without rewards by rank"));
  }
  return absl::OkStatus();
}

}  // namespace

double LossUnit(PoemOptions::Objective objective, const TuplePolicy& policy,
                double smoothing) {
  const bool shrinks = objective != PoemOptions::SELF_NORMALISED &&
                       objective != PoemOptions::DOUBLY_ROBUST;
  const Moments losses = MomentsOfLogging(policy, shrinks ? smoothing : 1);
  double square = losses.variance();
  if (objective != PoemOptions::SELF_NORMALISED) {
    square *= 1 - 1 / losses.total();  // The divisor of a mean.
    square += losses.mean() * losses.mean();
  }
  return square > 0 ? std::sqrt(square) : 1;
}

absl::StatusOr<CounterfactualResult> TrainCounterfactual(
    TuplePolicy* policy, LossModel* model, const CounterfactualRun& run) {
  RETURN_IF_ERROR(ValidateRun(run));
  const PoemOptions::Objective objective = run.options.objective();
  CHECK((objective == PoemOptions::DOUBLY_ROBUST && run.risk == nullptr) ==
        (model != nullptr));
  SmoothedPropensities smoothed(policy, run.smoothing);
  TuplePolicy* const weighed = run.smoothing == 1 ? policy : &smoothed;
  const Setting setting = MakeSetting(run, policy);
  if (objective == PoemOptions::SELF_NORMALISED) {
    return TrainSelfNormalised(weighed, setting, run);
  }
  const bool smooths = objective == PoemOptions::LOG_SMOOTHING;
  const double clip =
      HasClip(objective) ? run.clip : std::numeric_limits<double>::infinity();
  RETURN_IF_ERROR(smooths ? LogSmoothingRisk::Create(run.lambda).status()
                          : ValidateClipAndLambda(clip, run.lambda));
  std::optional<WeightedTerms> weighted;
  if (run.risk == nullptr) {
    ASSIGN_OR_RETURN(
        weighted,
        WeightedTerms::Create(
            weighed, smooths ? LogSmoothedTerm(run.lambda) : ClippedTerm(clip),
            model));
  }
  TupleTerms* const terms = weighted ? &*weighted : run.risk->terms();
  CHECK(terms->num_tuples() == policy->num_tuples() &&
        terms->dimension() == policy->dimension());
  const double lambda = smooths ? 0 : run.lambda;
  if (run.options.optimiser() == PoemOptions::STOCHASTIC) {
    return Descend(terms, lambda, setting, run);
  }
  if (!weighted && run.risk->objective() != nullptr) {
    return Minimise(*run.risk->objective(), setting, run);
  }
  ASSIGN_OR_RETURN(const TermObjective whole,
                   TermObjective::Create(terms, lambda, 0));
  return Minimise(whole, setting, run);
}

}  // namespace sortition
