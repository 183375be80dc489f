#include "core/learners/orders/crf.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/learners/labelled/lambda_path.h"
#include "core/learners/labelled/rank_policy.h"
#include "core/learners/labelled/tuned_learner.h"
#include "core/learners/orders/crf_training.h"

namespace sortition {
namespace {

using config::v1::CrfOptions;
using config::v1::RankPolicyOptions;

constexpr char kCrfLambda[] = "crf.lambda";
constexpr double kMost = 1e6;  // Largest value of all grids except λ's.

// Fills empty grids with the paper's values, sec. 6.2.
void FillGrids(CrfOptions* options) {
  if (options->objective() == CrfOptions::LOSS_AUGMENTED &&
      options->loss_weight().empty()) {
    for (const double weight : {1, 10, 20, 50}) {
      options->add_loss_weight(weight);
    }
  }
  if (options->objective() == CrfOptions::KULLBACK_LEIBLER &&
      options->temperature().empty()) {
    for (const double temperature : {1, 10, 20, 50}) {
      options->add_temperature(temperature);
    }
  }
  if (options->optimiser() == CrfOptions::STOCHASTIC &&
      options->learning_rate().empty()) {
    for (const double rate : {0.5, 0.1, 0.01, 0.001}) {
      options->add_learning_rate(rate);
    }
  }
}

absl::Status CheckGrid(const char* name,
                       const google::protobuf::RepeatedField<double>& grid) {
  for (const double value : grid) {
    if (!(value > 0 && value <= kMost)) {
      return absl::InvalidArgumentError(
          absl::StrCat("crf.", name, " is ", value,
                       ", must be above 0 and at most ", kMost));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckNumber(const char* name, uint32_t value, uint32_t least,
                         uint32_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "crf.", name, " is ", value, ", must be ", least, " to ", most));
}

// InvalidArgument for options that would have no effect.
absl::Status CheckMeaning(const CrfOptions& options) {
  const bool batch = options.optimiser() == CrfOptions::BATCH;
  const struct {
    const char* name;
    bool is_set;
    bool has_meaning;
    const char* owner;
  } rules[] = {
      {"loss_weight", !options.loss_weight().empty(),
       options.objective() == CrfOptions::LOSS_AUGMENTED,
       "objective LOSS_AUGMENTED"},
      {"temperature", !options.temperature().empty(),
       options.objective() == CrfOptions::KULLBACK_LEIBLER,
       "objective KULLBACK_LEIBLER"},
      {"learning_rate", !options.learning_rate().empty(), !batch,
       "optimiser STOCHASTIC"},
      {"max_epochs", options.has_max_epochs(), !batch, "optimiser STOCHASTIC"},
      {"patience", options.has_patience(), !batch, "optimiser STOCHASTIC"},
      {"lambda", !options.lambda().empty(), batch, "optimiser BATCH"},
      {"subsets", options.has_subsets(), batch, "optimiser BATCH"},
      {"lbfgs", options.has_lbfgs(), batch, "optimiser BATCH"},
  };
  for (const auto& rule : rules) {
    if (!rule.is_set || rule.has_meaning) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "crf.", rule.name, " is set, must be unset except for ", rule.owner));
  }
  return absl::OkStatus();
}

absl::Status CheckOptions(const CrfOptions& options) {
  RETURN_IF_ERROR(CheckMeaning(options));
  RETURN_IF_ERROR(CheckGrid("loss_weight", options.loss_weight()));
  RETURN_IF_ERROR(CheckGrid("temperature", options.temperature()));
  RETURN_IF_ERROR(CheckGrid("learning_rate", options.learning_rate()));
  RETURN_IF_ERROR(LambdaPath(options.lambda(), 1, kCrfLambda).status());
  RETURN_IF_ERROR(CheckNumber("subset_size", options.subset_size(), 2,
                              RankingCrf::kMaxItems));
  RETURN_IF_ERROR(CheckNumber("subsets", options.subsets(), 1, 10000));
  RETURN_IF_ERROR(CheckNumber("max_epochs", options.max_epochs(), 1, 100000));
  return CheckNumber("patience", options.patience(), 1, 100000);
}

// Returns the NDCG (eq. 12) of the order by score; 0 if nothing is relevant.
double NdcgByScore(const LabelMeasure& measure, const LabelledItems& query,
                   std::span<const double> weights) {
  const std::vector<double> ideal(query.relevances.begin(),
                                  query.relevances.end());
  const double best = MeasureByScore(measure, query.relevances, ideal);
  if (best == 0) return 0;
  return MeanByScore(measure, {&query, 1}, weights) / best;
}

double MeanNdcgByScore(const LabelMeasure& measure,
                       std::span<const LabelledItems> queries,
                       std::span<const double> weights) {
  double sum = 0;
  for (const LabelledItems& query : queries) {
    sum += NdcgByScore(measure, query, weights);
  }
  return sum / static_cast<double>(queries.size());
}

struct Setting {
  CrfObjective objective;
  std::string name;
};

std::vector<Setting> Settings(const CrfOptions& options) {
  using Kind = CrfObjective::Kind;
  std::vector<Setting> settings;
  switch (options.objective()) {
    case CrfOptions::MAXIMUM_LIKELIHOOD:
      return {{{.kind = Kind::kMaximumLikelihood}, ""}};
    case CrfOptions::LOSS_SCALED:
      return {{{.kind = Kind::kLossScaled}, ""}};
    case CrfOptions::EXPECTED_LOSS:
      return {{{.kind = Kind::kExpectedLoss}, ""}};
    case CrfOptions::LOSS_AUGMENTED:
      for (const double weight : options.loss_weight()) {
        settings.push_back(
            {{.kind = Kind::kLossAugmented, .loss_weight = weight},
             absl::StrCat("loss_weight ", weight)});
      }
      break;
    case CrfOptions::KULLBACK_LEIBLER:
      for (const double temperature : options.temperature()) {
        settings.push_back(
            {{.kind = Kind::kKullbackLeibler, .temperature = temperature},
             absl::StrCat("temperature ", temperature)});
      }
      break;
  }
  return settings;
}

PointFit FitOf(CrfResult result) {
  return {.weights = std::move(result.weights),
          .objective = result.objective,
          .passes = result.passes,
          .termination = std::move(result.termination)};
}

TuningPoint StochasticPoint(const CrfOptions& options,
                            const LabelMeasure& measure, const Setting& setting,
                            double rate) {
  const auto fit =
      [=](const LabelledTask& task,
          const std::function<void()>& on_step) -> absl::StatusOr<PointFit> {
    ASSIGN_OR_RETURN(CrfResult result,
                     TrainCrfBySteps(
                         task.training, setting.objective, rate, options,
                         [&](std::span<const double> weights) {
                           return MeanNdcgByScore(measure, task.validation,
                                                  weights);
                         },
                         on_step));
    absl::StrAppend(&result.termination, ", best epoch ", result.best_epoch);
    return FitOf(std::move(result));
  };
  return {
      .setting = absl::StrCat(setting.name, setting.name.empty() ? "" : ", ",
                              "learning_rate ", rate),
      .fit = fit};
}

TuningPoint BatchPoint(const CrfOptions& options, const Setting& setting,
                       double lambda) {
  const auto fit =
      [=](const LabelledTask& task,
          const std::function<void()>& on_step) -> absl::StatusOr<PointFit> {
    ASSIGN_OR_RETURN(CrfResult result,
                     TrainCrfByBatch(task.training, setting.objective, lambda,
                                     options, on_step));
    return FitOf(std::move(result));
  };
  return {.lambda = lambda, .setting = setting.name, .fit = fit};
}

absl::StatusOr<std::vector<TuningPoint>> Points(const CrfOptions& options,
                                                const LabelMeasure& measure,
                                                const LabelledTask& task) {
  ASSIGN_OR_RETURN(
      const std::vector<double> lambdas,
      LambdaPath(options.lambda(), task.training.size(), kCrfLambda));
  std::vector<TuningPoint> points;
  for (const Setting& setting : Settings(options)) {
    if (options.optimiser() == CrfOptions::BATCH) {
      for (const double lambda : lambdas) {
        points.push_back(BatchPoint(options, setting, lambda));
      }
    } else {
      for (const double rate : options.learning_rate()) {
        points.push_back(StochasticPoint(options, measure, setting, rate));
      }
    }
  }
  return points;
}

}  // namespace

absl::StatusOr<std::unique_ptr<LabelledLearner>> MakeCrfLearner(
    const CrfOptions& options, const LabelledShape& shape) {
  RETURN_IF_ERROR(CheckOptions(options));
  CrfOptions own = options;
  FillGrids(&own);
  TunedLearnerSpec spec;
  spec.options = std::make_shared<CrfOptions>(own);
  ASSIGN_OR_RETURN(spec.measure, LinearOrderMeasure(shape));
  spec.actions = {ActionKind::kRank, ActionKind::kSelect};
  const bool batch = own.optimiser() == CrfOptions::BATCH;
  spec.most_steps = batch ? own.lbfgs().max_iterations() : own.max_epochs();
  spec.num_points = Settings(own).size() *
                    (batch ? LambdaPathSize(own.lambda())
                           : static_cast<size_t>(own.learning_rate().size()));
  spec.points = [own, measure = spec.measure](const LabelledTask& task) {
    return Points(own, measure, task);
  };
  spec.validate = [measure = spec.measure](
                      const LabelledItems& query,
                      const PointFit& fit) -> absl::StatusOr<double> {
    return NdcgByScore(measure, query, fit.weights);
  };
  spec.validation_name = "NDCG of linear gain, deterministic";
  spec.make_policy = [](const LabelledPolicyTask& task) {
    return MakeRankPolicy(task, RankPolicyOptions::BOLTZMANN);
  };
  return std::make_unique<TunedLearner>(std::move(spec));
}

}  // namespace sortition
