#pragma once
// Most learners from labels are one core function, tried on a grid of settings:
// each point is trained by itself, and the best on validation queries is taken.
// This is all of such a learner but that function.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/learners/labelled/labelled_learner.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

// What training a point gave.
struct GridFit {
  std::vector<double> weights;               // As LabelledResult.weights.
  std::vector<double> transitions = {};      // As LabelledResult.transitions.
  std::vector<double> standard_errors = {};  // As those of LabelledResult.
  double objective = 0;
  std::optional<double> dual_bound = {};  // The minimum is not below it.
  // How near it objective is to be; unset: GridSpec.gap_tolerance.
  std::optional<double> gap_tolerance = {};
  uint32_t passes = 0;           // Over the training queries.
  std::string termination = {};  // For people.
};

struct GridPoint {
  double lambda = 0;
  std::string setting = {};  // Of the grid beside lambda, for people.
  // `on_step` is never empty; calls beyond GridSpec.most_steps do not count.
  std::function<absl::StatusOr<GridFit>(const LabelledTask& task,
                                        const std::function<void()>& on_step)>
      fit;
};

struct GridSpec {
  std::shared_ptr<const google::protobuf::Message> options;  // In force.
  LabelMeasure measure;
  ActionKind default_action = ActionKind::kRank;
  std::vector<ActionKind> actions = {ActionKind::kRank};  // That are allowed.
  bool has_temperature = true;
  bool needs_constant = false;
  double gap_tolerance = 0;    // Of fits without; 0: they have no dual bound.
  uint32_t most_steps = 1;     // Of a point.
  size_t num_points = 1;       // That `points` returns.
  bool trusts_orders = false;  // Points are pulled by PullOf().
  // In the order in which they are trained, one after another; those of one
  // call may share what they learn, as a start. Not called with empty parts.
  // Called for each weight of trusted orders; that of a task is PullOf().
  std::function<absl::StatusOr<std::vector<GridPoint>>(
      const LabelledTask& task)>
      points;
  // Of a validation query, higher is better; empty: the measure of
  // ActionByScore(), with threshold 0 (a constant feature has a weight). Must
  // be set for kAccuracy, and where there are more weights than features.
  std::function<absl::StatusOr<double>(const LabelledItems& query,
                                       const GridFit& fit)>
      validate = {};
  std::string validation_name = {};  // Of that; empty: of the measure.
  // Of an allowed action; empty: MakeRankPolicy().
  std::function<absl::StatusOr<model::v1::Policy>(
      const LabelledPolicyTask& task)>
      make_policy = {};
};

// What trusted orders pull with: of a task that points or their fits get, which
// has one weight at most.
OrderPull PullOf(const LabelledTask& task);

// Takes the point with the largest mean over the validation queries; of equal
// ones that of larger lambda, then of smaller weight of trusted orders, then
// the first.
class GridLearner : public LabelledLearner {
 public:
  explicit GridLearner(GridSpec spec) : spec_(std::move(spec)) {}

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
                                  const GridFit& fit) const;
  // The points of one weight, behind those that `result` has.
  absl::Status TrainPoints(const LabelledTask& task,
                           LabelledResult* result) const;

  const GridSpec spec_;
};

// The measure of orders by which λ is chosen where a learner names no other:
// DCG of the first 10 ranks, of GradedGains(). InvalidArgument where
// max_relevance is above 31.
absl::StatusOr<LabelMeasure> OrderMeasure(const LabelledShape& shape,
                                          uint32_t k = 10);

// The same of all ranks and of gains that grow with the relevance, l /
// max_relevance.
absl::StatusOr<LabelMeasure> LinearOrderMeasure(const LabelledShape& shape);

}  // namespace sortition
