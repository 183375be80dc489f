#include "core/games/ranking/ndcg_game.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

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
  return absl::OkStatus();
}

bool IsClosed(const NdcgEquilibrium& equilibrium, double tolerance) {
  return equilibrium.upper - equilibrium.lower <=
         tolerance * (1 + std::abs(equilibrium.upper));
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

absl::Status NdcgGame::FindValues(std::span<const double> psi,
                                  const Discounts& discounts) {
  normalisers_.assign(1, 0);
  sizes_.clear();
  for (size_t t = 1; t <= psi.size(); ++t) {
    normalisers_.push_back(normalisers_.back() + discounts[t - 1]);
    RETURN_IF_ERROR(SolveSize(psi, discounts, t));
    sizes_.push_back({solved_.value / normalisers_[t], t});
  }
  std::stable_sort(
      sizes_.begin(), sizes_.end(),
      [](const Size& a, const Size& b) { return a.value < b.value; });
  return absl::OkStatus();
}

absl::Status NdcgGame::Search(std::span<const double> psi,
                              const Discounts& discounts,
                              const NdcgOptions& options,
                              NdcgEquilibrium* equilibrium) {
  // Starts from the equilibria of the sizes with the smallest values.
  constexpr size_t kNumStarts = 8;
  double_oracle_.Start(psi, discounts, options.empty_score);
  for (size_t c = 0; c < std::min(kNumStarts, sizes_.size()); ++c) {
    RETURN_IF_ERROR(SolveSize(psi, discounts, sizes_[c].num_positives));
    double_oracle_.AddPredictor(solved_.expected_discounts);
    double_oracle_.AddAdversary(sizes_[c].num_positives,
                                solved_.positive_probabilities);
  }
  if (options.empty_score.has_value()) {
    double_oracle_.AddAdversary(0, std::vector<double>(psi.size(), 0));
  }
  for (size_t round = 0; round < options.max_rounds; ++round) {
    const bool added = double_oracle_.Round();
    if (double_oracle_.lower() > equilibrium->lower) {
      equilibrium->lower = double_oracle_.lower();
      equilibrium->expected_discounts = double_oracle_.expected_discounts();
    }
    if (double_oracle_.upper() < equilibrium->upper) {
      equilibrium->upper = double_oracle_.upper();
      equilibrium->adversary = double_oracle_.sets();
    }
    if (!added || IsClosed(*equilibrium, options.tolerance)) break;
  }
  return absl::OkStatus();
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
  RETURN_IF_ERROR(FindValues(psi, discounts));
  RETURN_IF_ERROR(SolveSize(psi, discounts, sizes_[0].num_positives));
  const bool is_empty = options.empty_score.has_value() &&
                        *options.empty_score <= sizes_[0].value;
  equilibrium->expected_discounts = solved_.expected_discounts;
  equilibrium->adversary.clear();
  if (is_empty) {
    equilibrium->adversary.push_back({0, 1, std::vector<double>(n, 0)});
  } else {
    equilibrium->adversary.push_back(
        {sizes_[0].num_positives, 1, solved_.positive_probabilities});
  }
  const RankingCertificate certificate =
      CertifyNdcg(psi, discounts, options.empty_score,
                  equilibrium->expected_discounts, equilibrium->adversary);
  equilibrium->lower = certificate.lower;
  equilibrium->upper = certificate.upper;
  if (!IsClosed(*equilibrium, options.tolerance)) {
    RETURN_IF_ERROR(Search(psi, discounts, options, equilibrium));
  }
  equilibrium->status = IsClosed(*equilibrium, options.tolerance)
                            ? NdcgStatus::kClosed
                            : NdcgStatus::kGap;
  std::sort(equilibrium->adversary.begin(), equilibrium->adversary.end(),
            [](const NdcgSets& a, const NdcgSets& b) {
              return a.num_positives < b.num_positives;
            });
  equilibrium->positive_probabilities.assign(n, 0);
  for (const NdcgSets& sets : equilibrium->adversary) {
    for (size_t i = 0; i < n; ++i) {
      equilibrium->positive_probabilities[i] += sets.positives[i];
    }
  }
  return absl::OkStatus();
}

}  // namespace sortition
