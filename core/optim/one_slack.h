#pragma once
// Minimises J(w) = λ/2 ‖w‖² + R(w) for a convex R that an oracle bounds from
// below by planes: the one-slack form of structured learners
// [JoachimsFinleyYu09],
//
//   min_{w,ξ} λ/2 ‖w‖² + ξ  with  ξ >= offset + slope·w for every plane,
//
// where R is the mean (or sum) of structured hinges over examples. The oracle
// defines examples, labels and loss-augmented inference.
//
// Unlike [JoachimsFinleyYu09], the next point is not the minimum of the model,
// which is far away as long as there are few planes and λ is small. It is the
// minimum of the model plus ρ/2 ‖w - c‖², where c is the best known point and ρ
// is controlled as in [Kiwiel90]. The minimum of the model itself still bounds
// min J from below; the search ends when the gap to it is closed.
#include <cstdint>
#include <functional>

#include "Eigen/Core"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/optim/cutting_planes.h"
#include "sortition/config/v1/optim.pb.h"

namespace sortition {

struct RiskPlane {
  double value = 0;   // Upper bound of R(w).
  double offset = 0;  // R(v) >= offset + slope·v for every v.
  Eigen::VectorXd slope;
};
// Fills in a plane and an upper bound of R at w. For an exact oracle, value =
// offset + slope·w. For an approximate oracle the difference should be at most
// `tolerance`; otherwise the search may not be able to close its gap. Must be
// deterministic.
using RiskOracle = std::function<absl::Status(
    const Eigen::VectorXd& w, double tolerance, RiskPlane* plane)>;

enum class OneSlackTermination { kGap, kMaxIterations, kStalled };
absl::string_view OneSlackTerminationName(OneSlackTermination termination);

struct OneSlackResult {
  Eigen::VectorXd weights;
  double objective = 0;   // Upper bound of J(weights).
  double dual_bound = 0;  // Lower bound of min J.
  uint32_t evaluations = 0;
  OneSlackTermination termination = OneSlackTermination::kMaxIterations;
  double gap() const { return objective - dual_bound; }
};

// Keeps the planes from one call to the next. They do not depend on λ, so that
// a path of several λ costs little more than a single one.
class OneSlackSolver {
 public:
  OneSlackSolver(RiskOracle oracle, Eigen::Index dimension,
                 const config::v1::OneSlackOptions& options);

  // Minimises J from `start` (empty: 0). Deterministic. InvalidArgument if
  // lambda is not positive and finite, or if the start has the wrong size or is
  // not finite; Internal if the oracle's numbers are not finite; errors of the
  // oracle.
  absl::StatusOr<OneSlackResult> Minimise(double lambda,
                                          const Eigen::VectorXd& start);

 private:
  class Proximity;

  absl::Status CheckStart(double lambda, const Eigen::VectorXd& start) const;
  // Asks the oracle for plane_ at w and adds it to planes_.
  absl::Status Evaluate(const Eigen::VectorXd& w, double tolerance);
  void RaiseBound(double lambda, OneSlackResult* result);
  // Evaluates the minimum of the model near result->weights and moves there if
  // J decreases enough. Returns the decrease that the model promised.
  absl::StatusOr<double> Step(double lambda, Proximity* proximity,
                              OneSlackResult* result);

  const RiskOracle oracle_;
  const config::v1::OneSlackOptions options_;
  CuttingPlanes planes_;
  RiskPlane plane_;  // The last one.
};

}  // namespace sortition
