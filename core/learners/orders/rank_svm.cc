#include "core/learners/orders/rank_svm.h"

#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

using config::v1::RankSvmOptions;

constexpr Eigen::Index kMaxPlanes = 256;

// R(w) = Σ_q c_q Σ_pairs hinge, with c_q according to the weighting, plus the
// pull.
class RankSvmObjective : public BundledObjective {
 public:
  RankSvmObjective(std::span<const LabelledItems> queries,
                   RankSvmOptions::Weighting weighting, const OrderPull& pull)
      : BundledObjective(queries[0].items.num_features(), kMaxPlanes),
        pull_(pull) {
    for (const LabelledItems& query : queries) {
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
    if (pull_.orders != nullptr) {
      pull_.orders->AddMean(pull_.weight,
                            {point.data(), static_cast<size_t>(point.size())},
                            {slope.data(), static_cast<size_t>(slope.size())});
    }
    const double risk = offset + slope.dot(point);
    RecordPlane(offset, slope);
    RecordPoint(point, risk);
    if (gradient != nullptr) *gradient = lambda() * point + slope;
    return Penalty(point) + risk;
  }

 private:
  std::vector<LabelledItems> queries_;  // The queries that have pairs.
  std::vector<double> weights_;         // c_q
  uint64_t num_pairs_ = 0;
  const OrderPull pull_;
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

absl::StatusOr<RankSvmResult> TrainRankSvm(
    std::span<const LabelledItems> queries, double lambda,
    const RankSvmOptions& options, const DescentWatcher& watcher,
    const OrderPull& pull) {
  RETURN_IF_ERROR(CheckOptions(lambda, options));
  RETURN_IF_ERROR(CheckQueries(queries));
  RankSvmObjective objective(queries, options.weighting(), pull);
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
