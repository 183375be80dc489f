#pragma once
// The part that learners with hyper-parameters share: a core function is
// trained at several points (a λ, and what else the learner tunes), and
// validation queries choose the best. A learner supplies the core function and
// its points.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/learners/labelled/feature_scale.h"
#include "core/learners/labelled/labelled_learner.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

// The result of training at a point.
struct PointFit {
  std::vector<double> weights;                        // As in LabelledResult.
  std::optional<model::v1::TreeEnsemble> trees = {};  // As in LabelledResult.
  // Writes the score of each item; empty: w·x.
  std::function<void(const Candidates& items, std::span<double> scores)> score =
      {};
  std::vector<double> transitions = {};      // As in LabelledResult.
  std::vector<double> standard_errors = {};  // As in LabelledResult.
  double objective = 0;
  std::optional<double> dual_bound = {};  // The minimum is not below it.
  // Gap to dual_bound that training aimed at; unset:
  // TunedLearnerSpec.gap_tolerance.
  std::optional<double> gap_tolerance = {};
  uint32_t passes = 0;           // Over the training queries.
  std::string termination = {};  // For people.
  std::string note = {};         // LabelledResult.note if this is chosen.
};

struct TuningPoint {
  double lambda = 0;
  std::string setting = {};  // What is tuned besides lambda, for people.
  // `on_step` is never empty; calls beyond TunedLearnerSpec.most_steps do not
  // count.
  std::function<absl::StatusOr<PointFit>(const LabelledTask& task,
                                         const std::function<void()>& on_step)>
      fit;
};

struct TunedLearnerSpec {
  std::shared_ptr<const google::protobuf::Message> options;  // In force.
  LabelMeasure measure;
  ActionKind default_action = ActionKind::kRank;
  std::vector<ActionKind> actions = {ActionKind::kRank};  // Those allowed.
  bool has_temperature = true;
  bool needs_constant = false;
  // For fits that set none; 0: fits have no dual bound.
  double gap_tolerance = 0;
  uint32_t most_steps = 1;     // Maximum per point.
  size_t num_points = 1;       // Maximum number of points of `points`.
  bool trusts_orders = false;  // Fits are pulled by PullOf().
  // True: points and fits get a task with scaled features (feature_scale.h),
  // and their weights and standard errors are converted to original units.
  // False for learners whose result does not depend on the scale of features.
  bool scales_features = true;
  // Number of consecutive weights of a fit that multiply the same feature.
  size_t weights_per_feature = 1;
  // Returns the points in the order in which they are trained, one after
  // another; points of one call may share state, for example to start from the
  // previous result. Called once for each weight of trusted orders
  // (PullOf(task) has it), never with empty parts.
  std::function<absl::StatusOr<std::vector<TuningPoint>>(
      const LabelledTask& task)>
      points;
  // Returns the quality of a fit on a validation query, higher is better.
  // Empty: MeasureByScore() with threshold 0 (the constant feature has a
  // weight). Must be set for kAccuracy and if there are more weights than
  // features.
  std::function<absl::StatusOr<double>(const LabelledItems& query,
                                       const PointFit& fit)>
      validate = {};
  // Name of that quality; empty: LabelledLearner::validation_name().
  std::string validation_name = {};
  // Makes the policy of an allowed action; empty: MakeRankPolicy().
  std::function<absl::StatusOr<model::v1::Policy>(
      const LabelledPolicyTask& task)>
      make_policy = {};
};

// Trains one λ; see TuningPoint::fit.
using FitAtLambda = std::function<absl::StatusOr<PointFit>(
    const LabelledTask& task, double lambda,
    const std::function<void()>& on_step)>;

// Returns a point for each λ, without other settings, that `fit` trains.
std::vector<TuningPoint> PointsAt(const std::vector<double>& lambdas,
                                  const FitAtLambda& fit);

// Returns the trusted orders of `task` and their weight. Returns none if there
// are no orders or their weight is 0: training then is exactly as without them.
// Requires a task with at most one weight, which is what points and fits get.
OrderPull PullOf(const LabelledTask& task);

// Chooses the point with the largest mean quality over the validation queries.
// Ties go to the larger lambda, then to the smaller weight of trusted orders,
// then to the first.
class TunedLearner : public LabelledLearner {
 public:
  explicit TunedLearner(TunedLearnerSpec spec) : spec_(std::move(spec)) {}

  const google::protobuf::Message& options() const override {
    return *spec_.options;
  }
  LabelMeasure measure() const override { return spec_.measure; }
  std::string validation_name() const override {
    return spec_.validation_name.empty() ? LabelledLearner::validation_name()
                                         : spec_.validation_name;
  }
  bool has_temperature() const override { return spec_.has_temperature; }
  bool needs_constant() const override { return spec_.needs_constant; }
  ActionKind default_action() const override { return spec_.default_action; }
  double gap_tolerance() const override { return spec_.gap_tolerance; }
  bool trusts_orders() const override { return spec_.trusts_orders; }
  uint32_t most_steps() const override { return spec_.most_steps; }
  size_t num_points() const override { return spec_.num_points; }
  absl::StatusOr<LabelledResult> Train(const LabelledTask& task) const override;
  absl::StatusOr<model::v1::Policy> MakePolicy(
      const LabelledPolicyTask& task) const override;

 private:
  absl::StatusOr<double> Validate(const LabelledTask& task,
                                  const PointFit& fit) const;
  // Appends the points of one weight of trusted orders, that of `task`, to
  // `result`. `scaled` is null if features are not scaled.
  absl::Status TrainPoints(const LabelledTask& task, const ScaledTask* scaled,
                           LabelledResult* result) const;

  const TunedLearnerSpec spec_;
};

// Returns the measure of rankings that chooses λ unless a learner names
// another: DCG of the first k ranks with GradedGains(). InvalidArgument if
// max_relevance is above 31.
absl::StatusOr<LabelMeasure> OrderMeasure(const LabelledShape& shape,
                                          uint32_t k = 10);

// Returns DCG of all ranks with gains linear in the relevance, l /
// max_relevance. Errors as OrderMeasure().
absl::StatusOr<LabelMeasure> LinearOrderMeasure(const LabelledShape& shape);

}  // namespace sortition
