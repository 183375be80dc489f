#pragma once
// Minimises J(w) = λ/2 ‖w‖² + R(w) for a convex R that an oracle bounds by
// planes: the one-slack form of structured learners [JoachimsFinleyYu09],
//
//   min_{w,ξ} λ/2 ‖w‖² + ξ  with  ξ >= offset + slope·w for every plane,
//
// R the mean (or sum) over examples of structured hinges. What an example is,
// its labels and its loss-augmented inference are the oracle's.
//
// Unlike [JoachimsFinleyYu09] the next point is not the model's minimum, which
// flies far off while planes are few and λ is small, but the model's minimum
// with a term ρ/2 ‖w - c‖² besides, c the best point known and ρ controlled as
// in [Kiwiel90]. The model's own minimum still bounds min J from below; the gap
// to it is what ends the search.
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
  double value = 0;   // R(w) is not above it.
  double offset = 0;  // R(v) >= offset + slope·v for every v.
  Eigen::VectorXd slope;
};
// Fills in what is known of R at w. Of an exact oracle, value = offset +
// slope·w; an oracle that approximates should leave no wider gap between them
// than `tolerance`, or the search may end with a gap of its own. Deterministic.
using RiskOracle = std::function<absl::Status(
    const Eigen::VectorXd& w, double tolerance, RiskPlane* plane)>;

enum class OneSlackTermination { kGap, kMaxIterations, kStalled };
absl::string_view OneSlackTerminationName(OneSlackTermination termination);

struct OneSlackResult {
  Eigen::VectorXd weights;
  double objective = 0;   // J(weights) is not above it.
  double dual_bound = 0;  // min J is not below it.
  uint32_t evaluations = 0;
  OneSlackTermination termination = OneSlackTermination::kMaxIterations;
  double gap() const { return objective - dual_bound; }
};

// Keeps the planes from one call to the next: they do not depend on λ, so that
// a path of λ costs little more than one of them.
class OneSlackSolver {
 public:
  OneSlackSolver(RiskOracle oracle, Eigen::Index dimension,
                 const config::v1::OneSlackOptions& options);

  // From `start` (empty: 0). Deterministic. InvalidArgument where lambda is not
  // above 0 and finite, or the start has another size or is not finite;
  // Internal where the oracle's numbers are not finite; the oracle's errors.
  absl::StatusOr<OneSlackResult> Minimise(double lambda,
                                          const Eigen::VectorXd& start);

 private:
  class Proximity;

  absl::Status CheckStart(double lambda, const Eigen::VectorXd& start) const;
  // Fills plane_ and adds it.
  absl::Status Evaluate(const Eigen::VectorXd& w, double tolerance);
  void RaiseBound(double lambda, OneSlackResult* result);
  // To the least point of the model near result->weights, if J is less there.
  // By how much the model promised that.
  absl::StatusOr<double> Step(double lambda, Proximity* proximity,
                              OneSlackResult* result);

  const RiskOracle oracle_;
  const config::v1::OneSlackOptions options_;
  CuttingPlanes planes_;
  RiskPlane plane_;  // The last.
};

}  // namespace sortition
