#include "core/learners/hinge_problem.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/learners/game_queries.h"

namespace sortition {

using config::v1::HingeOptions;

absl::StatusOr<std::unique_ptr<HingeProblem>> HingeProblem::Create(
    std::span<const LabelledItems> queries, const HingeOptions& options) {
  RETURN_IF_ERROR(CheckQueries(queries));
  ASSIGN_OR_RETURN(const StructuredHinges hinges,
                   StructuredHinges::Create(options));
  std::unique_ptr<HingeProblem> problem(
      new HingeProblem(queries[0].items.num_features()));
  for (const LabelledItems& query : queries) {
    std::unique_ptr<StructuredHinge> hinge = hinges.Of(query.relevances);
    if (hinge == nullptr) continue;
    problem->queries_.push_back({query.items, std::move(hinge)});
  }
  if (problem->queries_.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "none of ", queries.size(), " queries has labels that say something ",
        "for ", HingeOptions::Loss_Name(options.loss()), ", at least 1 must"));
  }
  return problem;
}

void HingeProblem::Evaluate(size_t q, const Eigen::VectorXd& w,
                            RiskPlane* plane) {
  const Query& query = queries_[q];
  const uint32_t n = query.items.num_candidates();
  scores_.resize(n);
  slopes_.resize(n);
  ScoreAll(query.items, {w.data(), static_cast<size_t>(w.size())}, scores_);
  plane->offset = query.hinge->Evaluate(scores_, slopes_);
  plane->slope.setZero(dimension_);
  const std::span<double> slope(plane->slope.data(),
                                static_cast<size_t>(dimension_));
  for (uint32_t i = 0; i < n; ++i) {
    if (slopes_[i] != 0) query.items.AddRow(i, slopes_[i], slope);
  }
  plane->value = plane->offset + plane->slope.dot(w);
}

void HingeProblem::EvaluateAll(const Eigen::VectorXd& w, RiskPlane* mean) {
  *mean = {.slope = Eigen::VectorXd::Zero(dimension_)};
  for (size_t q = 0; q < num_queries(); ++q) {
    Evaluate(q, w, &plane_);
    mean->offset += plane_.offset;
    mean->slope += plane_.slope;
  }
  mean->offset /= static_cast<double>(num_queries());
  mean->slope /= static_cast<double>(num_queries());
  mean->value = mean->offset + mean->slope.dot(w);
}

}  // namespace sortition
