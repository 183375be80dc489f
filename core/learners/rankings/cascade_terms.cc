#include "core/learners/rankings/cascade_terms.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/stable_math.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

// The exponential of a larger number overflows a double.
constexpr double kLargestLogWeight = 709;

}  // namespace

absl::StatusOr<CascadeTerms> CascadeTerms::Create(const RankedLog& log,
                                                  std::vector<double> clips,
                                                  const RankLossModel* model) {
  RETURN_IF_ERROR(ValidateRankedLog(log));
  CHECK(model != nullptr);
  if (clips.empty()) {
    return absl::InvalidArgumentError("clips: there are 0, must be at least 1");
  }
  for (const double clip : clips) {
    if (!(clip >= 1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("clips has ", clip, ", must be at least 1"));
    }
  }
  return CascadeTerms(log, std::move(clips), model);
}

CascadeTerms::Weight CascadeTerms::WeightOf(size_t r, double log_logged) const {
  if (r == 0) return {};
  const double clip = clips_[std::min(r, clips_.size()) - 1];
  const double weight =
      stable::Exp(std::min(law_.log_prefix(r) - log_logged, kLargestLogWeight));
  if (weight < clip) return {weight, weight};
  return {clip, 0};
}

// With π = π_k, P(a) what Plackett-Luce puts at rank k, u the mean of q over
// what is left:
//   E = Σ_a h(a|above) q(a) = π Σ_a P(a) q(a) + (1-π) u,
//   ∂E = π (1-π) (Σ_a P(a) q(a) - u) ∂ log p_k + π Σ_a P(a) (q(a) - Σ P q)
//   ∂l_a,
// because the log-odds of π change as log p_k does.
double CascadeTerms::Evaluate(size_t k, double factor,
                              std::vector<double>* gradient) {
  const size_t i = rows_.tuple(k);
  const std::span<const int32_t> shown = log_.shown(i);
  const std::span<const double> scores = rows_.scores(k);
  const size_t n = scores.size();
  prefix_slopes_.assign(shown.size() + 1, 0);
  policy_slopes_.assign(shown.size() + 1, 0);
  if (!law_.Evaluate(scores, shown)) return 0;
  modelled_.resize(n);
  conditionals_.resize(n);
  double term = 0;
  double log_logged = 0;
  Weight above;
  for (size_t r = 0; r < shown.size(); ++r) {
    model_->Losses(i, r, modelled_);
    law_.PolicyConditionals(r, conditionals_);
    double policy_mean = 0;
    double uniform_mean = 0;
    for (size_t a = 0; a < n; ++a) {
      if (law_.IsAbove(a, r)) continue;
      policy_mean += conditionals_[a] * modelled_[a];
      uniform_mean += modelled_[a];
    }
    uniform_mean /= static_cast<double>(n - r);
    const double posterior = law_.policy_posterior(r);
    const double expected =
        posterior * policy_mean + (1 - posterior) * uniform_mean;
    log_logged += log_.ranks[i].log_conditionals[r];
    const Weight through = WeightOf(r + 1, log_logged);
    const double residual = log_.loss(i, r) - modelled_[shown[r]];
    term += through.value * residual + above.value * expected;
    prefix_slopes_[r + 1] += through.slope * residual;
    prefix_slopes_[r] += above.slope * expected;
    policy_slopes_[r] += above.value * posterior * (1 - posterior) *
                         (policy_mean - uniform_mean);
    if (gradient != nullptr) {
      const double scale = factor * above.value * posterior;
      for (size_t a = 0; a < n; ++a) {
        if (law_.IsAbove(a, r)) continue;
        (*gradient)[a] +=
            scale * conditionals_[a] * (modelled_[a] - policy_mean);
      }
    }
    above = through;
  }
  return term;
}

void CascadeTerms::Values(const Eigen::VectorXd& parameters,
                          std::span<const uint32_t> tuples,
                          std::span<double> values) {
  DCHECK(tuples.size() == values.size());
  rows_.Assign(parameters, tuples);
  for (size_t k = 0; k < tuples.size(); ++k) {
    values[k] = Evaluate(k, 0, nullptr);
  }
}

void CascadeTerms::AddGradient(std::span<const double> factors,
                               Eigen::VectorXd* gradient) {
  for (size_t k = 0; k < rows_.size(); ++k) {
    if (factors[k] == 0) continue;
    score_gradient_.assign(rows_.scores(k).size(), 0);
    Evaluate(k, factors[k], &score_gradient_);
    for (double& slope : prefix_slopes_) slope *= factors[k];
    for (double& slope : policy_slopes_) slope *= factors[k];
    law_.AddGradient(prefix_slopes_, policy_slopes_, score_gradient_);
    rows_.AddRows(k, score_gradient_, gradient);
  }
}

}  // namespace sortition
