#pragma once
// J(w) = λ/2 ‖w‖² + (1/N) Σ_q H_q(X_q w), the structured hinges of N labelled
// queries (structured_hinge.h) and linear scores: what the solvers of
// hinge_solvers.h minimise.
#include <memory>
#include <span>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "core/data/labelled_items.h"
#include "core/learners/one_slack.h"
#include "core/learners/structured_hinge.h"

namespace sortition {

// One caller at a time.
class HingeProblem {
 public:
  // Of those queries whose labels say something; what they view must outlive
  // it. InvalidArgument as StructuredHinges::Create() and CheckQueries(), or
  // where no query says anything.
  static absl::StatusOr<std::unique_ptr<HingeProblem>> Create(
      std::span<const LabelledItems> queries,
      const config::v1::HingeOptions& options);

  size_t num_queries() const { return queries_.size(); }  // N
  Eigen::Index dimension() const { return dimension_; }

  // H_q at w: value = offset + slope·w, and offset + slope·v is at most H_q(v)
  // everywhere.
  void Evaluate(size_t q, const Eigen::VectorXd& w, RiskPlane* plane);
  // The mean of all.
  void EvaluateAll(const Eigen::VectorXd& w, RiskPlane* mean);

 private:
  struct Query {
    Candidates items;
    std::unique_ptr<StructuredHinge> hinge;
  };

  explicit HingeProblem(Eigen::Index dimension) : dimension_(dimension) {}

  const Eigen::Index dimension_;
  std::vector<Query> queries_;
  std::vector<double> scores_;
  std::vector<double> slopes_;
  RiskPlane plane_;
};

}  // namespace sortition
