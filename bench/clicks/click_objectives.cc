#include "bench/clicks/click_objectives.h"

#include <array>
#include <numeric>
#include <utility>

#include "core/base/status_macros.h"
#include "core/counterfactual/weighted_terms.h"
#include "core/learners/counterfactual/poem.h"
#include "core/learners/rankings/cascade_terms.h"
#include "core/learners/rankings/exposure_terms.h"
#include "core/learners/rankings/item_position_terms.h"
#include "core/learners/rankings/prefix_terms.h"
#include "core/learners/rankings/safe_exposure_objective.h"
#include "core/learners/rankings/sampled_exposure_terms.h"
#include "core/optim/lbfgs.h"

namespace sortition {
namespace {

constexpr double kClip = 100;
// Of the deviation term of objectives with weights: one standard error.
constexpr double kLambda = 1;
constexpr uint32_t kEpochs = 12;
// Each of these costs a marginal for every session.
constexpr uint32_t kMarginalEpochs = 5;
constexpr uint32_t kSampledEpochs = 100;
constexpr uint32_t kSampledBatch = 20;
constexpr uint32_t kSampledOrders = 20;
constexpr uint32_t kIterations = 40;
constexpr double kDecrease = 1e-6;
// With so many clicks at most; confidence of the safe objective.
constexpr ExposureSafety kSafety = {.failure_probability = 0.05,
                                    .max_clicks = kPageRanks};

class PageLossModel : public RankLossModel {
 public:
  explicit PageLossModel(const ObjectiveTask& task) : task_(task) {}

  void Losses(size_t i, size_t k, std::span<double> losses) const override {
    const std::vector<double>& attractions =
        task_.model->attractions[task_.log->tuple_pages[i]];
    for (size_t d = 0; d < losses.size(); ++d) {
      losses[d] = -task_.model->examination[k] * attractions[d];
    }
  }

 private:
  const ObjectiveTask& task_;
};

// N, whether or not the log has sessions one by one.
double SessionsOf(const LearningLog& log) {
  return std::accumulate(log.page_weights.begin(), log.page_weights.end(), 0.0);
}

absl::StatusOr<Eigen::VectorXd> ByBatches(const ObjectiveTask& task,
                                          double lambda, uint32_t epochs,
                                          uint32_t batch, TupleTerms* terms) {
  PoemRun run;
  run.adagrad.set_max_epochs(epochs);
  run.adagrad.set_batch_size(batch);
  run.crm.lambda = lambda;
  run.crm.l2 = 1 / SessionsOf(*task.log);
  run.start = task.frame.origin;
  run.frame = task.frame;
  ASSIGN_OR_RETURN(PoemResult result, TrainPoemOnTerms(terms, run));
  return std::move(result.parameters);
}

absl::StatusOr<Eigen::VectorXd> ByLbfgs(const ObjectiveTask& task,
                                        const Objective& risk) {
  FramedTask framed;
  framed.risk = &risk;
  framed.l2 = 1 / SessionsOf(*task.log);
  const FramedObjective objective(framed, &task.frame);
  config::v1::LbfgsOptions options;
  options.set_max_iterations(kIterations);
  options.set_decrease_tolerance(kDecrease);
  ASSIGN_OR_RETURN(
      const LbfgsResult result,
      MinimizeByLbfgs(objective, Eigen::VectorXd::Zero(risk.dimension()),
                      options, nullptr));
  return task.frame.From(result.point);
}

absl::StatusOr<Eigen::VectorXd> LearnPrefixes(const ObjectiveTask& task,
                                              PrefixWeights kind) {
  constexpr uint32_t kBatch = 100;
  ASSIGN_OR_RETURN(
      PrefixTerms terms,
      PrefixTerms::Create(task.log->view(), kind, {ClippedTerm(kClip)}));
  return ByBatches(task, kLambda, kEpochs, kBatch, &terms);
}

absl::StatusOr<Eigen::VectorXd> LearnItemPositions(const ObjectiveTask& task) {
  constexpr uint32_t kBatch = 100;
  constexpr double kTolerance = 1e-6;
  ASSIGN_OR_RETURN(ItemPositionTerms terms,
                   ItemPositionTerms::Create(task.log->view(),
                                             ClippedTerm(kClip), kTolerance));
  return ByBatches(task, kLambda, kMarginalEpochs, kBatch, &terms);
}

absl::StatusOr<Eigen::VectorXd> LearnCascade(const ObjectiveTask& task) {
  constexpr uint32_t kBatch = 100;
  const PageLossModel model(task);
  ASSIGN_OR_RETURN(CascadeTerms terms,
                   CascadeTerms::Create(task.log->view(), {kClip}, &model));
  return ByBatches(task, kLambda, kEpochs, kBatch, &terms);
}

absl::StatusOr<Eigen::VectorXd> LearnExposures(const ObjectiveTask& task,
                                               bool is_safe) {
  const ExposureProblem problem = task.log->problem(task.discounts);
  ASSIGN_OR_RETURN(ExposureTerms terms,
                   ExposureTerms::Create(problem, task.log->gains));
  if (!is_safe) {
    ASSIGN_OR_RETURN(const TermObjective objective,
                     TermObjective::Create(&terms, 0, 0));
    return ByLbfgs(task, objective);
  }
  ASSIGN_OR_RETURN(
      ExposureDivergenceTerms divergence,
      ExposureDivergenceTerms::Create(problem, task.log->exposures));
  ASSIGN_OR_RETURN(const SafeExposureObjective objective,
                   SafeExposureObjective::Create(&terms, &divergence, kSafety));
  return ByLbfgs(task, objective);
}

absl::StatusOr<Eigen::VectorXd> LearnSampled(const ObjectiveTask& task) {
  constexpr uint64_t kSeed = 5;
  ASSIGN_OR_RETURN(
      SampledExposureTerms terms,
      SampledExposureTerms::Create(task.log->problem(task.discounts),
                                   task.log->gains, kSampledOrders, kSeed));
  return ByBatches(task, 0, kSampledEpochs, kSampledBatch, &terms);
}

}  // namespace

std::span<const ClickObjective> AllClickObjectives() {
  static constexpr std::array<ClickObjective, 7> kAll = {
      ClickObjective::kWholeOrder,   ClickObjective::kPrefixes,
      ClickObjective::kItemPosition, ClickObjective::kCascade,
      ClickObjective::kExposure,     ClickObjective::kSampledExposures,
      ClickObjective::kSafeExposure};
  return kAll;
}

std::string ClickObjectiveName(ClickObjective objective) {
  switch (objective) {
    case ClickObjective::kWholeOrder:
      return "whole order";
    case ClickObjective::kPrefixes:
      return "prefixes";
    case ClickObjective::kItemPosition:
      return "item-position";
    case ClickObjective::kCascade:
      return "cascade DR";
    case ClickObjective::kExposure:
      return "exposure";
    case ClickObjective::kSampledExposures:
      return "PL-Rank";
    case ClickObjective::kSafeExposure:
      return "safe exposure";
  }
  return "";
}

absl::StatusOr<Eigen::VectorXd> LearnFromClicks(ClickObjective objective,
                                                const ObjectiveTask& task) {
  switch (objective) {
    case ClickObjective::kWholeOrder:
      return LearnPrefixes(task, PrefixWeights::kWholeOrder);
    case ClickObjective::kPrefixes:
      return LearnPrefixes(task, PrefixWeights::kPrefixes);
    case ClickObjective::kItemPosition:
      return LearnItemPositions(task);
    case ClickObjective::kCascade:
      return LearnCascade(task);
    case ClickObjective::kExposure:
      return LearnExposures(task, false);
    case ClickObjective::kSampledExposures:
      return LearnSampled(task);
    case ClickObjective::kSafeExposure:
      return LearnExposures(task, true);
  }
  return absl::InvalidArgumentError("objective is unknown");
}

}  // namespace sortition
