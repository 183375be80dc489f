#include "core/learners/rankings/row_scores.h"

namespace sortition {

void RowScores::Assign(const Eigen::VectorXd& parameters,
                       std::span<const uint32_t> tuples) {
  block_.assign(tuples.begin(), tuples.end());
  features_.Assign(tuples_, block_);
  scores_.clear();
  begins_.assign(1, 0);
  for (size_t k = 0; k < block_.size(); ++k) {
    const Candidates& candidates = features_[k];
    const size_t rows = candidates.num_candidates();
    while (indexes_.size() < rows) {
      indexes_.push_back(static_cast<uint32_t>(indexes_.size()));
    }
    scores_.resize(begins_[k] + rows);
    candidates.Scores(std::span(indexes_).first(rows),
                      {parameters.data(), num_features_},
                      std::span(scores_).subspan(begins_[k]));
    begins_.push_back(scores_.size());
  }
}

void RowScores::AddRows(size_t k, std::span<const double> factors,
                        Eigen::VectorXd* gradient) {
  const Candidates& candidates = features_[k];
  const std::span<double> weights(gradient->data(), num_features_);
  for (uint32_t row = 0; row < factors.size(); ++row) {
    if (factors[row] != 0) candidates.AddRow(row, factors[row], weights);
  }
}

}  // namespace sortition
