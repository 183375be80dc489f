#pragma once
// Minimises a BundledObjective until the result is proved to be good enough:
// first by L-BFGS with the (sub)gradient, then by cutting planes [TeoEtAl10],
// which begin with all planes recorded so far. After each step the planes bound
// the minimum from below, and the descent ends as soon as the gap is closed.
#include <cstdint>
#include <functional>
#include <string>

#include "Eigen/Core"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/optim/bundled_objective.h"
#include "sortition/config/v1/optim.pb.h"

namespace sortition {

struct DescentResult {
  Eigen::VectorXd theta;
  double objective = 0;   // Upper bound of J(theta).
  double dual_bound = 0;  // Lower bound of min J.
  uint32_t evaluations = 0;
  std::string termination;  // What ended each stage, for people.
  bool stopped = false;     // The watcher ended the descent.
  double gap() const { return objective - dual_bound; }
};

// Called with the current result after each step; returning true ends the
// descent. May be empty.
using DescentWatcher = std::function<bool(const DescentResult& so_far)>;

struct DescentOptions {
  config::v1::LbfgsOptions lbfgs;
  double gap_tolerance = 1e-4;
  bool relative = false;  // gap_tolerance is a share of |J|.
  uint32_t max_cuts = 100;
};

class CertifiedDescent {
 public:
  // Starts at `start`, which must have the dimension of `objective`. The
  // objective must outlive this object.
  CertifiedDescent(const BundledObjective* objective,
                   const Eigen::VectorXd& start, const DescentOptions& options,
                   DescentWatcher watcher);

  // The stages, to be called in any order. Each begins at the best known point
  // and does nothing once the descent is over. Return errors of the objective
  // and of MinimizeByLbfgs().
  absl::Status Lbfgs(absl::string_view name);
  absl::Status CuttingPlaneSteps();

  // True if the gap is closed or the watcher ended the descent.
  bool over() const { return closed() || result_.stopped; }
  DescentResult Finish() &&;

 private:
  bool closed() const { return result_.gap() <= Tolerance(); }
  double Tolerance() const;
  void Note(absl::string_view what);
  // How precisely the bound is computed: up to `share` of the tolerance, in at
  // most `max_steps`.
  struct Effort {
    double share;
    int max_steps;
  };
  // For L-BFGS: costs little compared with an evaluation.
  static constexpr Effort kLoose = {0.1, 200};
  // For cutting planes, which use the minimum of the model as the next point.
  static constexpr Effort kTight = {1e-3, 20000};

  // Updates the bounds of the result.
  absl::Status Certify(const Effort& effort);
  // Calls Certify() and then the watcher.
  absl::Status Step(const Effort& effort);

  const BundledObjective& objective_;
  const DescentOptions options_;
  const DescentWatcher watcher_;
  DescentResult result_;
  Eigen::VectorXd model_minimum_;
  const uint32_t first_evaluation_;
};

}  // namespace sortition
