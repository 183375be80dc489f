#pragma once
// The frame of learners from labelled queries: each is one file with a factory
// that learners.cc lists. The trainer reads, splits, compares, publishes; it
// does not know which learner it runs.
//
// What is learned is linear: s = w·x, and an action's policy around it. A
// learner that needs a threshold of relevance asks for a constant feature,
// which the trainer appends to every item; its weight, negated, is the
// threshold.
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
#include "core/learners/labelled/trusted_orders.h"
#include "google/protobuf/message.h"
#include "sortition/config/v1/learner.pb.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

// What is true of all queries.
struct LabelledShape {
  uint32_t num_features = 0;   // Without a constant one.
  uint32_t max_relevance = 0;  // The largest there is.
};

// A point of the learner's grid.
struct LabelledPoint {
  double lambda = 0;
  double objective = 0;
  std::optional<double> dual_bound;  // The minimum is not below it.
  // How near it objective is to be; unset: LabelledLearner.gap_tolerance().
  std::optional<double> gap_tolerance = {};
  uint32_t passes = 0;    // Over the training queries.
  double validation = 0;  // Mean measure, higher is better.
  // On the training queries; unset: no order is trusted.
  std::optional<TrustedOrders::Distance> from_trusted = {};
  std::string setting = {};  // Of the grid beside lambda, for people.
  std::string termination;
};

struct LabelledTask {
  std::span<const LabelledItems> training;
  std::span<const LabelledItems> validation;  // What chooses the point.
  // Of the training queries; null: none. All points are trained with each of
  // the weights, of which there must be one then, finite and at least 0.
  const TrustedOrders* trusted_orders = nullptr;
  std::vector<double> trusted_weights = {};
  ParallelFor parallel_for = SerialFor;
  // After each step of the descent to the given point. May be empty.
  std::function<void(size_t point)> on_step = {};
};

struct LabelledResult {
  // Of the chosen point, as Model.weights; a constant feature's is the last.
  std::vector<double> weights;
  std::vector<double> transitions = {};  // Of a label_chain, q × q by rows.
  std::vector<double> standard_errors = {};  // Of the weights; empty: unknown.
  std::vector<LabelledPoint> points;
  size_t chosen = 0;
};

// What the caller says of the policy.
struct LabelledPolicyTask {
  ActionKind action_kind = ActionKind::kRank;
  double inverse_temperature = 1;
  double uniform_mixture = 0;
  double threshold = 0;                  // Of relevance, in units of s.
  std::vector<double> transitions = {};  // LabelledResult.transitions.
  config::v1::GamePolicyOptions game = {};
  config::v1::RankPolicyOptions rank = {};
};

// Immutable.
class LabelledLearner {
 public:
  virtual ~LabelledLearner() = default;

  // As in force, defaults that depend on the data filled in.
  virtual const google::protobuf::Message& options() const = 0;
  // What it learns for; policies are compared by it.
  virtual LabelMeasure measure() const = 0;
  // What LabelledPoint.validation is, for people.
  virtual std::string validation_name() const {
    return measure().Name() + " without lot";
  }
  // Whether the inverse temperature is chosen after training; else it is 1.
  virtual bool has_temperature() const { return true; }
  virtual bool needs_constant() const { return false; }
  virtual ActionKind default_action() const { return ActionKind::kRank; }
  // How near the minimum a point is to be that does not say so itself; 0: it
  // has no dual bound.
  virtual double gap_tolerance() const { return 0; }
  // Whether points are pulled towards LabelledTask.trusted_orders; else Train()
  // refuses them.
  virtual bool trusts_orders() const { return false; }
  // How many steps a point takes at most, and how many points there are.
  virtual uint32_t most_steps() const = 0;
  virtual size_t num_points() const = 0;  // For each weight of trusted orders.

  // Deterministic, whatever parallel_for is. InvalidArgument or
  // FailedPrecondition where nothing can be learned from the data;
  // InvalidArgument also as CheckTrusted().
  virtual absl::StatusOr<LabelledResult> Train(
      const LabelledTask& task) const = 0;

  // The policy of s. InvalidArgument for an action that the learner's measure
  // has no policy for, and for options without meaning.
  virtual absl::StatusOr<model::v1::Policy> MakePolicy(
      const LabelledPolicyTask& task) const = 0;
};

// Of task.trusted_orders: InvalidArgument where the learner has no use for
// them, they are of other queries, or their weights are none or out of range.
absl::Status CheckTrusted(const LabelledLearner& learner,
                          const LabelledTask& task);

// From the learner's options, InvalidArgument where they contradict each other
// or the data.
using LabelledLearnerFactory =
    absl::StatusOr<std::unique_ptr<LabelledLearner>> (*)(
        const google::protobuf::Message& options, const LabelledShape& shape);

}  // namespace sortition
