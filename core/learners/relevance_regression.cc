#include "core/learners/relevance_regression.h"

#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/learners/ridge.h"

namespace sortition {
namespace {

// Rows (x_i, 1) of all queries, one after the other.
class CandidateRows : public RidgeRows {
 public:
  explicit CandidateRows(std::span<const GameQuery> queries)
      : queries_(queries), columns_(queries[0].items.num_features() + 1) {
    for (const GameQuery& query : queries) {
      rows_ += query.items.num_candidates();
    }
  }

  Eigen::Index rows() const override { return rows_; }
  Eigen::Index columns() const override { return columns_; }

  void Multiply(const Eigen::VectorXd& v,
                Eigen::VectorXd* products) const override {
    products->resize(rows_);
    const std::span<const double> weights(v.data(), columns_ - 1);
    size_t row = 0;
    for (const GameQuery& query : queries_) {
      const size_t n = query.items.num_candidates();
      ScoreAll(query.items, weights, {products->data() + row, n});
      row += n;
    }
    products->array() += v[columns_ - 1];
  }

  void AddTransposed(const Eigen::VectorXd& factors,
                     Eigen::VectorXd* sum) const override {
    Eigen::Index row = 0;
    for (const GameQuery& query : queries_) {
      for (uint32_t i = 0; i < query.items.num_candidates(); ++i) {
        query.items.AddRow(i, factors[row++],
                           {sum->data(), static_cast<size_t>(columns_ - 1)});
      }
    }
    (*sum)[columns_ - 1] += factors.sum();
  }

  void AddSquares(Eigen::VectorXd* sum) const override {
    Eigen::VectorXd row(columns_ - 1);
    for (const GameQuery& query : queries_) {
      for (uint32_t i = 0; i < query.items.num_candidates(); ++i) {
        row.setZero();
        query.items.AddRow(i, 1, {row.data(), static_cast<size_t>(row.size())});
        sum->head(columns_ - 1) += row.cwiseAbs2();
      }
    }
    (*sum)[columns_ - 1] += static_cast<double>(rows_);
  }

 private:
  std::span<const GameQuery> queries_;
  Eigen::Index rows_ = 0;
  Eigen::Index columns_ = 0;
};

}  // namespace

absl::StatusOr<RegressionResult> FitRelevance(
    std::span<const GameQuery> queries, double l2) {
  if (!(l2 >= 0 && l2 < HUGE_VAL)) {
    return absl::InvalidArgumentError(
        absl::StrCat("l2 is ", l2, ", must be finite and at least 0"));
  }
  RETURN_IF_ERROR(CheckQueries(queries));
  const CandidateRows rows(queries);
  Eigen::VectorXd targets(rows.rows());
  Eigen::Index row = 0;
  for (const GameQuery& query : queries) {
    for (const uint32_t relevance : query.relevances) {
      targets[row++] = relevance;
    }
  }
  Eigen::VectorXd penalties = Eigen::VectorXd::Constant(rows.columns(), l2);
  penalties[rows.columns() - 1] = 0;
  const Eigen::VectorXd solution = SolveRidge(rows, targets, penalties);
  RegressionResult result;
  result.weights.assign(solution.begin(), solution.end() - 1);
  result.intercept = solution[rows.columns() - 1];
  return result;
}

}  // namespace sortition
