#include "core/learners/orders/pulled_regression.h"

#include <cmath>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/aggregation/regulariser.h"
#include "core/base/status_macros.h"
#include "core/learners/labelled/candidate_rows.h"
#include "core/optim/ridge.h"

namespace sortition {
namespace {

// Iterations between checks of the gap. A check costs as much as an iteration.
constexpr uint32_t kBoundEvery = 5;
// The penalty ρ.
constexpr double kRho = 2;

class PulledRegression {
 public:
  PulledRegression(std::span<const LabelledItems> queries, double l2,
                   const OrderPull& pull)
      : orders_(*pull.orders),
        strength_(pull.weight / static_cast<double>(orders_.num_queries())),
        rows_(queries),
        penalties_(rows_.Penalties(l2)),
        solver_(rows_, penalties_),
        targets_(rows_.Relevances()),
        scores_(Eigen::VectorXd::Zero(rows_.rows())),
        split_(scores_),
        multiplier_(scores_) {
    result_.objective = std::numeric_limits<double>::infinity();
    result_.dual_bound = -result_.objective;
    result_.is_proved = solver_.direct();
  }

  absl::StatusOr<PulledRegressionResult> Run() && {
    while (result_.iterations < kMostPulledIterations) {
      RETURN_IF_ERROR(Iterate());
      ++result_.iterations;
      if (result_.iterations % kBoundEvery != 1) continue;
      Bound();
      if (!std::isfinite(result_.objective)) {
        return absl::InternalError("the objective is not finite");
      }
      if (result_.closed()) break;
    }
    const Eigen::VectorXd& v = best_;
    result_.weights.assign(v.begin(), v.end() - 1);
    result_.intercept = v[v.size() - 1];
    return std::move(result_);
  }

 private:
  // Returns Σ_q c d(s_q‖σ_q).
  double Penalty(const Eigen::VectorXd& scores) const {
    double sum = 0;
    size_t row = 0;
    for (size_t q = 0; q < orders_.num_queries(); ++q) {
      const size_t n = orders_.order(q).size();
      sum += orders_.function(q).Divergence({scores.data() + row, n},
                                            orders_.order(q));
      row += n;
    }
    return strength_ * sum;
  }

  absl::Status Iterate() {
    const Eigen::VectorXd last = split_;
    centre_ = (targets_ + scores_ + multiplier_) / 2;
    size_t row = 0;
    for (size_t q = 0; q < orders_.num_queries(); ++q) {
      const size_t n = orders_.order(q).size();
      RETURN_IF_ERROR(ProximalOrder(
          orders_.function(q), orders_.order(q), strength_ / (2 + kRho),
          {centre_.data() + row, n}, {split_.data() + row, n}));
      row += n;
    }
    point_ = solver_.Solve(split_ - multiplier_);
    rows_.Multiply(point_, &scores_);
    multiplier_ += scores_ - split_;
    result_.primal_residual = (scores_ - split_).norm();
    Eigen::VectorXd moved = Eigen::VectorXd::Zero(rows_.columns());
    rows_.AddTransposed(split_ - last, &moved);
    result_.dual_residual = kRho * moved.norm();
    return absl::OkStatus();
  }

  // Returns |Zv - y|² + vᵀPv, where `scores` is Zv.
  double Squares(const Eigen::VectorXd& v, const Eigen::VectorXd& scores) {
    return (scores - targets_).squaredNorm() + penalties_.dot(v.cwiseAbs2());
  }

  void Try(const Eigen::VectorXd& v, const Eigen::VectorXd& scores) {
    const double value = Squares(v, scores) + Penalty(scores);
    if (!(value < result_.objective)) return;
    result_.objective = value;
    best_ = v;
  }

  void Bound() {
    const Eigen::VectorXd slope = (2 + kRho) * (centre_ - split_);  // p
    const Eigen::VectorXd v = solver_.Solve(targets_ - slope / 2);
    Eigen::VectorXd scores;
    rows_.Multiply(v, &scores);
    result_.dual_bound =
        std::max(result_.dual_bound, Squares(v, scores) + slope.dot(scores));
    Try(v, scores);
    Try(point_, scores_);
  }

  const TrustedOrders& orders_;
  const double strength_;  // c
  const CandidateRows rows_;
  const Eigen::VectorXd penalties_;  // P
  const RidgeSolver solver_;
  const Eigen::VectorXd targets_;  // y
  Eigen::VectorXd point_;          // v
  Eigen::VectorXd scores_;         // Zv
  Eigen::VectorXd split_;          // z
  Eigen::VectorXd multiplier_;     // u
  Eigen::VectorXd centre_;         // The point whose proximal point is z.
  Eigen::VectorXd best_;
  PulledRegressionResult result_;
};

}  // namespace

absl::StatusOr<PulledRegressionResult> FitPulledRelevance(
    std::span<const LabelledItems> queries, double l2, const OrderPull& pull) {
  if (!(l2 >= 0 && l2 < HUGE_VAL)) {
    return absl::InvalidArgumentError(
        absl::StrCat("l2 is ", l2, ", must be finite and at least 0"));
  }
  if (!(pull.weight >= 0 && pull.weight < HUGE_VAL)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "weight is ", pull.weight, ", must be finite and at least 0"));
  }
  RETURN_IF_ERROR(CheckQueries(queries));
  return PulledRegression(queries, l2, pull).Run();
}

}  // namespace sortition
