#include "core/learners/linear_tuple_policy.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

absl::Status ValidateTuple(const LinearFamily& family, const BanditTuple& tuple,
                           size_t i) {
  if (tuple.num_features != family.num_features) {
    return absl::InvalidArgumentError(
        absl::StrCat("tuple ", i, " has ", tuple.num_features,
                     " features, must have ", family.num_features));
  }
  const uint32_t rows = tuple.candidates().num_candidates();
  const bool select = family.action_kind == ActionKind::kSelect;
  if (tuple.action.empty() || tuple.action.size() > rows ||
      (select && tuple.action.size() != 1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "action of tuple ", i, " has ", tuple.action.size(),
        " entries, must have ", select ? 1 : rows, " at most and 1 at least"));
  }
  std::vector<bool> taken(rows);
  for (const int32_t row : tuple.action) {
    if (select && row == kAbstain && family.can_abstain) continue;
    if (row < 0 || static_cast<uint32_t>(row) >= rows || taken[row]) {
      return absl::InvalidArgumentError(
          absl::StrCat("action of tuple ", i, " names candidate ", row,
                       ", must be in [0, ", rows, ") and named once"));
    }
    taken[row] = true;
  }
  return absl::OkStatus();
}

}  // namespace

model::v1::Policy PolicyAt(const LinearFamily& family,
                           const Eigen::VectorXd& parameters) {
  DCHECK(parameters.size() == family.dimension());
  model::v1::Policy policy;
  policy.set_inverse_temperature(1);
  policy.set_uniform_mixture(family.uniform_mixture);
  if (family.action_kind == ActionKind::kRank) {
    policy.mutable_plackett_luce();
  } else {
    auto* selection = policy.mutable_softmax_selection();
    if (family.can_abstain) {
      selection->set_abstain_score(parameters[family.num_features]);
    }
  }
  return policy;
}

std::vector<double> WeightsAt(const LinearFamily& family,
                              const Eigen::VectorXd& parameters) {
  return {parameters.data(), parameters.data() + family.num_features};
}

std::optional<Eigen::VectorXd> ParametersOf(const LinearFamily& family,
                                            const model::v1::Model& model) {
  const model::v1::Policy& policy = model.policy();
  const bool select = policy.has_softmax_selection();
  if (!select && !policy.has_plackett_luce()) return std::nullopt;
  if (select != (family.action_kind == ActionKind::kSelect) ||
      model.num_features() != family.num_features ||
      policy.softmax_selection().has_abstain_score() != family.can_abstain) {
    return std::nullopt;
  }
  Eigen::VectorXd parameters(family.dimension());
  for (uint32_t j = 0; j < family.num_features; ++j) {
    parameters[j] = model.weights(static_cast<int>(j));
  }
  if (family.can_abstain) {
    parameters[family.num_features] =
        policy.softmax_selection().abstain_score();
  }
  return policy.inverse_temperature() * parameters;
}

absl::StatusOr<LinearTuplePolicy> LinearTuplePolicy::Create(
    const LinearFamily& family, std::span<const BanditTuple> tuples) {
  if (family.can_abstain && family.action_kind != ActionKind::kSelect) {
    return absl::InvalidArgumentError(
        "can_abstain is true, must be false for rankings");
  }
  ASSIGN_OR_RETURN(auto distribution,
                   MakeActionDistribution(PolicyAt(
                       family, Eigen::VectorXd::Zero(family.dimension()))));
  for (size_t i = 0; i < tuples.size(); ++i) {
    RETURN_IF_ERROR(ValidateTuple(family, tuples[i], i));
  }
  return LinearTuplePolicy(family, tuples, std::move(distribution));
}

ScoredCandidates LinearTuplePolicy::Score(const Eigen::VectorXd& parameters,
                                          size_t i) {
  DCHECK(parameters.size() == dimension());
  const BanditTuple& tuple = tuples_[i];
  const Candidates candidates = tuple.candidates();
  const std::span<const double> weights(parameters.data(),
                                        family_.num_features);
  scores_.resize(candidates.num_candidates());
  for (uint32_t row = 0; row < candidates.num_candidates(); ++row) {
    scores_[row] = candidates.Score(row, weights);
  }
  ScoredCandidates scored;
  scored.scores = scores_;
  if (family_.can_abstain) {
    scored.abstain_score = parameters[family_.num_features];
  }
  scored.top_k = static_cast<uint32_t>(tuple.action.size());
  return scored;
}

double LinearTuplePolicy::LogProbability(const Eigen::VectorXd& parameters,
                                         size_t i) {
  return distribution_->LogPropensity(Score(parameters, i), tuples_[i].action);
}

double LinearTuplePolicy::LogWeight(const Eigen::VectorXd& parameters,
                                    size_t i) {
  if (!tuples_[i].action_shown) return -HUGE_VAL;
  return LogProbability(parameters, i) - log_propensity(i);
}

double LinearTuplePolicy::AddLogProbabilityGradient(
    const Eigen::VectorXd& parameters, size_t i,
    absl::FunctionRef<double(double)> scale, Eigen::VectorXd* gradient) {
  DCHECK(gradient->size() == dimension());
  const ScoredCandidates scored = Score(parameters, i);
  score_gradient_.resize(scores_.size());
  double abstain_gradient = 0;
  const double log_probability = distribution_->LogPropensityGradient(
      scored, tuples_[i].action, score_gradient_, &abstain_gradient);
  const double factor = scale(log_probability);
  if (factor == 0) return log_probability;
  const Candidates candidates = tuples_[i].candidates();
  const std::span<double> weights_gradient(gradient->data(),
                                           family_.num_features);
  for (uint32_t row = 0; row < candidates.num_candidates(); ++row) {
    candidates.AddRow(row, factor * score_gradient_[row], weights_gradient);
  }
  if (family_.can_abstain) {
    (*gradient)[family_.num_features] += factor * abstain_gradient;
  }
  return log_probability;
}

}  // namespace sortition
