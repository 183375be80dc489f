#pragma once
// Minimises a BundledObjective until the result is proved to be good enough:
// L-BFGS on the (sub)gradient, then cutting planes [TeoEtAl10], which begin
// with all that was seen. After each step the planes bound the minimum from
// below, and the descent ends as soon as the gap is closed.
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
  double objective = 0;   // J(theta) is not above it.
  double dual_bound = 0;  // min J is not below it.
  uint32_t evaluations = 0;
  std::string termination;  // For people: what stopped each stage.
  bool stopped = false;     // By the caller.
  double gap() const { return objective - dual_bound; }
};

// Gets what is known after each step; true stops. May be empty.
using DescentWatcher = std::function<bool(const DescentResult& so_far)>;

struct DescentOptions {
  config::v1::LbfgsOptions lbfgs;
  double gap_tolerance = 1e-4;
  bool relative = false;  // gap_tolerance is a share of |J|.
  uint32_t max_cuts = 100;
};

class CertifiedDescent {
 public:
  // From `start`, of the objective's dimension; it must outlive this.
  CertifiedDescent(const BundledObjective* objective,
                   const Eigen::VectorXd& start, const DescentOptions& options,
                   DescentWatcher watcher);

  // Stages, in any order; each begins at the best point known and does nothing
  // once the descent is over. The objective's errors; those of
  // MinimizeByLbfgs().
  absl::Status Lbfgs(absl::string_view name);
  absl::Status CuttingPlaneSteps();

  // The gap is closed, or the watcher said so.
  bool over() const { return closed() || result_.stopped; }
  DescentResult Finish() &&;

 private:
  bool closed() const { return result_.gap() <= Tolerance(); }
  double Tolerance() const;
  void Note(absl::string_view what);
  // How exactly the bound is found: to a share of the tolerance, in so many
  // steps.
  struct Effort {
    double share;
    int max_steps;
  };
  // While L-BFGS runs, to cost little beside an evaluation.
  static constexpr Effort kLoose = {0.1, 200};
  // Where the bound's point is the next one.
  static constexpr Effort kTight = {1e-3, 20000};

  // Bounds from what is known.
  absl::Status Certify(const Effort& effort);
  // Certify() and tell the watcher.
  absl::Status Step(const Effort& effort);

  const BundledObjective& objective_;
  const DescentOptions options_;
  const DescentWatcher watcher_;
  DescentResult result_;
  Eigen::VectorXd model_minimum_;
  const uint32_t first_evaluation_;
};

}  // namespace sortition
