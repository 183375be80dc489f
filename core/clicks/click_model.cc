#include "core/clicks/click_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/clicks/click_walk.h"

namespace sortition {
namespace {

constexpr std::array kKinds = {
    ClickModelKind::kPositionBased, ClickModelKind::kTrustBias,
    ClickModelKind::kCascade, ClickModelKind::kDependentClick,
    ClickModelKind::kBayesianNetwork};

double At(const std::vector<double>& values, size_t rank) {
  return values[std::min(rank, values.size() - 1)];
}

absl::Status CheckProbabilities(absl::string_view field,
                                std::span<const double> values) {
  if (values.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, " is empty, must have at least one rank"));
  }
  for (size_t r = 0; r < values.size(); ++r) {
    if (values[r] >= 0 && values[r] <= 1) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(field, "[", r, "] is ", values[r], ", must be in [0, 1]"));
  }
  return absl::OkStatus();
}

// Rounding may leave a sum of two probabilities above a third one.
constexpr double kRounding = 1e-12;

absl::Status CheckTrustBias(const ClickModel& model) {
  if (model.slopes.empty()) {
    return absl::InvalidArgumentError(
        "slopes is empty, must have at least one rank");
  }
  RETURN_IF_ERROR(CheckProbabilities("offsets", model.offsets));
  if (!model.examination.empty()) {
    RETURN_IF_ERROR(CheckProbabilities("examination", model.examination));
  }
  const size_t ranks = std::max(
      {model.slopes.size(), model.offsets.size(), model.examination.size()});
  for (size_t r = 0; r < ranks; ++r) {
    const double attracted = model.Slope(r) + model.Offset(r);
    if (!(attracted >= -kRounding && attracted <= 1 + kRounding)) {
      return absl::InvalidArgumentError(
          absl::StrCat("slopes + offsets at rank ", r, " is ", attracted,
                       ", must be in [0, 1]"));
    }
    const double most = std::max(attracted, model.Offset(r));
    if (!model.examination.empty() &&
        !(model.Examination(r) >= most - kRounding)) {
      return absl::InvalidArgumentError(
          absl::StrCat("examination at rank ", r, " is ", model.Examination(r),
                       ", must be at least ", most,
                       ", the largest probability of a click there"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::string_view ClickModelName(ClickModelKind kind) {
  switch (kind) {
    case ClickModelKind::kPositionBased:
      return "position_based";
    case ClickModelKind::kTrustBias:
      return "trust_bias";
    case ClickModelKind::kCascade:
      return "cascade";
    case ClickModelKind::kDependentClick:
      return "dependent_click";
    case ClickModelKind::kBayesianNetwork:
      return "bayesian_network";
  }
  CHECK(false);
}

absl::StatusOr<ClickModelKind> ParseClickModelKind(absl::string_view name) {
  std::string names;
  for (const ClickModelKind kind : kKinds) {
    if (ClickModelName(kind) == name) return kind;
    absl::StrAppend(&names, names.empty() ? "" : ", ", ClickModelName(kind));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("click model is \"", name, "\", must be one of ", names));
}

std::span<const ClickModelKind> AllClickModelKinds() { return kKinds; }

double ClickModel::Examination(size_t rank) const {
  return examination.empty()
             ? std::max(Slope(rank) + Offset(rank), Offset(rank))
             : At(examination, rank);
}
double ClickModel::Slope(size_t rank) const { return At(slopes, rank); }
double ClickModel::Offset(size_t rank) const { return At(offsets, rank); }
double ClickModel::Continuation(size_t rank) const {
  return At(continuations, rank);
}

absl::Status CheckClickModel(const ClickModel& model) {
  switch (model.kind) {
    case ClickModelKind::kPositionBased:
      return CheckProbabilities("examination", model.examination);
    case ClickModelKind::kTrustBias:
      return CheckTrustBias(model);
    case ClickModelKind::kCascade:
      return absl::OkStatus();
    case ClickModelKind::kDependentClick:
      return CheckProbabilities("continuations", model.continuations);
    case ClickModelKind::kBayesianNetwork:
      if (model.perseverance >= 0 && model.perseverance <= 1) {
        return absl::OkStatus();
      }
      return absl::InvalidArgumentError(absl::StrCat(
          "perseverance is ", model.perseverance, ", must be in [0, 1]"));
  }
  CHECK(false);
}

void MarginalClickProbabilities(const ClickModel& model, const ShownList& list,
                                std::span<double> clicks,
                                std::span<double> examinations) {
  const ClickSteps steps(model, list);
  double examined = 1;
  for (size_t r = 0; r < list.attractions.size(); ++r) {
    if (!steps.reads_on()) {
      examinations[r] = model.Examination(r);
      clicks[r] = steps.Independent(r);
      continue;
    }
    const double attraction = list.attractions[r];
    examinations[r] = examined;
    clicks[r] = examined * attraction;
    examined *=
        attraction * steps.AfterClick(r) + (1 - attraction) * steps.AfterSkip();
  }
}

void ConditionalClickProbabilities(const ClickModel& model,
                                   const ShownList& list,
                                   std::span<const uint8_t> clicks,
                                   std::span<double> probabilities) {
  ClickWalk walk(model, list);
  for (size_t r = 0; r < clicks.size(); ++r) {
    probabilities[r] = walk.ClickProbability();
    walk.Advance(clicks[r] != 0);
  }
}

double ClickLogLikelihood(const ClickModel& model, const ShownList& list,
                          std::span<const uint8_t> clicks) {
  ClickWalk walk(model, list);
  double sum = 0;
  for (const uint8_t click : clicks) {
    const double probability = walk.ClickProbability();
    const double outcome = click != 0 ? probability : 1 - probability;
    if (!(outcome > 0)) return -std::numeric_limits<double>::infinity();
    sum += std::log(outcome);
    walk.Advance(click != 0);
  }
  return sum;
}

void SimulateClicks(const ClickModel& model, const ShownList& list,
                    const CounterRandom& random, std::span<uint8_t> clicks) {
  ClickWalk walk(model, list);
  for (size_t r = 0; r < clicks.size(); ++r) {
    clicks[r] =
        random.Uniform(static_cast<uint32_t>(r)) < walk.ClickProbability() ? 1
                                                                           : 0;
    walk.Advance(clicks[r] != 0);
  }
}

void SatisfactionProbabilities(const ClickModel& model, const ShownList& list,
                               std::span<double> probabilities) {
  CHECK(model.kind == ClickModelKind::kBayesianNetwork);
  std::vector<double> examined(list.attractions.size());
  MarginalClickProbabilities(model, list, probabilities, examined);
  for (size_t r = 0; r < probabilities.size(); ++r) {
    probabilities[r] *= list.satisfactions[r];
  }
}

double ExpectedReciprocalRank(const ClickModel& model, const ShownList& list) {
  std::vector<double> satisfied(list.attractions.size());
  SatisfactionProbabilities(model, list, satisfied);
  double sum = 0;
  for (size_t r = 0; r < satisfied.size(); ++r) {
    sum += satisfied[r] / static_cast<double>(r + 1);
  }
  return sum;
}

}  // namespace sortition
