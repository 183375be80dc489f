#include "core/learners/rankings/ranking_risk.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/counterfactual/weighted_terms.h"
#include "core/learners/counterfactual/poem_options.h"
#include "core/learners/rankings/cascade_terms.h"
#include "core/learners/rankings/exposure_terms.h"
#include "core/learners/rankings/item_position_terms.h"
#include "core/learners/rankings/linear_rank_loss_model.h"
#include "core/learners/rankings/prefix_terms.h"
#include "core/learners/rankings/safe_exposure_objective.h"
#include "core/learners/rankings/sampled_exposure_terms.h"

namespace sortition {
namespace {

using config::v1::PoemOptions;

// Owns the terms, and what they point to.
struct RankingRisk : public GridRisk {
  TupleTerms* terms() override { return weighed.get(); }
  const Objective* objective() const override { return safe.get(); }
  double loss_unit() const override { return unit; }

  double unit = 1;
  std::shared_ptr<const RankLossModel> model;
  std::unique_ptr<TupleTerms> weighed;
  std::unique_ptr<ExposureDivergenceTerms> divergence;
  std::unique_ptr<SafeExposureObjective> safe;  // Null: the mean of the terms.
};

// Moves what was created into memory of its own.
template <typename T>
absl::StatusOr<std::unique_ptr<T>> Owned(absl::StatusOr<T> created) {
  RETURN_IF_ERROR(created.status());
  return std::make_unique<T>(*std::move(created));
}

// Returns the root mean square of value(i) over the tuples; 1 if that is 0.
template <typename Value>
double RootMeanSquare(const RankedLog& log, const Value& value) {
  double squares = 0;
  double total = 0;
  for (size_t i = 0; i < log.tuples.size(); ++i) {
    const double weight = log.weights.empty() ? 1 : log.weights[i];
    squares += weight * value(i) * value(i);
    total += weight;
  }
  return squares > 0 ? std::sqrt(squares / total) : 1;
}

absl::StatusOr<std::unique_ptr<TupleTerms>> WeighedTerms(
    const RankedLog& log, const PoemOptions& options,
    const RankLossModel* model, double clip, double lambda) {
  if (model != nullptr) {
    return Owned(CascadeTerms::Create(log, {clip}, model));
  }
  const TermFunction function =
      options.objective() == PoemOptions::LOG_SMOOTHING
          ? LogSmoothedTerm(lambda)
          : ClippedTerm(clip);
  if (options.rank_weights() == PoemOptions::ITEM_POSITION) {
    return Owned(ItemPositionTerms::Create(log, function));
  }
  return Owned(PrefixTerms::Create(log, PrefixWeights::kPrefixes, {function}));
}

absl::StatusOr<MakeGridRisk> PrepareRanks(const RankedLog& log,
                                          const PoemOptions& options) {
  RETURN_IF_ERROR(ValidateRankedLog(log));
  std::shared_ptr<const RankLossModel> model;
  if (options.objective() == PoemOptions::DOUBLY_ROBUST) {
    ASSIGN_OR_RETURN(
        model, Owned(LinearRankLossModel::Fit(log, options.loss_model_l2(),
                                              options.loss_model_folds())));
  }
  const double unit = RootMeanSquare(log, [&log](size_t i) {
    double sum = 0;
    for (size_t k = 0; k < log.ranks[i].num_shown(); ++k) {
      sum += log.loss(i, k);
    }
    return sum;
  });
  return MakeGridRisk(
      [=](double clip,
          double lambda) -> absl::StatusOr<std::unique_ptr<GridRisk>> {
        auto risk = std::make_unique<RankingRisk>();
        risk->unit = unit;
        risk->model = model;
        ASSIGN_OR_RETURN(risk->weighed,
                         WeighedTerms(log, options, model.get(), clip, lambda));
        return risk;
      });
}

absl::Status ValidateExposed(const RankingRiskData& data) {
  if (data.exposed.size() != data.log.tuples.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("exposed: there are ", data.exposed.size(), ", must be ",
                     data.log.tuples.size()));
  }
  for (size_t i = 0; i < data.exposed.size(); ++i) {
    const ExposedTuple& tuple = data.exposed[i];
    const size_t n = data.log.tuples[i].num_candidates();
    if (tuple.exposures.size() != n || tuple.gains.size() != n) {
      return absl::InvalidArgumentError(absl::StrCat(
          "exposed tuple ", i, " has ", tuple.exposures.size(),
          " exposures and ", tuple.gains.size(), " gains, must have ", n));
    }
    for (size_t d = 0; d < n; ++d) {
      if (!(tuple.exposures[d] > 0 && std::isfinite(tuple.exposures[d]))) {
        return absl::InvalidArgumentError(
            absl::StrCat("exposures of tuple ", i, " has ", tuple.exposures[d],
                         ", must be finite and positive"));
      }
      if (!std::isfinite(tuple.gains[d])) {
        return absl::InvalidArgumentError(absl::StrCat(
            "gains of tuple ", i, " has ", tuple.gains[d], ", must be finite"));
      }
    }
  }
  return absl::OkStatus();
}

// Returns one part of all exposed tuples.
std::vector<std::vector<double>> Part(std::span<const ExposedTuple> exposed,
                                      std::vector<double> ExposedTuple::*part) {
  std::vector<std::vector<double>> values;
  values.reserve(exposed.size());
  for (const ExposedTuple& tuple : exposed) values.push_back(tuple.*part);
  return values;
}

absl::StatusOr<std::unique_ptr<TupleTerms>> GainTerms(
    const ExposureProblem& problem, std::span<const ExposedTuple> exposed,
    const PoemOptions& options) {
  std::vector<std::vector<double>> gains = Part(exposed, &ExposedTuple::gains);
  if (options.sampled_orders() > 0) {
    return Owned(SampledExposureTerms::Create(
        problem, std::move(gains), options.sampled_orders(), options.seed()));
  }
  return Owned(ExposureTerms::Create(problem, std::move(gains)));
}

absl::StatusOr<MakeGridRisk> PrepareExposure(const RankingRiskData& data,
                                             const PoemOptions& options) {
  RETURN_IF_ERROR(ValidateExposed(data));
  const ExposureProblem problem{
      .family = data.log.family,
      .tuples = data.log.tuples,
      .discounts = {options.examination().begin(), options.examination().end()},
      .weights = data.log.weights};
  RETURN_IF_ERROR(ValidateExposureProblem(problem));
  const double unit = RootMeanSquare(data.log, [&data](size_t i) {
    const ExposedTuple& tuple = data.exposed[i];
    double sum = 0;  // Clicks, less their offsets.
    for (size_t d = 0; d < tuple.gains.size(); ++d) {
      sum += tuple.gains[d] * tuple.exposures[d];
    }
    return sum;
  });
  const ExposureSafety safety{
      .failure_probability = options.failure_probability(),
      .max_clicks =
          ClickMoment(problem.discounts,
                      {options.click_offsets().data(),
                       static_cast<size_t>(options.click_offsets_size())},
                      options.most_clicks() > 0
                          ? options.most_clicks()
                          : static_cast<double>(options.examination_size()))};
  return MakeGridRisk([=, exposed = data.exposed](
                          double,
                          double) -> absl::StatusOr<std::unique_ptr<GridRisk>> {
    auto risk = std::make_unique<RankingRisk>();
    risk->unit = unit;
    ASSIGN_OR_RETURN(risk->weighed, GainTerms(problem, exposed, options));
    if (!(safety.failure_probability > 0)) return risk;
    ASSIGN_OR_RETURN(risk->divergence,
                     Owned(ExposureDivergenceTerms::Create(
                         problem, Part(exposed, &ExposedTuple::exposures))));
    ASSIGN_OR_RETURN(risk->safe,
                     Owned(SafeExposureObjective::Create(
                         risk->weighed.get(), risk->divergence.get(), safety)));
    return risk;
  });
}

}  // namespace

RankingNeeds NeedsOf(const PoemOptions& options) {
  return {.ranks = options.rank_weights() != PoemOptions::ORDER,
          .marginals = options.rank_weights() == PoemOptions::ITEM_POSITION,
          .exposures = options.objective() == PoemOptions::EXPOSURE};
}

absl::StatusOr<MakeGridRisk> PrepareRankingRisk(const RankingRiskData& data,
                                                const PoemOptions& options) {
  RETURN_IF_ERROR(ValidatePoemOptions(options));
  const RankingNeeds needs = NeedsOf(options);
  if (needs.exposures) return PrepareExposure(data, options);
  if (needs.ranks) return PrepareRanks(data.log, options);
  return MakeGridRisk();
}

absl::StatusOr<ValidationRisk> PrepareRankingValidation(
    const RankedLog& log, const PoemOptions& options) {
  if (!NeedsOf(options).ranks) return ValidationRisk();
  PoemOptions plain = options;
  plain.set_objective(PoemOptions::CLIPPED_IPS);
  ValidationRisk risk;
  ASSIGN_OR_RETURN(risk.make, PrepareRanks(log, plain));
  for (size_t i = 0; i < log.tuples.size(); ++i) {
    double sum = 0;
    for (size_t k = 0; k < log.ranks[i].num_shown(); ++k) sum += log.loss(i, k);
    risk.logged_terms.push_back(sum);
  }
  return risk;
}

}  // namespace sortition
