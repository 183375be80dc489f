#pragma once
// J(w) = λ/2 ‖w‖² + (1/N) Σ_q H_q(X_q w), the function that the solvers of
// hinge_solver.h minimise: the structured hinges of N labelled queries
// (structured_hinge.h) with linear scores. Trusted orders of N' queries add
// (weight/N') Σ_q d(X_q w‖σ_q). The terms of the problem are (M/N) H_q + (M
// weight/N') d_q for each of the M queries that have a hinge or an order. Their
// mean is the sum of both parts.
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
  // Uses the queries with informative labels, or, with `pull`, which has orders
  // of `queries`, all queries. What the queries view and the orders must
  // outlive it. InvalidArgument for the reasons of StructuredHinges::Create()
  // and CheckQueries(), and if no query has informative labels.
  static absl::StatusOr<std::unique_ptr<HingeProblem>> Create(
      std::span<const LabelledItems> queries,
      const config::v1::HingeOptions& options, const OrderPull& pull = {});

  // Uses functions of the queries' scores instead of the hinges of options,
  // null for queries without informative labels. Returns null if all are null.
  // Requires valid queries, and one function for each.
  static std::unique_ptr<HingeProblem> Of(
      std::span<const LabelledItems> queries,
      std::vector<std::unique_ptr<StructuredHinge>> hinges,
      const OrderPull& pull);

  size_t num_queries() const { return queries_.size(); }  // M; without pull: N.
  Eigen::Index dimension() const { return dimension_; }
  // A lower bound of J for every w and λ, from the hinges' own bounds.
  double lower_bound() const { return lower_bound_; }

  // Writes a plane, value = offset + slope·w, that touches the term of q at w
  // and is nowhere above it.
  void Evaluate(size_t q, const Eigen::VectorXd& w, RiskPlane* plane);
  // Writes the mean of the terms' planes.
  void EvaluateAll(const Eigen::VectorXd& w, RiskPlane* mean);

 private:
  struct Query {
    Candidates items;
    std::unique_ptr<StructuredHinge> hinge;  // Null: the query is only pulled.
    size_t index = 0;  // Its index among all queries, as in the orders.
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
