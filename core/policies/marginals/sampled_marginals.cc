#include "core/policies/marginals/sampled_marginals.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"

namespace sortition {
namespace {

// What conditional probabilities may lack of 1.
constexpr double kRounding = 1e-9;

// Writes the probability of each candidate to follow the first ranks of
// `order`, which has one more. Returns false where they do not add up to 1.
bool Conditionals(const ActionDistribution& distribution,
                  ScoredCandidates candidates, std::span<const int32_t> order,
                  std::span<double> probabilities) {
  Action prefix(order.begin(), order.end());
  candidates.top_k = static_cast<uint32_t>(order.size() - 1);
  const double log_above = distribution.LogPropensity(
      candidates, std::span<const int32_t>(prefix).first(candidates.top_k));
  candidates.top_k = static_cast<uint32_t>(order.size());
  double sum = 0;
  for (size_t d = 0; d < probabilities.size(); ++d) {
    prefix.back() = static_cast<int32_t>(d);
    // -infinity where d is above.
    probabilities[d] =
        std::exp(distribution.LogPropensity(candidates, prefix) - log_above);
    sum += probabilities[d];
  }
  return std::abs(sum - 1) <= kRounding;
}

}  // namespace

absl::StatusOr<SampledMarginals> SampleMarginals(
    const ActionDistribution& distribution, const ScoredCandidates& candidates,
    const MarginalSampling& sampling) {
  CHECK(distribution.action_kind() == ActionKind::kRank);
  if (sampling.num_draws < 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "num_draws is ", sampling.num_draws, ", must be at least 2"));
  }
  const size_t n = candidates.scores.size();
  const size_t size = candidates.top_k * n;
  // Sums of values and squares of ranks from 1 on.
  std::vector<double> sums(size, 0);
  std::vector<double> squares(size, 0);
  std::vector<double> row(n);
  Draw draw;
  for (uint32_t t = 0; t < sampling.num_draws; ++t) {
    distribution.Sample(candidates, CounterRandom(sampling.key, t), &draw);
    if (!std::isfinite(draw.log_propensity)) {
      return absl::FailedPreconditionError(
          "scores: the policy cannot draw from them; a logit must be within "
          "the limits of the policy");
    }
    for (size_t k = 1; k < candidates.top_k; ++k) {
      if (!sampling.use_conditionals ||
          !Conditionals(distribution, candidates,
                        std::span<const int32_t>(draw.action).first(k + 1),
                        row)) {
        std::fill(row.begin(), row.end(), 0);
        row[draw.action[k]] = 1;
      }
      for (size_t d = 0; d < n; ++d) {
        sums[k * n + d] += row[d];
        squares[k * n + d] += row[d] * row[d];
      }
    }
  }
  SampledMarginals result;
  result.marginals.resize(size);
  result.standard_errors.resize(size, 0);
  distribution.FirstProbabilities(candidates,
                                  std::span(result.marginals).first(n));
  const double draws = sampling.num_draws;
  for (size_t i = n; i < size; ++i) {
    const double mean = sums[i] / draws;
    const double variance =
        std::max(0.0, squares[i] / draws - mean * mean) / (draws - 1);
    result.marginals[i] = mean;
    result.standard_errors[i] = std::sqrt(variance);
  }
  return result;
}

}  // namespace sortition
