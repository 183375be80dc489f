#include "core/learners/rankings/item_position_terms.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"

namespace sortition {

absl::StatusOr<ItemPositionTerms> ItemPositionTerms::Create(
    const RankedLog& log, TermFunction function, double tolerance) {
  RETURN_IF_ERROR(ValidateRankedLog(log));
  if (!(tolerance >= 1e-14 && tolerance <= 1e-3)) {
    return absl::InvalidArgumentError(
        absl::StrCat("tolerance is ", tolerance, ", must be in [1e-14, 1e-3]"));
  }
  for (size_t i = 0; i < log.tuples.size(); ++i) {
    if (log.lossy_ranks(i) > 0 && log.ranks[i].log_marginals.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("log_marginals of tuple ", i,
                       " has 0 entries, must have ", log.ranks[i].num_shown()));
    }
  }
  return ItemPositionTerms(log, std::move(function), tolerance);
}

void ItemPositionTerms::Values(const Eigen::VectorXd& parameters,
                               std::span<const uint32_t> tuples,
                               std::span<double> values) {
  DCHECK(tuples.size() == values.size());
  active_.clear();
  places_.clear();
  for (size_t k = 0; k < tuples.size(); ++k) {
    if (log_.lossy_ranks(tuples[k]) == 0) continue;
    active_.push_back(tuples[k]);
    places_.push_back(static_cast<uint32_t>(k));
  }
  rows_.Assign(parameters, active_);
  deltas_.clear();
  terms_.clear();
  probabilities_.clear();
  for (size_t a = 0; a < active_.size(); ++a) {
    const uint32_t i = active_[a];
    const size_t n = rows_.scores(a).size();
    const size_t ranks = log_.lossy_ranks(i);
    ranks_by_candidates_.resize(ranks * n);
    marginals_.Compute(rows_.scores(a), ranks, ranks_by_candidates_);
    MixMarginals(log_.family.uniform_mixture, n, ranks_by_candidates_);
    for (size_t k = 0; k < ranks; ++k) {
      if (log_.loss(i, k) == 0) continue;
      const double m = ranks_by_candidates_[k * n + log_.tuples[i].action[k]];
      deltas_.push_back(log_.loss(i, k));
      terms_.push_back(std::log(m) - log_.ranks[i].log_marginals[k]);
      probabilities_.push_back(m);
    }
  }
  slopes_.resize(terms_.size());
  function_(deltas_, terms_, slopes_);
  std::fill(values.begin(), values.end(), 0);
  size_t entry = 0;
  for (size_t a = 0; a < active_.size(); ++a) {
    for (size_t k = 0; k < log_.lossy_ranks(active_[a]); ++k) {
      if (log_.loss(active_[a], k) != 0) values[places_[a]] += terms_[entry++];
    }
  }
}

void ItemPositionTerms::AddGradient(std::span<const double> factors,
                                    Eigen::VectorXd* gradient) {
  size_t entry = 0;
  for (size_t a = 0; a < active_.size(); ++a) {
    const uint32_t i = active_[a];
    const size_t n = rows_.scores(a).size();
    const size_t ranks = log_.lossy_ranks(i);
    ranks_by_candidates_.assign(ranks * n, 0);
    const double scale =
        factors[places_[a]] * (1 - log_.family.uniform_mixture);
    bool has_any = false;
    for (size_t k = 0; k < ranks; ++k) {
      if (log_.loss(i, k) == 0) continue;
      const double slope = slopes_[entry];
      const double probability = probabilities_[entry++];
      if (slope == 0 || scale == 0) continue;
      has_any = true;
      ranks_by_candidates_[k * n + log_.tuples[i].action[k]] =
          scale * slope / probability;
    }
    if (!has_any) continue;
    score_gradient_.resize(n);
    marginals_.Differentiate(rows_.scores(a), ranks_by_candidates_,
                             score_gradient_);
    rows_.AddRows(a, score_gradient_, gradient);
  }
}

}  // namespace sortition
