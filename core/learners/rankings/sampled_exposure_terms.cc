#include "core/learners/rankings/sampled_exposure_terms.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/hash.h"
#include "core/base/stable_math.h"
#include "core/base/status_macros.h"
#include "core/learners/rankings/exposure_terms.h"
#include "core/policies/distributions/ranking_distribution.h"

namespace sortition {

double PlRank::Estimate(std::span<const double> logits,
                        std::span<const double> gains,
                        std::span<const double> discounts, const Hash128& key,
                        uint32_t num_orders, std::span<double> gradient) {
  const size_t n = logits.size();
  DCHECK(gains.size() == n && gradient.size() == n && num_orders >= 1);
  const auto ranks = static_cast<uint32_t>(std::min(n, discounts.size()));
  std::fill(gradient.begin(), gradient.end(), 0);
  numbers_.resize(n);
  const double mean = stable::Sum(gains) / static_cast<double>(n);
  centred_.assign(gains.begin(), gains.end());
  for (double& gain : centred_) gain -= mean;
  double sum = 0;
  for (uint32_t t = 0; t < num_orders; ++t) {
    CounterRandom(key, t).UniformBlocks(0, numbers_);
    DrawPlackettLuce(logits, 1, ranks, numbers_, &order_);
    sum += AddOrder(logits, centred_, discounts.first(ranks), gradient);
  }
  for (double& derivative : gradient) derivative /= num_orders;
  return sum / num_orders + mean * stable::Sum(discounts.first(ranks));
}

// P_j(d) = exp(l_d - L_j). With
//   A_r = Σ_{j <= r} λ_j exp(L_r - L_j),  B_r = Σ_{j <= r} R_j exp(L_r - L_j),
// stable because L falls, the estimate is R_{r+1} + P_r(d) (g_d A_r - B_r); for
// candidates that were not drawn r = K - 1.
double PlRank::AddOrder(std::span<const double> logits,
                        std::span<const double> gains,
                        std::span<const double> discounts,
                        std::span<double> gradient) {
  const size_t n = logits.size();
  const size_t ranks = discounts.size();
  taken_.assign(n, 0);
  for (const int32_t d : order_) taken_[d] = 1;
  // L from the last rank up, by addition only.
  log_sums_.resize(ranks);
  double rest = -HUGE_VAL;
  size_t left = 0;
  for (size_t d = 0; d < n; ++d) {
    if (taken_[d] == 0) numbers_[left++] = logits[d];
  }
  if (left > 0) {
    const std::span<double> values = std::span(numbers_).first(left);
    const double max = stable::Max(values);
    for (double& value : values) value -= max;
    stable::ExpInPlace(values);
    rest = max + stable::Log(stable::Sum(values));
  }
  double log_sum = rest;
  for (size_t r = ranks; r-- > 0;) {
    log_sum = stable::LogAddExp(log_sum, logits[order_[r]]);
    log_sums_[r] = log_sum;
  }
  double total = 0;
  for (size_t k = 0; k < ranks; ++k) total += discounts[k] * gains[order_[k]];
  double remaining = total;  // R_r
  double own = 0;            // A_r
  double others = 0;         // B_r
  for (size_t r = 0; r < ranks; ++r) {
    if (r > 0) {
      const double shrink = stable::Exp(log_sums_[r] - log_sums_[r - 1]);
      own *= shrink;
      others *= shrink;
    }
    own += discounts[r];
    others += remaining;
    const size_t d = order_[r];
    remaining -= discounts[r] * gains[d];
    gradient[d] += remaining + stable::Exp(logits[d] - log_sums_[r]) *
                                   (gains[d] * own - others);
  }
  if (ranks == n) return total;
  for (size_t d = 0; d < n; ++d) {
    if (taken_[d] != 0) continue;
    gradient[d] +=
        stable::Exp(logits[d] - log_sums_.back()) * (gains[d] * own - others);
  }
  return total;
}

absl::StatusOr<SampledExposureTerms> SampledExposureTerms::Create(
    const ExposureProblem& problem, std::vector<std::vector<double>> gains,
    uint32_t num_orders, uint64_t seed) {
  // Checks the problem and the gains.
  RETURN_IF_ERROR(ExposureTerms::Create(problem, gains).status());
  if (num_orders == 0) {
    return absl::InvalidArgumentError("num_orders is 0, must be at least 1");
  }
  return SampledExposureTerms(problem, std::move(gains), num_orders, seed);
}

void SampledExposureTerms::Values(const Eigen::VectorXd& parameters,
                                  std::span<const uint32_t> tuples,
                                  std::span<double> values) {
  DCHECK(tuples.size() == values.size());
  ++num_calls_;
  rows_.Assign(parameters, tuples);
  score_gradients_.resize(rows_.scores().size());
  const double epsilon = problem_.family.uniform_mixture;
  for (size_t k = 0; k < tuples.size(); ++k) {
    const std::vector<double>& gains = gains_[tuples[k]];
    const size_t n = gains.size();
    const size_t ranks = std::min(n, problem_.discounts.size());
    const std::span<double> gradient =
        std::span(score_gradients_).subspan(rows_.begin(k), n);
    const Hash128 key =
        StableHash(HashDomain::kTraining,
                   {"pl_rank", absl::StrCat(seed_), absl::StrCat(num_calls_),
                    absl::StrCat(tuples[k])});
    const double drawn = pl_rank_.Estimate(
        rows_.scores(k), gains, problem_.discounts, key, num_orders_, gradient);
    double total = 0;
    double mean_gain = 0;
    for (size_t r = 0; r < ranks; ++r) total += problem_.discounts[r];
    for (const double gain : gains) mean_gain += gain / static_cast<double>(n);
    values[k] = 0 - (1 - epsilon) * drawn - epsilon * total * mean_gain;
    for (double& derivative : gradient) derivative *= epsilon - 1;
  }
}

void SampledExposureTerms::AddGradient(std::span<const double> factors,
                                       Eigen::VectorXd* gradient) {
  for (size_t k = 0; k < rows_.size(); ++k) {
    if (factors[k] == 0) continue;
    const size_t begin = rows_.begin(k);
    const size_t n = rows_.scores(k).size();
    row_factors_.assign(
        score_gradients_.begin() + static_cast<ptrdiff_t>(begin),
        score_gradients_.begin() + static_cast<ptrdiff_t>(begin + n));
    for (double& value : row_factors_) value *= factors[k];
    rows_.AddRows(k, row_factors_, gradient);
  }
}

}  // namespace sortition
