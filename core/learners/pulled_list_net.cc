#include "core/learners/pulled_list_net.h"

#include <utility>

#include "core/base/status_macros.h"
#include "core/learners/bundled_objective.h"
#include "core/learners/list_net.h"

namespace sortition {
namespace {

constexpr Eigen::Index kMaxPlanes = 256;

class PulledListNet : public BundledObjective {
 public:
  PulledListNet(ListNetObjective entropy, double lambda, const OrderPull& pull)
      : BundledObjective(entropy.dimension(), kMaxPlanes),
        entropy_(std::move(entropy)),
        pull_(pull) {
    SetLambda(lambda);
  }

  double Evaluate(const Eigen::VectorXd& point,
                  Eigen::VectorXd* gradient) const override {
    Eigen::VectorXd slope;
    double risk = entropy_.Evaluate(point, &slope) - Penalty(point);
    slope -= lambda() * point;
    const double offset = risk - slope.dot(point);
    risk += pull_.orders->AddMean(
        pull_.weight, {point.data(), static_cast<size_t>(point.size())},
        {slope.data(), static_cast<size_t>(slope.size())});
    RecordPlane(offset, slope);
    RecordPoint(point, risk);
    if (gradient != nullptr) *gradient = lambda() * point + slope;
    return Penalty(point) + risk;
  }

 private:
  const ListNetObjective entropy_;
  const OrderPull pull_;
};

}  // namespace

absl::StatusOr<DescentResult> TrainPulledListNet(
    std::span<const GameQuery> queries, double lambda,
    const config::v1::ListNetOptions& options, const OrderPull& pull,
    const DescentWatcher& watcher) {
  ASSIGN_OR_RETURN(ListNetObjective entropy,
                   MakeListNetObjective(queries, lambda, options));
  const PulledListNet objective(std::move(entropy), lambda, pull);
  CertifiedDescent descent(&objective,
                           Eigen::VectorXd::Zero(objective.dimension()),
                           {.lbfgs = options.lbfgs(),
                            .gap_tolerance = kPulledListNetGap,
                            .relative = true,
                            .max_cuts = kMostPulledCuts},
                           watcher);
  RETURN_IF_ERROR(descent.Lbfgs("L-BFGS"));
  RETURN_IF_ERROR(descent.CuttingPlaneSteps());
  return std::move(descent).Finish();
}

}  // namespace sortition
