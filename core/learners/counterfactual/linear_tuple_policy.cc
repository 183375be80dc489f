#include "core/learners/counterfactual/linear_tuple_policy.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/policies/distribution_factory.h"

namespace sortition {
namespace {

bool IsSubset(const LinearFamily& family) {
  return family.action_kind == ActionKind::kSubset;
}

// Returns the policy without the mixture with Plackett-Luce, serialised for
// comparison. Equal policies give equal bytes, since one program writes both.
std::string LawOf(model::v1::BoltzmannRanking boltzmann) {
  boltzmann.clear_plackett_luce_mixture();
  return boltzmann.SerializeAsString();
}

// Returns whether the factors are the same at every rank. Beyond the last one
// it repeats.
bool AreSameFactors(std::span<const double> a, std::span<const double> b) {
  const auto factor = [](std::span<const double> factors, size_t r) {
    return factors.empty() ? 1 : factors[std::min(r, factors.size() - 1)];
  };
  for (size_t r = 0; r < std::max({a.size(), b.size(), size_t{1}}); ++r) {
    if (factor(a, r) != factor(b, r)) return false;
  }
  return true;
}

bool IsOfLaw(const LinearFamily& family, const model::v1::Policy& policy) {
  if (policy.has_plackett_luce()) {
    const auto& factors = policy.plackett_luce().rank_factors();
    return !family.boltzmann &&
           AreSameFactors(
               family.rank_factors,
               {factors.data(), static_cast<size_t>(factors.size())});
  }
  if (family.boltzmann.has_value() != policy.has_boltzmann_ranking()) {
    return false;
  }
  return !family.boltzmann ||
         LawOf(*family.boltzmann) == LawOf(policy.boltzmann_ranking());
}

absl::Status ValidateSize(const LinearFamily& family, const BanditTuple& tuple,
                          size_t i) {
  const size_t rows = tuple.num_candidates();
  const size_t size = tuple.action.size();
  const bool select = family.action_kind == ActionKind::kSelect;
  const bool any_size = IsSubset(family) && family.subset_size == 0;
  if ((size == 0 && !any_size) || size > rows || (select && size != 1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "action of tuple ", i, " has ", size, " entries, must have ",
        select ? 1 : rows, " at most and ", any_size ? 0 : 1, " at least"));
  }
  if (IsSubset(family) && !any_size &&
      !SizedSubset::IsWithinLimit(rows, size)) {
    return absl::InvalidArgumentError(
        absl::StrCat("action of tuple ", i, " has ", size, " entries of ", rows,
                     ", the product must be at most ", SizedSubset::kMaxCells));
  }
  return absl::OkStatus();
}

absl::Status ValidateTuple(const LinearFamily& family, const BanditTuple& tuple,
                           size_t i) {
  if (tuple.num_features != family.num_features) {
    return absl::InvalidArgumentError(
        absl::StrCat("tuple ", i, " has ", tuple.num_features,
                     " features, must have ", family.num_features));
  }
  RETURN_IF_ERROR(ValidateSize(family, tuple, i));
  const size_t rows = tuple.num_candidates();
  const bool select = family.action_kind == ActionKind::kSelect;
  if (IsSubset(family) &&
      !std::is_sorted(tuple.action.begin(), tuple.action.end())) {
    return absl::InvalidArgumentError(
        absl::StrCat("action of tuple ", i, " is not ascending"));
  }
  std::vector<bool> taken(rows);
  for (const int32_t row : tuple.action) {
    if (select && row == kAbstain && family.can_abstain) continue;
    if (row < 0 || static_cast<size_t>(row) >= rows || taken[row]) {
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
  if (family.boltzmann) {
    *policy.mutable_boltzmann_ranking() = *family.boltzmann;
  } else if (family.action_kind == ActionKind::kRank) {
    policy.mutable_plackett_luce()->mutable_rank_factors()->Assign(
        family.rank_factors.begin(), family.rank_factors.end());
  } else if (IsSubset(family)) {
    auto* subset = policy.mutable_independent_subset();
    subset->set_k(family.subset_size);
    if (family.has_constant()) {
      subset->set_threshold(parameters[family.num_features]);
    }
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
  if (!policy.has_softmax_selection() && !policy.has_plackett_luce() &&
      !policy.has_independent_subset() && !policy.has_boltzmann_ranking()) {
    return std::nullopt;
  }
  if (ActionKindOf(policy) != family.action_kind || !IsOfLaw(family, policy) ||
      static_cast<uint32_t>(model.weights_size()) != family.num_features ||
      policy.softmax_selection().has_abstain_score() != family.can_abstain ||
      (policy.independent_subset().k() > 0) != (family.subset_size > 0)) {
    return std::nullopt;
  }
  Eigen::VectorXd parameters(family.dimension());
  for (uint32_t j = 0; j < family.num_features; ++j) {
    parameters[j] = model.weights(static_cast<int>(j));
  }
  if (family.has_constant()) {
    parameters[family.num_features] =
        family.can_abstain ? policy.softmax_selection().abstain_score()
                           : policy.independent_subset().threshold();
  }
  return policy.inverse_temperature() * parameters;
}

absl::StatusOr<LinearTuplePolicy> LinearTuplePolicy::Create(
    const LinearFamily& family, std::span<const BanditTuple> tuples,
    HiddenActions hidden, std::span<const double> weights) {
  CHECK(weights.empty() || weights.size() == tuples.size());
  if (family.can_abstain && family.action_kind != ActionKind::kSelect) {
    return absl::InvalidArgumentError(
        "can_abstain is true, must be false for rankings and subsets");
  }
  if (family.boltzmann && family.action_kind != ActionKind::kRank) {
    return absl::InvalidArgumentError(
        "boltzmann is set, must be unset but for rankings");
  }
  if (!family.rank_factors.empty() &&
      (family.boltzmann || family.action_kind != ActionKind::kRank)) {
    return absl::InvalidArgumentError(
        "rank_factors are set, must be unset but for Plackett-Luce rankings");
  }
  ASSIGN_OR_RETURN(auto distribution,
                   MakeActionDistribution(PolicyAt(
                       family, Eigen::VectorXd::Zero(family.dimension()))));
  CHECK(distribution->has_gradient());
  for (size_t i = 0; i < tuples.size(); ++i) {
    RETURN_IF_ERROR(ValidateTuple(family, tuples[i], i));
  }
  return LinearTuplePolicy(family, tuples, hidden, weights,
                           std::move(distribution));
}

ScoredCandidates LinearTuplePolicy::Scored(size_t i,
                                           std::span<const double> scores) {
  ScoredCandidates scored;
  scored.scores = scores;
  if (family_.can_abstain) scored.abstain_score = constant_;
  if (IsSubset(family_)) scored.threshold = constant_;
  scored.top_k = IsSubset(family_) && family_.subset_size == 0
                     ? 0
                     : static_cast<uint32_t>(tuples_[i].action.size());
  scored.scratch = &scratch_;
  return scored;
}

void LinearTuplePolicy::ScoreRows(const Candidates& candidates,
                                  const Eigen::VectorXd& parameters,
                                  std::span<double> scores) {
  while (indexes_.size() < scores.size()) {
    indexes_.push_back(static_cast<uint32_t>(indexes_.size()));
  }
  candidates.Scores(std::span(indexes_).first(scores.size()),
                    {parameters.data(), family_.num_features}, scores);
}

void LinearTuplePolicy::AddRows(const Candidates& candidates,
                                std::span<const double> factors,
                                Eigen::VectorXd* gradient) {
  const std::span<double> weights(gradient->data(), family_.num_features);
  for (uint32_t row = 0; row < factors.size(); ++row) {
    candidates.AddRow(row, factors[row], weights);
  }
}

void LinearTuplePolicy::LogProbabilities(const Eigen::VectorXd& parameters,
                                         std::span<const uint32_t> tuples,
                                         std::span<double> log_probabilities) {
  DCHECK(parameters.size() == dimension());
  DCHECK(tuples.size() == log_probabilities.size());
  if (family_.has_constant()) constant_ = parameters[family_.num_features];
  block_.assign(tuples.begin(), tuples.end());
  features_.Assign(tuples_, block_);
  scores_.clear();
  for (size_t k = 0; k < tuples.size(); ++k) {
    const BanditTuple& tuple = tuples_[tuples[k]];
    const Candidates& candidates = features_[k];
    const uint32_t rows = candidates.num_candidates();
    const size_t first = scores_.size();
    scores_.resize(first + rows);
    ScoreRows(candidates, parameters, std::span(scores_).subspan(first));
    log_probabilities[k] =
        IsPossible(tuple)
            ? distribution_->LogPropensity(
                  Scored(tuples[k], std::span(scores_).subspan(first)),
                  tuple.action)
            : -HUGE_VAL;
  }
}

void LinearTuplePolicy::AddGradient(std::span<const double> factors,
                                    Eigen::VectorXd* gradient) {
  DCHECK(factors.size() == block_.size());
  DCHECK(gradient->size() == dimension());
  size_t first = 0;
  for (size_t k = 0; k < block_.size(); ++k) {
    const BanditTuple& tuple = tuples_[block_[k]];
    const Candidates& candidates = features_[k];
    const uint32_t rows = candidates.num_candidates();
    const std::span<const double> scores =
        std::span<const double>(scores_).subspan(first, rows);
    first += rows;
    if (factors[k] == 0 || !IsPossible(tuple)) continue;
    score_gradient_.resize(rows);
    double constant_gradient = 0;
    distribution_->LogPropensityGradient(Scored(block_[k], scores),
                                         tuple.action, score_gradient_,
                                         &constant_gradient);
    for (double& derivative : score_gradient_) derivative *= factors[k];
    AddRows(candidates, score_gradient_, gradient);
    if (family_.has_constant()) {
      (*gradient)[family_.num_features] += factors[k] * constant_gradient;
    }
  }
}

}  // namespace sortition
