#include "core/learners/labelled/candidate_rows.h"

#include "core/data/labelled_queries.h"

namespace sortition {

CandidateRows::CandidateRows(std::span<const LabelledItems> queries)
    : queries_(queries), columns_(queries[0].items.num_features() + 1) {
  for (const LabelledItems& query : queries) {
    rows_ += query.items.num_candidates();
  }
}

void CandidateRows::Multiply(const Eigen::VectorXd& v,
                             Eigen::VectorXd* products) const {
  products->resize(rows_);
  const std::span<const double> weights(v.data(), columns_ - 1);
  size_t row = 0;
  for (const LabelledItems& query : queries_) {
    const size_t n = query.items.num_candidates();
    ScoreAll(query.items, weights, {products->data() + row, n});
    row += n;
  }
  products->array() += v[columns_ - 1];
}

void CandidateRows::AddTransposed(const Eigen::VectorXd& factors,
                                  Eigen::VectorXd* sum) const {
  Eigen::Index row = 0;
  for (const LabelledItems& query : queries_) {
    for (uint32_t i = 0; i < query.items.num_candidates(); ++i) {
      query.items.AddRow(i, factors[row++],
                         {sum->data(), static_cast<size_t>(columns_ - 1)});
    }
  }
  (*sum)[columns_ - 1] += factors.sum();
}

void CandidateRows::AddSquares(Eigen::VectorXd* sum) const {
  Eigen::VectorXd row(columns_ - 1);
  for (const LabelledItems& query : queries_) {
    for (uint32_t i = 0; i < query.items.num_candidates(); ++i) {
      row.setZero();
      query.items.AddRow(i, 1, {row.data(), static_cast<size_t>(row.size())});
      sum->head(columns_ - 1) += row.cwiseAbs2();
    }
  }
  (*sum)[columns_ - 1] += static_cast<double>(rows_);
}

Eigen::VectorXd CandidateRows::Relevances() const {
  Eigen::VectorXd relevances(rows_);
  Eigen::Index row = 0;
  for (const LabelledItems& query : queries_) {
    for (const uint32_t relevance : query.relevances) {
      relevances[row++] = relevance;
    }
  }
  return relevances;
}

Eigen::VectorXd CandidateRows::Penalties(double l2) const {
  Eigen::VectorXd penalties = Eigen::VectorXd::Constant(columns_, l2);
  penalties[columns_ - 1] = 0;
  return penalties;
}

}  // namespace sortition
