#include "core/counterfactual/tuple_terms.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/counterfactual/penalised_mean.h"

namespace sortition {
namespace {

// Calls `visit` with the tuples of each block and its first index.
template <typename Visit>
void ForEachBlock(size_t n, size_t block_size, const Visit& visit) {
  std::vector<uint32_t> block;
  for (size_t begin = 0; begin < n; begin += block.size()) {
    block.resize(std::min(block_size, n - begin));
    std::iota(block.begin(), block.end(), static_cast<uint32_t>(begin));
    visit(std::span<const uint32_t>(block), begin);
  }
}

std::vector<double> ValuesByBlock(const Eigen::VectorXd& parameters,
                                  size_t block_size, TupleTerms* terms) {
  std::vector<double> values(terms->num_tuples());
  ForEachBlock(values.size(), block_size,
               [&](std::span<const uint32_t> tuples, size_t begin) {
                 terms->Values(parameters, tuples,
                               std::span(values).subspan(begin, tuples.size()));
               });
  return values;
}

}  // namespace

std::vector<double> AllValues(const Eigen::VectorXd& parameters,
                              TupleTerms* terms) {
  return ValuesByBlock(parameters, terms->value_block_size(), terms);
}

Moments MomentsOf(const TupleTerms& terms, std::span<const double> values) {
  Moments moments;
  if (terms.weights().empty()) {
    moments.Add(values);
  } else {
    moments.Add(values, terms.weights());
  }
  return moments;
}

std::vector<double> WeightsOf(const TuplePolicy& policy) {
  std::vector<double> weights(policy.num_tuples());
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = policy.weight(i);
  if (std::all_of(weights.begin(), weights.end(),
                  [](double weight) { return weight == 1; })) {
    weights.clear();
  }
  return weights;
}

absl::StatusOr<TermObjective> TermObjective::Create(TupleTerms* terms,
                                                    double lambda, double l2) {
  if (terms->num_tuples() < 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "tuples: there are ", terms->num_tuples(), ", must be at least 2"));
  }
  // Written so that NaN fails too.
  if (!(lambda >= 0 && std::isfinite(lambda))) {
    return absl::InvalidArgumentError(
        absl::StrCat("lambda is ", lambda, ", must be finite and at least 0"));
  }
  if (!(l2 >= 0 && std::isfinite(l2))) {
    return absl::InvalidArgumentError(
        absl::StrCat("l2 is ", l2, ", must be finite and at least 0"));
  }
  return TermObjective(terms, lambda, l2);
}

double TermObjective::Evaluate(const Eigen::VectorXd& point,
                               Eigen::VectorXd* gradient) const {
  DCHECK(point.size() == dimension());
  // AddGradient() then needs no second pass.
  const bool is_remembered =
      gradient != nullptr && terms_->num_tuples() <= terms_->block_size();
  const std::vector<double> values =
      is_remembered ? ValuesByBlock(point, terms_->block_size(), terms_)
                    : AllValues(point, terms_);
  const PenalisedMean risk(MomentsOf(*terms_, values), lambda_);
  const double objective = risk.value() + l2_ * point.squaredNorm();
  if (gradient == nullptr) return objective;
  *gradient = 2 * l2_ * point;
  std::vector<double> factors;
  const std::span<const double> weights = terms_->weights();
  const auto add_block = [&](std::span<const uint32_t> tuples, size_t begin) {
    factors.resize(tuples.size());
    if (!is_remembered) terms_->Values(point, tuples, factors);
    for (size_t k = 0; k < tuples.size(); ++k) {
      factors[k] = risk.Slope(values[begin + k]);
      if (!weights.empty()) factors[k] *= weights[begin + k];
    }
    terms_->AddGradient(factors, gradient);
  };
  ForEachBlock(values.size(), terms_->block_size(), add_block);
  return objective;
}

}  // namespace sortition
