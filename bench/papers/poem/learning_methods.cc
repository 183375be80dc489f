#include "bench/papers/poem/learning_methods.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "bench/papers/poem/author_descent.h"
#include "bench/support/clocks.h"
#include "core/base/status_macros.h"
#include "core/learners/counterfactual/counterfactual_learner.h"
#include "core/learners/counterfactual/poem_options.h"
#include "core/learners/multilabel/labels_loss_model.h"

namespace sortition {
namespace {

using config::v1::PoemOptions;

// M of the rule, without an upper limit in the paper's protocols.
double RuleClip(const Method& method, const TuplePolicy& policy) {
  return method.protocol == Protocol::kBest ? ClipOf(method.options, policy)
                                            : AuthorClip(policy);
}

Method Make(const std::string& name, Protocol protocol,
            PoemOptions::Objective objective, Optimiser optimiser) {
  Method method{.name = name, .published = name, .protocol = protocol};
  method.options.set_objective(objective);
  method.options.set_optimiser(optimiser);
  method.options.set_scale_losses(false);
  switch (protocol) {
    case Protocol::kText:
      method.criterion = Criterion::kUnbiased;
      method.options.add_l2(0);
      break;
    case Protocol::kAuthors:
      method.criterion = Criterion::kSelfNormalised;
      method.options.add_l2(0);
      method.options.mutable_lbfgs()->set_max_iterations(1000);
      method.options.mutable_lbfgs()->set_history(50);
      method.options.mutable_lbfgs()->set_decrease_tolerance(1e-6);
      break;
    case Protocol::kBest:
      method.criterion = Criterion::kBounded;
      if (HasClip(objective)) method.clip_factors = {1, 10, 100};
      break;
  }
  return method;
}

std::string Named(const char* name, Optimiser optimiser) {
  return name + std::string(optimiser == PoemOptions::BATCH ? "(B)" : "(S)");
}

struct Validation {
  double criterion = 0;
  double mean_weight = 0;
};

Validation Validate(Criterion criterion, LabelsPolicy* policy,
                    const Eigen::VectorXd& parameters) {
  std::vector<uint32_t> tuples(policy->num_tuples());
  std::iota(tuples.begin(), tuples.end(), 0u);
  std::vector<double> log_weights(tuples.size());
  policy->LogProbabilities(parameters, tuples, log_weights);
  double weights = 0;
  double losses = 0;
  for (size_t i = 0; i < tuples.size(); ++i) {
    const double weight = std::exp(log_weights[i] - policy->log_propensity(i));
    weights += weight;
    losses += policy->loss(i) * weight;
  }
  const double n = static_cast<double>(tuples.size());
  switch (criterion) {
    case Criterion::kUnbiased:
      return {losses / n, weights / n};
    case Criterion::kSelfNormalised:
      return {weights > 0 ? losses / weights : 0, weights / n};
    case Criterion::kBounded:
      break;
  }
  return {losses / std::max(n, weights), weights / n};
}

// Finds the best point of a method's grid.
class Search {
 public:
  Search(const Method& method, LabelLog* log) : method_(method), log_(log) {}

  absl::StatusOr<Learnt> Run() {
    RETURN_IF_ERROR(FitModel());
    if (method_.from_parent) Try(log_->logging_parameters());
    ASSIGN_OR_RETURN(const std::vector<CounterfactualRun> runs, ListRuns());
    for (const CounterfactualRun& run : runs) {
      for (const double quantile : method_.quantiles) {
        for (const double step : method_.steps) {
          RETURN_IF_ERROR(FromStarts(run, quantile, step));
        }
      }
    }
    learnt_.seconds_per_fit = seconds_ / fits_;
    return learnt_;
  }

 private:
  // Returns all M, β, λ and μ.
  absl::StatusOr<std::vector<CounterfactualRun>> ListRuns() {
    std::vector<CounterfactualRun> runs;
    const double clip = RuleClip(method_, *log_->train());
    const auto l2s = ListL2s(method_.options, *log_->train());
    for (const double factor : method_.clip_factors) {
      for (const double smoothing : ListSmoothings(method_.options)) {
        ASSIGN_OR_RETURN(
            const auto lambdas,
            ListLambdas(method_.options, *log_->train(), smoothing));
        for (const LambdaChoice& lambda : lambdas) {
          for (const double l2 : l2s) {
            runs.push_back({.options = method_.options,
                            .clip = factor * clip,
                            .lambda = lambda.lambda,
                            .smoothing = smoothing,
                            .l2 = l2,
                            .prior = log_->logging_parameters()});
          }
        }
      }
    }
    return runs;
  }

  absl::Status FitModel() {
    if (method_.options.objective() != PoemOptions::DOUBLY_ROBUST) {
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(
        const LabelsLossModel fitted,
        LabelsLossModel::Fit(log_->contexts(), log_->train_tuples(),
                             {.l2 = method_.options.loss_model_l2(),
                              .folds = method_.options.loss_model_folds()}));
    model_ = fitted.Clone();
    return absl::OkStatus();
  }

  absl::Status FromStarts(CounterfactualRun run, double quantile, double step) {
    run.options.mutable_adagrad()->set_step_size(step);
    if (method_.from_zero) {
      RETURN_IF_ERROR(Fit(run, quantile));
    }
    if (!method_.from_parent) return absl::OkStatus();
    run.start = log_->logging_parameters();
    return Fit(run, quantile);
  }

  absl::Status Fit(CounterfactualRun& run, double quantile) {
    const double begin = WallSeconds();
    ++fits_;
    ASSIGN_OR_RETURN(const Eigen::VectorXd parameters,
                     Parameters(run, quantile));
    seconds_ += WallSeconds() - begin;
    Try(parameters);
    return absl::OkStatus();
  }

  absl::StatusOr<Eigen::VectorXd> Parameters(CounterfactualRun& run,
                                             double quantile) {
    if (method_.protocol == Protocol::kAuthors &&
        method_.options.optimiser() == PoemOptions::STOCHASTIC) {
      return DescendAsAuthors(
          log_->train(),
          {.clip = run.clip,
           .lambda = run.lambda,
           .loss_factor = static_cast<double>(log_->contexts().num_labels),
           .step = run.options.adagrad().step_size(),
           .scales_majoriser = method_.scales_majoriser,
           .most_batches = method_.most_batches});
    }
    std::unique_ptr<GridRisk> risk;
    if (method_.weights != Weights::kPlain) {
      ASSIGN_OR_RETURN(
          risk, MakeSmoothedRisk({.weights = method_.weights,
                                  .quantile = quantile,
                                  .clip = run.clip},
                                 log_->contexts(), log_->train_tuples()));
      run.risk = risk.get();
    }
    ASSIGN_OR_RETURN(CounterfactualResult result,
                     TrainCounterfactual(log_->train(), model_.get(), run));
    return std::move(result.parameters);
  }

  void Try(const Eigen::VectorXd& parameters) {
    const Validation validation =
        Validate(method_.criterion, log_->validation(), parameters);
    const HammingLosses losses = MeanHammingLosses(log_->test(), parameters);
    learnt_.lowest = std::min(learnt_.lowest, losses.expected);
    if (!(validation.criterion < best_)) return;
    best_ = validation.criterion;
    learnt_.losses = losses;
    learnt_.mean_weight = validation.mean_weight;
  }

  const Method& method_;
  LabelLog* log_;
  std::unique_ptr<LossModel> model_;
  double best_ = std::numeric_limits<double>::infinity();
  double seconds_ = 0;
  double fits_ = 0;
  Learnt learnt_;
};

}  // namespace

const char* ProtocolName(Protocol protocol) {
  switch (protocol) {
    case Protocol::kText:
      return "text";
    case Protocol::kAuthors:
      return "authors";
    case Protocol::kBest:
      break;
  }
  return "best";
}

Method Ips(Protocol protocol, Optimiser optimiser) {
  return Make(Named("IPS", optimiser), protocol, PoemOptions::CLIPPED_IPS,
              optimiser);
}

Method Poem(Protocol protocol, Optimiser optimiser) {
  Method method =
      Make(Named("POEM", optimiser), protocol, PoemOptions::CRM, optimiser);
  for (const double c : {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0}) {
    method.options.add_lambda_factor(c);
  }
  return method;
}

Method WithSteps(Method method) {
  method.name += " steps";
  method.published.clear();
  method.steps = {0.3, 1, 3, 10, 30};
  method.clip_factors = {1};
  return method;
}

Method PoemOfSection53() {
  Method method = Poem(Protocol::kAuthors, PoemOptions::STOCHASTIC);
  method.name += " sec. 5.3";
  method.scales_majoriser = true;
  return method;
}

std::vector<Method> ShortDescents() {
  constexpr uint32_t kFewBatches = 250;
  Method short_ips = Ips(Protocol::kAuthors, PoemOptions::STOCHASTIC);
  Method short_poem = Poem(Protocol::kAuthors, PoemOptions::STOCHASTIC);
  for (Method* method : {&short_ips, &short_poem}) {
    method->name += " short";
    method->most_batches = kFewBatches;
  }
  return {short_ips, short_poem};
}

Method PoemNearParent() {
  Method method = Poem(Protocol::kBest, PoemOptions::STOCHASTIC);
  method.name = "POEM(S) near h0";
  method.published.clear();
  method.options.set_penalty(PoemOptions::PROXIMAL);
  method.options.clear_lambda_factor();
  for (const double c : {0.0, 1e-2, 0.1, 1.0}) {
    method.options.add_lambda_factor(c);
  }
  for (const double l2 : {1e-6, 1e-4, 1e-3, 1e-2}) method.options.add_l2(l2);
  method.from_parent = true;
  return method;
}

Method NormPoem() {
  return Make("Norm-POEM", Protocol::kBest, PoemOptions::SELF_NORMALISED,
              PoemOptions::BATCH);
}

std::vector<Method> NewerMethods() {
  constexpr auto kBatch = PoemOptions::BATCH;
  Method bounded = Make("LS + PAC-Bayes", Protocol::kBest,
                        PoemOptions::LOG_SMOOTHING, kBatch);
  bounded.options.set_penalty(PoemOptions::PROXIMAL);
  for (const double s : {0.1, 1.0, 10.0}) {
    bounded.options.add_prior_decisions(s);
  }
  bounded.from_zero = false;
  bounded.from_parent = true;
  const auto clipped = [](const std::string& name) {
    return Make(name, Protocol::kBest, PoemOptions::CLIPPED_IPS, kBatch);
  };
  Method exponential = clipped("ES(B)");
  for (const double beta : {0.5, 0.7, 0.9}) {
    exponential.options.add_smoothing(beta);
  }
  Method implicit = clipped("IX(B)");
  implicit.weights = Weights::kImplicit;
  implicit.quantiles = {0.1, 0.5, 0.9};
  Method shrunk = clipped("shrinkage(B)");
  shrunk.weights = Weights::kShrunk;
  for (Method* method : {&exponential, &implicit}) {
    method->clip_factors = {100};
  }
  Method doubly_robust =
      Make("DR(B)", Protocol::kBest, PoemOptions::DOUBLY_ROBUST, kBatch);
  for (const double c : {0.0, 0.1, 1.0}) {
    doubly_robust.options.add_lambda_factor(c);
  }
  return {
      NormPoem(),
      doubly_robust,
      Make("LS(B)", Protocol::kBest, PoemOptions::LOG_SMOOTHING, kBatch),
      bounded,
      exponential,
      implicit,
      shrunk,
  };
}

absl::StatusOr<Learnt> Learn(const Method& method, LabelLog* log) {
  return Search(method, log).Run();
}

}  // namespace sortition
