#pragma once
// J(w) = λ/2 ‖w‖² + (1/N) Σ_q H_q(X_q w), the structured hinges of N labelled
// queries (structured_hinge.h) and linear scores: what the solvers of
// hinge_solver.h minimise. Trusted orders of N' queries add
// (weight/N') Σ_q d(X_q w‖σ_q): of each of the M queries that have a hinge or
// an order, the problem's terms are (M/N) H_q + (M weight/N') d_q, their mean
// what both add up to.
#include <memory>
#include <span>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "core/data/labelled_items.h"
#include "core/learners/hinge/structured_hinge.h"
#include "core/learners/labelled/trusted_orders.h"
#include "core/optim/one_slack.h"

namespace sortition {

// One caller at a time.
class HingeProblem {
 public:
  // Uses the queries with informative labels; with `pull`, which has orders of
  // `queries`, all queries. What the queries view and the orders must outlive
  // it. InvalidArgument as StructuredHinges::Create() and CheckQueries(), or if
  // no query has informative labels.
  static absl::StatusOr<std::unique_ptr<HingeProblem>> Create(
      std::span<const LabelledItems> queries,
      const config::v1::HingeOptions& options, const OrderPull& pull = {});

  // Uses functions of the queries' scores instead of the hinges of options;
  // null for queries without informative labels. Returns null if all are null.
  // Requires valid queries, and as many functions.
  static std::unique_ptr<HingeProblem> Of(
      std::span<const LabelledItems> queries,
      std::vector<std::unique_ptr<StructuredHinge>> hinges,
      const OrderPull& pull);

  size_t num_queries() const { return queries_.size(); }  // M; no pull: N
  Eigen::Index dimension() const { return dimension_; }
  // Lower bound of J for every w and λ, from the hinges' own bounds.
  double lower_bound() const { return lower_bound_; }

  // Writes a plane that touches the term of q at w, value = offset + slope·w,
  // and is nowhere above it.
  void Evaluate(size_t q, const Eigen::VectorXd& w, RiskPlane* plane);
  // Writes the mean of the terms' planes.
  void EvaluateAll(const Eigen::VectorXd& w, RiskPlane* mean);

 private:
  struct Query {
    Candidates items;
    std::unique_ptr<StructuredHinge> hinge;  // Null: only pulled.
    size_t index = 0;                        // Among all, the orders' too.
  };

  HingeProblem(Eigen::Index dimension, const OrderPull& pull)
      : dimension_(dimension), pull_(pull) {}

  const Eigen::Index dimension_;
  const OrderPull pull_;
  double hinge_scale_ = 1;  // M / N
  double pull_scale_ = 0;   // M weight / N'
  double lower_bound_ = 0;
  std::vector<Query> queries_;
  std::vector<double> scores_;
  std::vector<double> slopes_;
  RiskPlane plane_;
};

}  // namespace sortition
