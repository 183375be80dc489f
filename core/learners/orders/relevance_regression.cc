#include "core/learners/orders/relevance_regression.h"

#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/learners/labelled/candidate_rows.h"
#include "core/optim/ridge.h"

namespace sortition {

absl::StatusOr<RegressionResult> FitRelevance(
    std::span<const LabelledItems> queries, double l2) {
  if (!(l2 >= 0 && l2 < HUGE_VAL)) {
    return absl::InvalidArgumentError(
        absl::StrCat("l2 is ", l2, ", must be finite and at least 0"));
  }
  RETURN_IF_ERROR(CheckQueries(queries));
  const CandidateRows rows(queries);
  const Eigen::VectorXd solution =
      SolveRidge(rows, rows.Relevances(), rows.Penalties(l2));
  RegressionResult result;
  result.weights.assign(solution.begin(), solution.end() - 1);
  result.intercept = solution[rows.columns() - 1];
  return result;
}

}  // namespace sortition
