#include "core/learners/rank_svm.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

using config::v1::RankSvmOptions;

constexpr Eigen::Index kMaxPlanes = 256;

// R(w) = Σ_q c_q Σ_pairs hinge, c_q as the weighting says.
class RankSvmObjective : public BundledObjective {
 public:
  RankSvmObjective(std::span<const GameQuery> queries,
                   RankSvmOptions::Weighting weighting)
      : BundledObjective(queries[0].items.num_features(), kMaxPlanes) {
    for (const GameQuery& query : queries) {
      const uint64_t pairs = CountPairs(query.relevances);
      if (pairs == 0) continue;
      queries_.push_back(query);
      weights_.push_back(1 / static_cast<double>(pairs));
      num_pairs_ += pairs;
    }
    for (double& weight : weights_) {
      weight = weighting == RankSvmOptions::PAIRS
                   ? 1 / static_cast<double>(num_pairs_)
                   : weight / static_cast<double>(queries_.size());
    }
  }

  uint64_t num_pairs() const { return num_pairs_; }

  double Evaluate(const Eigen::VectorXd& point,
                  Eigen::VectorXd* gradient) const override {
    double offset = 0;
    Eigen::VectorXd slope = Eigen::VectorXd::Zero(dimension());
    for (size_t q = 0; q < queries_.size(); ++q) {
      const Candidates& items = queries_[q].items;
      const size_t n = items.num_candidates();
      scores_.resize(n);
      slopes_.resize(n);
      ScoreAll(items, {point.data(), static_cast<size_t>(point.size())},
               scores_);
      offset +=
          weights_[q] *
          hinge_.Evaluate(scores_, queries_[q].relevances, slopes_).num_active;
      for (uint32_t i = 0; i < n; ++i) {
        if (slopes_[i] == 0) continue;
        items.AddRow(i, weights_[q] * slopes_[i],
                     {slope.data(), static_cast<size_t>(slope.size())});
      }
    }
    const double risk = offset + slope.dot(point);
    RecordPlane(offset, slope);
    RecordPoint(point, risk);
    if (gradient != nullptr) *gradient = lambda() * point + slope;
    return Penalty(point) + risk;
  }

 private:
  std::vector<GameQuery> queries_;  // Those that have pairs.
  std::vector<double> weights_;     // c_q
  uint64_t num_pairs_ = 0;
  mutable PairwiseHinge hinge_;
  mutable std::vector<double> scores_, slopes_;
};

absl::Status CheckOptions(double lambda, const RankSvmOptions& options) {
  if (!(lambda > 0 && lambda < HUGE_VAL)) {
    return absl::InvalidArgumentError(
        absl::StrCat("lambda is ", lambda, ", must be above 0 and finite"));
  }
  if (!(options.gap_tolerance() > 0 && options.gap_tolerance() <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("gap_tolerance is ", options.gap_tolerance(),
                     ", must be above 0 and at most 1"));
  }
  return absl::OkStatus();
}

}  // namespace

uint64_t CountPairs(std::span<const uint32_t> relevances) {
  std::vector<uint32_t> sorted(relevances.begin(), relevances.end());
  std::sort(sorted.begin(), sorted.end());
  const uint64_t n = sorted.size();
  uint64_t pairs = n * (n - 1) / 2;
  if (n == 0) return 0;
  for (uint64_t begin = 0, end = 0; begin < n; begin = end) {
    while (end < n && sorted[end] == sorted[begin]) ++end;
    pairs -= (end - begin) * (end - begin - 1) / 2;
  }
  return pairs;
}

void PairwiseHinge::Counts::Add(size_t index) {
  for (size_t i = index + 1; i < tree_.size(); i += i & -i) ++tree_[i];
}

uint32_t PairwiseHinge::Counts::Below(size_t index) const {
  uint32_t count = 0;
  for (size_t i = index; i > 0; i -= i & -i) count += tree_[i];
  return count;
}

void PairwiseHinge::RankLevels(std::span<const uint32_t> relevances) {
  levels_.assign(relevances.begin(), relevances.end());
  std::sort(levels_.begin(), levels_.end());
  levels_.erase(std::unique(levels_.begin(), levels_.end()), levels_.end());
  level_.resize(relevances.size());
  for (size_t i = 0; i < relevances.size(); ++i) {
    level_[i] = static_cast<uint32_t>(
        std::lower_bound(levels_.begin(), levels_.end(), relevances[i]) -
        levels_.begin());
  }
}

// The pair (i, j) is active where s_j > s_i - 1. Both ends ask this of the same
// rounded s_i - 1, which is monotone in s_i, so that each active pair is
// counted at both or at none.
PairwiseHinge::Sum PairwiseHinge::Evaluate(std::span<const double> scores,
                                           std::span<const uint32_t> relevances,
                                           std::span<double> slopes) {
  const size_t n = scores.size();
  RankLevels(relevances);
  order_.resize(n);
  std::iota(order_.begin(), order_.end(), 0u);
  std::sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) {
    return scores[a] > scores[b] || (scores[a] == scores[b] && a < b);
  });
  Sum sum;
  // As i falls, more j are above s_i - 1.
  counts_.Clear(levels_.size());
  for (size_t r = 0, added = 0; r < n; ++r) {
    const uint32_t i = order_[r];
    for (; added < n && scores[order_[added]] > scores[i] - 1; ++added) {
      counts_.Add(level_[order_[added]]);
    }
    const uint32_t below = counts_.Below(level_[i]);
    sum.num_active += below;
    slopes[i] = -static_cast<double>(below);
  }
  // As j rises, more i have s_i - 1 below s_j. Levels counted from above.
  counts_.Clear(levels_.size());
  const auto from_above = [&](uint32_t item) {
    return levels_.size() - 1 - level_[item];
  };
  for (size_t r = n, added = n; r-- > 0;) {
    const uint32_t j = order_[r];
    for (; added > 0 && scores[order_[added - 1]] - 1 < scores[j]; --added) {
      counts_.Add(from_above(order_[added - 1]));
    }
    slopes[j] += counts_.Below(from_above(j));
  }
  sum.value = std::inner_product(scores.begin(), scores.end(), slopes.begin(),
                                 sum.num_active);
  return sum;
}

absl::StatusOr<RankSvmResult> TrainRankSvm(std::span<const GameQuery> queries,
                                           double lambda,
                                           const RankSvmOptions& options,
                                           const DescentWatcher& watcher) {
  RETURN_IF_ERROR(CheckOptions(lambda, options));
  RETURN_IF_ERROR(CheckQueries(queries));
  RankSvmObjective objective(queries, options.weighting());
  if (objective.num_pairs() == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "none of ", queries.size(),
        " queries has candidates of different relevances, at least 1 must"));
  }
  objective.SetLambda(lambda);
  CertifiedDescent descent(&objective,
                           Eigen::VectorXd::Zero(objective.dimension()),
                           {.lbfgs = options.lbfgs(),
                            .gap_tolerance = options.gap_tolerance(),
                            .relative = true,
                            .max_cuts = options.max_cuts()},
                           watcher);
  RETURN_IF_ERROR(descent.Lbfgs("L-BFGS"));
  RETURN_IF_ERROR(descent.CuttingPlaneSteps());
  RankSvmResult result;
  result.num_pairs = objective.num_pairs();
  result.descent = std::move(descent).Finish();
  const Eigen::VectorXd& w = result.descent.theta;
  result.weights.assign(w.begin(), w.end());
  return result;
}

}  // namespace sortition
