#include "core/learners/rankings/exposure_terms.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

// Checks that there is a value for each candidate of each tuple, and that
// `permits` says yes to each.
template <typename Permits>
absl::Status ValidateRows(const ExposureProblem& problem,
                          absl::string_view field,
                          const std::vector<std::vector<double>>& rows,
                          absl::string_view permitted, const Permits& permits) {
  if (rows.size() != problem.tuples.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, ": there are those of ", rows.size(),
                     " tuples, must be those of ", problem.tuples.size()));
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    const size_t n = problem.tuples[i].num_candidates();
    if (rows[i].size() != n) {
      return absl::InvalidArgumentError(
          absl::StrCat(field, " of tuple ", i, " has ", rows[i].size(),
                       " entries, must have ", n));
    }
    for (const double value : rows[i]) {
      if (permits(value)) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          field, " of tuple ", i, " has ", value, ", must be ", permitted));
    }
  }
  return absl::OkStatus();
}

bool AreEqual(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(),
                     [&](double value) { return value == values[0]; });
}

}  // namespace

absl::StatusOr<ExposureTerms> ExposureTerms::Create(
    const ExposureProblem& problem, std::vector<std::vector<double>> gains) {
  ASSIGN_OR_RETURN(Exposures exposures, Exposures::Create(problem));
  RETURN_IF_ERROR(
      ValidateRows(problem, "gains", gains, "finite",
                   [](double value) { return std::isfinite(value); }));
  return ExposureTerms(std::move(exposures), std::move(gains));
}

void ExposureTerms::Values(const Eigen::VectorXd& parameters,
                           std::span<const uint32_t> tuples,
                           std::span<double> values) {
  DCHECK(tuples.size() == values.size());
  active_.clear();
  places_.clear();
  for (size_t k = 0; k < tuples.size(); ++k) {
    const std::vector<double>& gains = gains_[tuples[k]];
    values[k] = 0 - gains[0] * exposures_.Total(gains.size());
    if (AreEqual(gains)) continue;
    active_.push_back(tuples[k]);
    places_.push_back(static_cast<uint32_t>(k));
  }
  exposures_.Compute(parameters, active_);
  for (size_t a = 0; a < active_.size(); ++a) {
    const std::vector<double>& gains = gains_[active_[a]];
    const std::span<const double> exposures = exposures_.exposures(a);
    for (size_t d = 1; d < gains.size(); ++d) {
      values[places_[a]] -= (gains[d] - gains[0]) * exposures[d];
    }
  }
}

void ExposureTerms::AddGradient(std::span<const double> factors,
                                Eigen::VectorXd* gradient) {
  for (size_t a = 0; a < active_.size(); ++a) {
    const double factor = factors[places_[a]];
    if (factor == 0) continue;
    row_factors_ = gains_[active_[a]];
    for (double& value : row_factors_) value *= -factor;
    exposures_.AddGradient(a, row_factors_, gradient);
  }
}

absl::StatusOr<ExposureDivergenceTerms> ExposureDivergenceTerms::Create(
    const ExposureProblem& problem, std::vector<std::vector<double>> logged) {
  ASSIGN_OR_RETURN(Exposures exposures, Exposures::Create(problem));
  RETURN_IF_ERROR(ValidateRows(
      problem, "logged exposures", logged, "finite and positive",
      [](double value) { return value > 0 && std::isfinite(value); }));
  return ExposureDivergenceTerms(std::move(exposures), std::move(logged));
}

void ExposureDivergenceTerms::Values(const Eigen::VectorXd& parameters,
                                     std::span<const uint32_t> tuples,
                                     std::span<double> values) {
  DCHECK(tuples.size() == values.size());
  block_.assign(tuples.begin(), tuples.end());
  exposures_.Compute(parameters, block_);
  for (size_t k = 0; k < block_.size(); ++k) {
    const std::span<const double> exposures = exposures_.exposures(k);
    const std::vector<double>& logged = logged_[block_[k]];
    values[k] = 0;
    for (size_t d = 0; d < logged.size(); ++d) {
      values[k] += exposures[d] * exposures[d] / logged[d];
    }
  }
}

void ExposureDivergenceTerms::AddGradient(std::span<const double> factors,
                                          Eigen::VectorXd* gradient) {
  for (size_t k = 0; k < block_.size(); ++k) {
    if (factors[k] == 0) continue;
    const std::span<const double> exposures = exposures_.exposures(k);
    const std::vector<double>& logged = logged_[block_[k]];
    row_factors_.resize(logged.size());
    for (size_t d = 0; d < logged.size(); ++d) {
      row_factors_[d] = 2 * factors[k] * exposures[d] / logged[d];
    }
    exposures_.AddGradient(k, row_factors_, gradient);
  }
}

}  // namespace sortition
