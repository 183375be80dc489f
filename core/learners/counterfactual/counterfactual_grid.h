#pragma once
// Trains over a grid of β, λ and μ in parallel, and chooses the best point by
// counterfactual validation [SwaminathanJoachims15, sec. 6]. The parent, the
// policy that is to be replaced, is a point of every grid.
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "core/base/parallel.h"
#include "core/base/progress_steps.h"
#include "core/counterfactual/diagnostics.h"
#include "core/counterfactual/loss_model.h"
#include "core/counterfactual/tuple_policy.h"
#include "core/learners/counterfactual/grid_risk.h"
#include "sortition/config/v1/poem.pb.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

// Supplies the data that grid points learn from, for any kind of action.
// Thread-safe; each object that it returns is for one thread.
class GridData {
 public:
  virtual ~GridData() = default;

  virtual absl::StatusOr<std::unique_ptr<TuplePolicy>> TrainPolicy() const = 0;
  virtual absl::StatusOr<std::unique_ptr<TuplePolicy>> ValidationPolicy()
      const = 0;

  // The rewards of validation decisions whose action no policy of the family
  // can choose.
  virtual std::vector<double> UnreachableRewards() const { return {}; }

  // Returns the unit of each parameter, which undoes the scale of the training
  // tuples' features (ScalesOf); empty: 1.
  virtual Eigen::VectorXd FeatureScales() const { return {}; }

  // Fits a model of the loss of the training tuples. Each call of the returned
  // function makes a copy for one thread.
  using LossModelCopies = std::function<std::unique_ptr<LossModel>()>;
  virtual absl::StatusOr<LossModelCopies> FitLossModel(
      const LossModelFit& fit) const = 0;

  // Prepares the risk that these options name; an empty function: that of the
  // tuples' weighted losses.
  virtual absl::StatusOr<MakeGridRisk> PrepareRisk(
      const config::v1::PoemOptions& /*options*/) const {
    return MakeGridRisk();
  }
  // Prepares a risk of the validation tuples with the same weights, by which
  // points are then ranked. Without one they are ranked by weights of whole
  // actions.
  virtual absl::StatusOr<ValidationRisk> PrepareValidationRisk(
      const config::v1::PoemOptions& /*options*/) const {
    return ValidationRisk();
  }
};

struct GridTask {
  const GridData* data = nullptr;
  config::v1::PoemOptions options = {};
  // The parent's parameters; empty: it is unknown or of another family.
  Eigen::VectorXd parent_start = {};
  // w₀ of PROXIMAL, from which points start, too; empty: the parent's.
  Eigen::VectorXd prior = {};
  double confidence = 0.95;          // Confidence of the points' intervals.
  ParallelFor parallel = SerialFor;  // Runs the points.
  StartProgress start_progress = NoProgress;
  // Called after training for each point that did not diverge, with its
  // parameters. May be empty.
  std::function<void(const model::v1::Evaluation::GridPoint&,
                     const Eigen::VectorXd&)>
      on_point = {};
};

struct GridOutcome {
  Eigen::VectorXd parameters = {};  // Parameters of the chosen point.
  double clip = 1;                  // M of the objective; infinity: no clip.
  // The parent, if there is one, as kNotTrained; then all points in the order
  // of the options. Rewards are scaled to [0, 1].
  std::vector<model::v1::Evaluation::GridPoint> points = {};
  // True: nothing that was trained is estimated to be better than the parent.
  bool keeps_parent = false;
  // False: the chosen point does what the log did, but for rounding.
  bool moved = true;
  // Set if SELF_NORMALISED left the log at all of its points, so that CRM was
  // learned instead: the mean weight of the best of them in validation.
  std::optional<MeanWeight> left_log = {};
};

// GridPoint.termination of the parent's own parameters.
inline constexpr char kNotTrained[] = "not trained";

// Returns `point` with its rewards, except validation_lower, converted from [0,
// 1] to their own units.
model::v1::Evaluation::GridPoint InRewardUnits(
    model::v1::Evaluation::GridPoint point, double reward_min,
    double reward_max);

// Trains every point on the training tuples. Points are ranked in validation by
// Gain::criterion(), the largest first: the self-normalised gain over the
// parent, or over the log if there is no parent, minus one standard error. The
// first point that passes all checks is chosen: its policy differs from the
// parent, the log supports it (MissesSupport), its effective sample size is
// sufficient (Gain::has_standard_error), and its gain is above 0. If no point
// passes, the parent is kept, so that no policy is chosen that is estimated to
// be worse than no change. Support and sample size are not checked if the data
// have their own risk; if they have one of the validation tuples, the gain is
// the difference of its terms (GainOfTerms). Without a parent, the best point
// is chosen even if it does not pass.
//
// Two other estimates are unsuitable for this choice. A few huge weights can
// dominate the unbiased estimate of eq. 1, which is reported too. A lower
// confidence bound that holds for any weights prefers points that differ little
// from the logging policy.
//
// Where exploration is rare, SELF_NORMALISED can leave the support of the log:
// only ratios of weights count, so that actions that were never logged cost
// nothing. If all its points miss support, the grid is trained again with CRM
// and its default λ; the discarded points follow in the list of points.
//
// The result does not depend on the number of threads. A point that diverges
// stays in the list as "diverged"; Internal if all trained points diverge.
// InvalidArgument if the options contradict each other (ValidatePoemOptions) or
// there are fewer than 2 tuples; FailedPrecondition if λ* is needed and all
// losses are equal.
absl::StatusOr<GridOutcome> TrainGrid(const GridTask& task);

}  // namespace sortition
