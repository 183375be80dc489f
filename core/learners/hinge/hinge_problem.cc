#include "core/learners/hinge/hinge_problem.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/data/labelled_items.h"
#include "core/data/labelled_queries.h"

namespace sortition {

using config::v1::HingeOptions;

absl::StatusOr<std::unique_ptr<HingeProblem>> HingeProblem::Create(
    std::span<const LabelledItems> queries, const HingeOptions& options,
    const OrderPull& pull) {
  RETURN_IF_ERROR(CheckQueries(queries));
  ASSIGN_OR_RETURN(const StructuredHinges hinges,
                   StructuredHinges::Create(options));
  std::vector<std::unique_ptr<StructuredHinge>> of;
  for (const LabelledItems& query : queries) {
    of.push_back(hinges.Of(query.relevances));
  }
  std::unique_ptr<HingeProblem> problem = Of(queries, std::move(of), pull);
  if (problem != nullptr) return problem;
  return absl::InvalidArgumentError(absl::StrCat(
      "none of ", queries.size(), " queries has informative labels for ",
      HingeOptions::Loss_Name(options.loss()), ", at least 1 must"));
}

std::unique_ptr<HingeProblem> HingeProblem::Of(
    std::span<const LabelledItems> queries,
    std::vector<std::unique_ptr<StructuredHinge>> hinges,
    const OrderPull& pull) {
  std::unique_ptr<HingeProblem> problem(
      new HingeProblem(queries[0].items.num_features(), pull));
  size_t hinged = 0;
  for (size_t q = 0; q < queries.size(); ++q) {
    if (hinges[q] != nullptr) {
      ++hinged;
      problem->lower_bound_ += hinges[q]->LowerBound();
    }
    if (hinges[q] == nullptr && pull.orders == nullptr) continue;
    problem->queries_.push_back({queries[q].items, std::move(hinges[q]), q});
  }
  if (hinged == 0) return nullptr;
  problem->lower_bound_ /= static_cast<double>(hinged);
  const auto all = static_cast<double>(problem->queries_.size());
  problem->hinge_scale_ = all / static_cast<double>(hinged);
  if (pull.orders != nullptr) {
    problem->pull_scale_ =
        all * pull.weight / static_cast<double>(pull.orders->num_queries());
  }
  return problem;
}

void HingeProblem::Evaluate(size_t q, const Eigen::VectorXd& w,
                            RiskPlane* plane) {
  const Query& query = queries_[q];
  const std::span<const double> weights(w.data(),
                                        static_cast<size_t>(w.size()));
  plane->offset = 0;
  plane->slope.setZero(dimension_);
  const std::span<double> slope(plane->slope.data(),
                                static_cast<size_t>(dimension_));
  if (query.hinge != nullptr) {
    const uint32_t n = query.items.num_candidates();
    scores_.resize(n);
    slopes_.resize(n);
    ScoreAll(query.items, weights, scores_);
    plane->offset = hinge_scale_ * query.hinge->Evaluate(scores_, slopes_);
    for (uint32_t i = 0; i < n; ++i) {
      if (slopes_[i] == 0) continue;
      query.items.AddRow(i, hinge_scale_ * slopes_[i], slope);
    }
  }
  if (pull_.orders != nullptr) {
    pull_.orders->Add(query.index, pull_scale_, weights, slope);
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
