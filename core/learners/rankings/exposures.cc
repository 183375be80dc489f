#include "core/learners/rankings/exposures.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"

namespace sortition {

absl::Status ValidateExposureProblem(const ExposureProblem& problem) {
  if (problem.family.action_kind != ActionKind::kRank ||
      problem.family.boltzmann || !problem.family.rank_factors.empty()) {
    return absl::InvalidArgumentError(
        "family is not Plackett-Luce without rank_factors, must be: others "
        "have no exact marginals");
  }
  if (problem.discounts.empty()) {
    return absl::InvalidArgumentError(
        "discounts: there are 0, must be at least 1");
  }
  for (const double discount : problem.discounts) {
    if (!(discount >= 0 && std::isfinite(discount))) {
      return absl::InvalidArgumentError(absl::StrCat(
          "discounts has ", discount, ", must be finite and at least 0"));
    }
  }
  if (!(problem.tolerance >= 1e-14 && problem.tolerance <= 1e-3)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "tolerance is ", problem.tolerance, ", must be in [1e-14, 1e-3]"));
  }
  if (!problem.weights.empty() &&
      problem.weights.size() != problem.tuples.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("weights: there are ", problem.weights.size(),
                     ", must be ", problem.tuples.size(), " or none"));
  }
  // Checks the mixture and the tuples.
  return LinearTuplePolicy::Create(problem.family, problem.tuples).status();
}

absl::StatusOr<Exposures> Exposures::Create(const ExposureProblem& problem) {
  RETURN_IF_ERROR(ValidateExposureProblem(problem));
  return Exposures(problem);
}

double Exposures::Total(size_t n) const {
  const auto begin = problem_.discounts.begin();
  return std::accumulate(
      begin,
      begin + static_cast<ptrdiff_t>(std::min(n, problem_.discounts.size())),
      0.0);
}

void Exposures::Compute(const Eigen::VectorXd& parameters,
                        std::span<const uint32_t> tuples) {
  rows_.Assign(parameters, tuples);
  exposures_.assign(rows_.scores().size(), 0);
  for (size_t k = 0; k < tuples.size(); ++k) {
    const size_t n = rows_.scores(k).size();
    const size_t ranks = std::min(n, problem_.discounts.size());
    ranks_by_candidates_.resize(ranks * n);
    marginals_.Compute(rows_.scores(k), ranks, ranks_by_candidates_);
    MixMarginals(problem_.family.uniform_mixture, n, ranks_by_candidates_);
    double* const exposures = exposures_.data() + rows_.begin(k);
    for (size_t r = 0; r < ranks; ++r) {
      for (size_t d = 0; d < n; ++d) {
        exposures[d] += problem_.discounts[r] * ranks_by_candidates_[r * n + d];
      }
    }
  }
}

void Exposures::AddGradient(size_t k, std::span<const double> factors,
                            Eigen::VectorXd* gradient) {
  const size_t n = rows_.scores(k).size();
  DCHECK(factors.size() == n);
  const size_t ranks = std::min(n, problem_.discounts.size());
  ranks_by_candidates_.resize(ranks * n);
  for (size_t r = 0; r < ranks; ++r) {
    const double scale =
        (1 - problem_.family.uniform_mixture) * problem_.discounts[r];
    for (size_t d = 0; d < n; ++d) {
      ranks_by_candidates_[r * n + d] = scale * factors[d];
    }
  }
  score_gradient_.resize(n);
  marginals_.Differentiate(rows_.scores(k), ranks_by_candidates_,
                           score_gradient_);
  rows_.AddRows(k, score_gradient_, gradient);
}

}  // namespace sortition
