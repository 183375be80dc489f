#include "core/learners/orders/pulled_list_net.h"

#include <cmath>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/data/labelled_queries.h"
#include "core/learners/orders/list_net.h"
#include "core/optim/lbfgs.h"
#include "core/optim/objective.h"

namespace sortition {
namespace {

using config::v1::HingeOptions;
using config::v1::LbfgsOptions;
using config::v1::ListNetOptions;

// -Σ P_i log p_i of one query as a function of its scores.
class CrossEntropy : public StructuredHinge {
 public:
  explicit CrossEntropy(std::vector<double> target)
      : target_(std::move(target)) {}

  double Evaluate(std::span<const double> scores,
                  std::span<double> slopes) override {
    const double total = internal::LogSumExp(scores);
    double offset = 0;
    for (size_t i = 0; i < scores.size(); ++i) {
      const double log_p = scores[i] - total;
      slopes[i] = std::exp(log_p) - target_[i];
      offset -= target_[i] * log_p + slopes[i] * scores[i];
    }
    return offset;
  }

  // Returns the entropy of P, which is the value where p = P.
  double LowerBound() const override {
    double entropy = 0;
    for (const double share : target_) {
      if (share > 0) entropy -= share * std::log(share);
    }
    return entropy;
  }

 private:
  const std::vector<double> target_;  // P
};

// J as a function of v_j = w_j s_j.
class Rescaled : public Objective {
 public:
  Rescaled(HingeProblem* problem, double lambda, const Eigen::VectorXd& scales)
      : problem_(*problem), lambda_(lambda), scales_(scales) {}

  Eigen::Index dimension() const override { return scales_.size(); }
  double Evaluate(const Eigen::VectorXd& v,
                  Eigen::VectorXd* gradient) const override {
    const Eigen::VectorXd w = v.cwiseQuotient(scales_);
    RiskPlane plane;
    problem_.EvaluateAll(w, &plane);
    if (gradient != nullptr) {
      *gradient = (lambda_ * w + plane.slope).cwiseQuotient(scales_);
    }
    return lambda_ / 2 * w.squaredNorm() + plane.value;
  }

 private:
  HingeProblem& problem_;
  const double lambda_;
  const Eigen::VectorXd& scales_;
};

// Returns, for each parameter, the root of its mean squared slope at 0 over the
// queries; 1 if that is 0.
Eigen::VectorXd ScalesOf(HingeProblem* problem) {
  const Eigen::VectorXd zero = Eigen::VectorXd::Zero(problem->dimension());
  Eigen::VectorXd squares = zero;
  RiskPlane plane;
  for (size_t q = 0; q < problem->num_queries(); ++q) {
    problem->Evaluate(q, zero, &plane);
    squares += plane.slope.cwiseAbs2();
  }
  squares /= static_cast<double>(problem->num_queries());
  return (squares.array() > 0).select(squares.cwiseSqrt(), 1.0);
}

// Ascends the dual, and continues with L-BFGS if that stalls.
class PulledListNetSolver : public HingeSolver {
 public:
  PulledListNetSolver(HingeProblem* problem, const LbfgsOptions& options)
      : problem_(*problem), options_(options) {
    HingeOptions hinge;
    hinge.set_solver(HingeOptions::N_SLACK);
    hinge.set_gap_tolerance(kPulledListNetGap);
    hinge.set_max_passes(options.max_iterations());
    ascent_ = MakeHingeSolver(problem, hinge);
  }

  absl::StatusOr<HingeResult> Minimise(
      double lambda, const std::function<void()>& on_pass) override {
    ASSIGN_OR_RETURN(HingeResult result, ascent_->Minimise(lambda, on_pass));
    if (result.stalled) RETURN_IF_ERROR(Descend(lambda, &result));
    return result;
  }

 private:
  // Runs L-BFGS, and restarts it at kinks as long as that helps.
  absl::Status Descend(double lambda, HingeResult* result) {
    const Eigen::VectorXd scales = ScalesOf(&problem_);
    const Rescaled objective(&problem_, lambda, scales);
    Eigen::VectorXd start = result->weights.cwiseProduct(scales);
    if (start.isZero(0)) {  // A kink of D.
      objective.Evaluate(Eigen::VectorXd::Zero(start.size()), &start);
      start *= -kFirstStep;
    }
    for (int round = 0; round < kMostRounds; ++round) {
      ASSIGN_OR_RETURN(const LbfgsResult found,
                       MinimizeByLbfgs(objective, start, options_, nullptr));
      result->passes += found.evaluations;
      if (!(found.value < result->objective)) break;
      result->objective = found.value;
      result->weights = found.point.cwiseQuotient(scales);
      start = found.point;
    }
    result->termination += "; L-BFGS";
    return absl::OkStatus();
  }

  static constexpr double kFirstStep = 1e-3;
  static constexpr int kMostRounds = 10;

  HingeProblem& problem_;
  const LbfgsOptions options_;
  std::unique_ptr<HingeSolver> ascent_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HingeProblem>> MakePulledListNet(
    std::span<const LabelledItems> queries, ListNetOptions::Target target,
    const OrderPull& pull) {
  RETURN_IF_ERROR(CheckQueries(queries, internal::kMostListNetRelevance));
  std::vector<std::unique_ptr<StructuredHinge>> terms;
  for (const LabelledItems& query : queries) {
    terms.push_back(
        internal::AllEqual(query.relevances)
            ? nullptr
            : std::make_unique<CrossEntropy>(
                  internal::TopProbabilities(query.relevances, target)));
  }
  auto problem = HingeProblem::Of(queries, std::move(terms), pull);
  if (problem != nullptr) return problem;
  return absl::InvalidArgumentError(absl::StrCat(
      "none of ", queries.size(),
      " queries has candidates of different relevances, at least 1 must"));
}

std::unique_ptr<HingeSolver> MakePulledListNetSolver(
    HingeProblem* problem, const LbfgsOptions& options) {
  return std::make_unique<PulledListNetSolver>(problem, options);
}

}  // namespace sortition
