#pragma once
// Scores w·x of all candidates of a few tuples, and the way back from
// derivatives by scores to those by w.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "Eigen/Core"
#include "core/learners/counterfactual/bandit_tuple.h"
#include "core/learners/counterfactual/feature_block.h"

namespace sortition {

// Not thread-safe.
class RowScores {
 public:
  // `tuples` must outlive this.
  RowScores(uint32_t num_features, std::span<const BanditTuple> tuples)
      : num_features_(num_features), tuples_(tuples) {}

  // Lets k stand for tuples[k] from now on, and computes their scores.
  void Assign(const Eigen::VectorXd& parameters,
              std::span<const uint32_t> tuples);

  size_t size() const { return block_.size(); }
  // The tuple that k stands for.
  size_t tuple(size_t k) const { return block_[k]; }
  // The scores of the rows of the k-th tuple are scores() from begin(k) on.
  size_t begin(size_t k) const { return begins_[k]; }
  std::span<const double> scores() const { return scores_; }
  std::span<const double> scores(size_t k) const {
    return std::span<const double>(scores_).subspan(
        begins_[k], begins_[k + 1] - begins_[k]);
  }

  // Adds Σ_row factors[row] x_row of the k-th tuple. Cheap for ascending k.
  void AddRows(size_t k, std::span<const double> factors,
               Eigen::VectorXd* gradient);

 private:
  uint32_t num_features_;
  std::span<const BanditTuple> tuples_;
  std::vector<uint32_t> block_;
  std::vector<size_t> begins_;
  FeatureBlock features_;
  std::vector<double> scores_;
  std::vector<uint32_t> indexes_;  // 0, 1, 2 …
};

}  // namespace sortition
