#pragma once
// The interface of learners from labelled queries. Each is one file with a
// factory that learners.cc lists. The trainer reads and splits data, compares
// and publishes policies; it does not know which learner it runs.
//
// What is learned is linear: scores s = w·x, and a policy for an action that
// uses them. A learner that needs a threshold of relevance asks for a constant
// feature, which the trainer appends to every item. Its weight, negated, is the
// threshold. A learner of trees returns them beside the weights: their score is
// one feature more.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/parallel.h"
#include "core/data/action.h"
#include "core/data/labelled_items.h"
#include "core/learners/labelled/label_measure.h"
#include "core/learners/labelled/trained_trees.h"
#include "core/learners/labelled/trusted_orders.h"
#include "google/protobuf/message.h"
#include "sortition/config/v1/labelled.pb.h"
#include "sortition/model/v1/model.pb.h"
#include "sortition/model/v1/trees.pb.h"

namespace sortition {

// What holds for all queries.
struct LabelledShape {
  uint32_t num_features = 0;   // Without a constant feature.
  uint32_t max_relevance = 0;  // The largest in the data.
};

// The outcome of one setting of the learner.
struct LabelledPoint {
  double lambda = 0;
  double objective = 0;
  std::optional<double> dual_bound;  // Lower bound of the minimum.
  // Gap that training aimed at; unset: LabelledLearner.gap_tolerance().
  std::optional<double> gap_tolerance = {};
  uint32_t passes = 0;    // Over the training queries.
  double validation = 0;  // Mean measure, higher is better.
  // Distance of the training queries' scores from the trusted orders; unset:
  // there are none.
  std::optional<TrustedOrders::Distance> from_trusted = {};
  std::string setting = {};  // What is tuned besides lambda, for people.
  std::string termination;
};

struct LabelledTask {
  std::span<const LabelledItems> training;
  std::span<const LabelledItems> validation;  // Chooses the point.
  // Trusted orders of the training queries; null: none. All points are trained
  // with each of the weights, of which there must be at least one. Each must be
  // finite and at least 0.
  const TrustedOrders* trusted_orders = nullptr;
  std::vector<double> trusted_weights = {};
  ParallelFor parallel_for = SerialFor;
  // Trains trees; empty: this program cannot.
  TreeTrainer train_trees = {};
  // Called after each step of the training of a point. May be empty.
  std::function<void(size_t point)> on_step = {};
};

struct LabelledResult {
  // Weights of the chosen point, as in Model.weights. The weight of a constant
  // feature is last.
  std::vector<double> weights;
  // Their score is a feature behind all others, whose weight is the last one;
  // unset: none were trained.
  std::optional<model::v1::TreeEnsemble> trees = {};
  std::vector<double> transitions = {};      // For label_chain: q × q by rows.
  std::vector<double> standard_errors = {};  // For each weight; empty: unknown.
  std::vector<LabelledPoint> points;
  size_t chosen = 0;
  std::string note = {};  // Remark on the choice for the user; may be empty.
};

// The policy that the caller wants.
struct LabelledPolicyTask {
  ActionKind action_kind = ActionKind::kRank;
  double inverse_temperature = 1;
  double uniform_mixture = 0;
  double threshold = 0;  // Threshold of relevance, in units of s.
  std::vector<double> transitions = {};  // LabelledResult.transitions.
  config::v1::GamePolicyOptions game = {};
  config::v1::RankPolicyOptions rank = {};
};

// Immutable.
class LabelledLearner {
 public:
  virtual ~LabelledLearner() = default;

  // Returns the options in force, including defaults that depend on the data.
  virtual const google::protobuf::Message& options() const = 0;
  // Returns the measure that the learner optimises and policies are compared
  // by.
  virtual LabelMeasure measure() const = 0;
  // Returns the name of LabelledPoint.validation, for people.
  virtual std::string validation_name() const {
    return measure().Name() + ", deterministic";
  }
  // True if the inverse temperature is chosen after training; otherwise it
  // is 1.
  virtual bool has_temperature() const { return true; }
  virtual bool needs_constant() const { return false; }
  virtual ActionKind default_action() const { return ActionKind::kRank; }
  // Gap that training aims at for points that do not set their own; 0: points
  // have no dual bound.
  virtual double gap_tolerance() const { return 0; }
  // True if points are pulled towards LabelledTask.trusted_orders; otherwise
  // Train() refuses them.
  virtual bool trusts_orders() const { return false; }
  // Return the maximum number of steps per point, and of points.
  virtual uint32_t most_steps() const = 0;
  virtual size_t num_points()
      const = 0;  // For each weight of the trusted orders.

  // Trains all points and chooses one. The result does not depend on
  // parallel_for. InvalidArgument or FailedPrecondition if nothing can be
  // learned from the data; InvalidArgument also as CheckTrusted().
  virtual absl::StatusOr<LabelledResult> Train(
      const LabelledTask& task) const = 0;

  // Returns the policy that draws by the scores s. InvalidArgument for an
  // action without a policy for the learner's measure, and for options without
  // meaning.
  virtual absl::StatusOr<model::v1::Policy> MakePolicy(
      const LabelledPolicyTask& task) const = 0;
};

// Checks the training and validation queries. InvalidArgument for the reasons
// of CheckQueries(), and if the parts differ in their number of features.
absl::Status CheckParts(const LabelledTask& task);

// Checks task.trusted_orders. InvalidArgument if the learner cannot use them,
// if they belong to other queries, or if weights are missing or out of range.
absl::Status CheckTrusted(const LabelledLearner& learner,
                          const LabelledTask& task);

}  // namespace sortition
