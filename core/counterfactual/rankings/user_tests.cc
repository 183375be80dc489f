#include "core/counterfactual/rankings/user_tests.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/counterfactual/evaluation/group_blocks.h"
#include "core/counterfactual/rankings/ranking_terms.h"

namespace sortition {
namespace {

// Entries of a dependence and rank.
constexpr size_t kCellCount = 0;
constexpr size_t kCellReward = 1;
constexpr size_t kCellWeight = 2;
constexpr size_t kCellWeightReward = 3;
constexpr size_t kCellEntries = 4;

// kBelow and kAbove have a block of entries for each rank, kUnshown one.
size_t Width(size_t num_ranks) { return (2 * num_ranks + 1) * kCellEntries; }

void AddTo(std::span<double> row, size_t entry, double share, double reward,
           double weight) {
  row[entry + kCellCount] += share;
  row[entry + kCellReward] += share * reward;
  row[entry + kCellWeight] += share * weight;
  row[entry + kCellWeightReward] += share * weight * reward;
}

// 1 - ε + ε ρ of each logged rank. Once the policy cannot be there, it is mixed
// with the log from there on as if it were the log: any weights with mean 1.
std::vector<double> MixedRatios(const RankedDecision& decision,
                                const JudgedRanking& judged, double mixture) {
  std::vector<double> ratios;
  bool is_possible = true;
  for (size_t k = 0; k < decision.log_conditionals.size(); ++k) {
    constexpr double kMostLogRatio = 300;
    const double log_ratio =
        judged.log_conditionals[k] - decision.log_conditionals[k];
    ratios.push_back(is_possible ? 1 - mixture +
                                       mixture * std::exp(std::fmin(
                                                     log_ratio, kMostLogRatio))
                                 : 1);
    is_possible = is_possible && std::isfinite(judged.log_conditionals[k]);
  }
  return ratios;
}

double ProductOf(std::span<const double> ratios) {
  // Its square must be finite.
  constexpr double kMost = 1e130;
  double product = 1;
  for (const double ratio : ratios) product = std::min(kMost, product * ratio);
  return product;
}

}  // namespace

std::string UserDependenceKey(UserDependence dependence) {
  switch (dependence) {
    case UserDependence::kBelow:
      return "below";
    case UserDependence::kAbove:
      return "above";
    case UserDependence::kUnshown:
      return "unshown";
  }
  return "";
}

std::string UserDependenceQuestion(UserDependence dependence) {
  switch (dependence) {
    case UserDependence::kBelow:
      return "Do rewards depend on what stands below?";
    case UserDependence::kAbove:
      return "Do rewards depend on what stands above?";
    case UserDependence::kUnshown:
      return "Do rewards depend on ranks that were not shown?";
  }
  return "";
}

absl::StatusOr<UserTestSums> UserTestSums::Create(Options options) {
  RETURN_IF_ERROR(CheckRankingValue(options.value));
  if (!(options.mixture > 0 && options.mixture <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("mixture is ", options.mixture, ", must be in (0, 1]"));
  }
  if (options.num_groups < 2 || options.num_groups > size_t{1} << 20) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_groups is ", options.num_groups, ", must be in [2, ",
                     size_t{1} << 20, "]"));
  }
  return UserTestSums(std::move(options));
}

UserTestSums::UserTestSums(Options options)
    : options_(std::move(options)),
      sums_(options_.num_groups, Width(options_.value.rank_weights.size())) {}

size_t UserTestSums::EntryOf(UserDependence dependence, size_t rank) const {
  const size_t ranks = options_.value.rank_weights.size();
  switch (dependence) {
    case UserDependence::kBelow:
      return rank * kCellEntries;
    case UserDependence::kAbove:
      return (ranks + rank) * kCellEntries;
    case UserDependence::kUnshown:
      return 2 * ranks * kCellEntries;
  }
  return 0;
}

absl::Status UserTestSums::Add(uint64_t unit_hash, double share,
                               const RankedDecision& decision,
                               const JudgedRanking& judged) {
  if (!(share > 0 && share <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("share is ", share, ", must be in (0, 1]"));
  }
  const RankingInputs inputs = {.marginals = options_.has_marginals};
  RETURN_IF_ERROR(CheckRankedDecision(decision, inputs.marginals));
  RETURN_IF_ERROR(CheckJudgedRanking(decision, judged, inputs));
  const std::vector<double>& alpha = options_.value.rank_weights;
  const std::vector<double> mixed =
      MixedRatios(decision, judged, options_.mixture);
  RankingWeights weights;
  ComputeRankingWeights(decision, judged, inputs, alpha.size(), &weights);
  const std::span<double> row = sums_.GroupOf(unit_hash);
  const size_t shown = decision.rewards.size();
  const std::span<const double> all = mixed;
  double sum = options_.value.whole_weight * decision.whole_reward;
  for (size_t k = 0; k < std::min(shown, alpha.size()); ++k) {
    const double reward = decision.rewards[k];
    sum += alpha[k] * reward;
    if (k + 1 < shown) {
      AddTo(row, EntryOf(UserDependence::kBelow, k), share, reward,
            ProductOf(all.subspan(k + 1, shown - k - 1)));
    }
    if (k > 0 && options_.has_marginals && weights.marginal[k] > 0) {
      const double ratio = weights.prefix[k] / weights.marginal[k];
      AddTo(row, EntryOf(UserDependence::kAbove, k), share, reward,
            1 - options_.mixture + options_.mixture * ratio);
    }
  }
  if (shown < mixed.size()) {
    AddTo(row, EntryOf(UserDependence::kUnshown, 0), share, sum,
          ProductOf(all.subspan(shown)));
  }
  return absl::OkStatus();
}

void UserTestSums::Merge(const UserTestSums& other) {
  sums_.Merge(other.sums_);
}

DependenceTest UserTestSums::Test(UserDependence dependence) const {
  DependenceTest test;
  const size_t ranks = dependence == UserDependence::kUnshown
                           ? 1
                           : options_.value.rank_weights.size();
  for (size_t k = 0; k < ranks; ++k) {
    const size_t entry = EntryOf(dependence, k);
    const SumFunction count = {{entry + kCellCount, 1}};
    if (ApplyToTotals(count, sums_) == 0) continue;
    const SumFunction weight = {{entry + kCellWeight, 1}};
    const std::array<Ratio, 2> difference = {
        Ratio{{{entry + kCellWeightReward, 1}}, weight, 1},
        Ratio{{{entry + kCellReward, 1}}, count, -1}};
    if (!IsNearlyNormal(sums_, difference)) {
      ++test.num_skipped;
      continue;
    }
    const RatioEstimate estimate = EstimateRatios(sums_, difference);
    const Ratio mean_weight = {weight, count};
    test.ranks.push_back(
        {k, estimate.value, estimate.standard_error,
         EstimateRatios(sums_, {&mean_weight, 1}).value,
         std::erfc(std::fabs(estimate.value) /
                   (estimate.standard_error * std::numbers::sqrt2))});
    test.p_value = std::min(test.p_value, test.ranks.back().p_value);
  }
  test.p_value = std::min(
      1.0, test.p_value *
               static_cast<double>(std::max<size_t>(1, test.ranks.size())));
  return test;
}

}  // namespace sortition
