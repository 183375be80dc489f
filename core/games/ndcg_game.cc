#include "core/games/ndcg_game.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/games/ranking_certificate.h"

namespace sortition {
namespace {

absl::Status CheckOptions(const NdcgOptions& options) {
  if (options.empty_score.has_value() && !std::isfinite(*options.empty_score)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "empty_score is ", *options.empty_score, ", must be finite"));
  }
  if (!(options.tolerance >= 0 && options.tolerance < HUGE_VAL)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "tolerance is ", options.tolerance, ", must be finite and at least 0"));
  }
  if (options.max_candidates == 0) {
    return absl::InvalidArgumentError(
        "max_candidates is 0, must be at least 1");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status NdcgGame::SolveSize(std::span<const double> psi,
                                 const Discounts& discounts,
                                 size_t num_positives) {
  scaled_.resize(psi.size());
  for (size_t i = 0; i < psi.size(); ++i) {
    scaled_[i] = normalisers_[num_positives] * psi[i];
  }
  const auto count = static_cast<double>(num_positives);
  return game_.Solve(scaled_, discounts, {count, count}, &solved_);
}

absl::Status NdcgGame::Solve(std::span<const double> psi,
                             const Discounts& discounts,
                             const NdcgOptions& options,
                             NdcgEquilibrium* equilibrium) {
  RETURN_IF_ERROR(CheckOptions(options));
  RETURN_IF_ERROR(CheckPotentials(psi));
  const size_t n = psi.size();
  if (n == 0 || discounts.size() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("psi has ", n, " items and discounts ", discounts.size(),
                     " ranks above 0, must have 1 at least of each"));
  }
  normalisers_.assign(1, 0);
  sizes_.clear();
  for (size_t t = 1; t <= n; ++t) {
    normalisers_.push_back(normalisers_.back() + discounts[t - 1]);
    RETURN_IF_ERROR(SolveSize(psi, discounts, t));
    sizes_.push_back({solved_.value / normalisers_[t], t});
  }
  std::stable_sort(
      sizes_.begin(), sizes_.end(),
      [](const Size& a, const Size& b) { return a.value < b.value; });
  const bool is_empty = options.empty_score.has_value() &&
                        *options.empty_score <= sizes_[0].value;
  equilibrium->num_positives = is_empty ? 0 : sizes_[0].num_positives;
  equilibrium->positive_probabilities.assign(n, 0);
  equilibrium->lower = -HUGE_VAL;
  equilibrium->status = NdcgStatus::kGap;
  const size_t num_candidates = std::min(n, options.max_candidates);
  for (size_t c = 0; c < num_candidates; ++c) {
    RETURN_IF_ERROR(SolveSize(psi, discounts, sizes_[c].num_positives));
    if (c == 0 && !is_empty) {
      equilibrium->positive_probabilities = solved_.positive_probabilities;
    }
    const RankingCertificate certificate = CertifyNdcg(
        psi, discounts, options.empty_score, solved_.expected_discounts,
        equilibrium->num_positives, equilibrium->positive_probabilities);
    equilibrium->upper = certificate.upper;
    if (certificate.lower > equilibrium->lower) {
      equilibrium->lower = certificate.lower;
      equilibrium->expected_discounts = solved_.expected_discounts;
    }
    if (equilibrium->upper - equilibrium->lower <=
        options.tolerance * (1 + std::abs(equilibrium->upper))) {
      equilibrium->status = NdcgStatus::kClosed;
      break;
    }
  }
  return absl::OkStatus();
}

}  // namespace sortition
