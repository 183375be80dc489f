#pragma once
// Labellings of a sequence (seed 001, sec. 17.3): a label for each of r places,
// scored by what it says of its place and by the label before,
//   S(y) = Σ_j U(j, y_j) + Σ_{j>0} T(y_{j-1}, y_j).
// The best one by dynamic programming (Viterbi), the sum over all (forward,
// backward) for conditional random fields: O(r q²) for q labels.
#include <cstdint>
#include <span>
#include <vector>

#include "Eigen/Core"

namespace sortition {

// Reusable. All take U as r × q, r >= 1, T as q × q, finite.
class LabelChain {
 public:
  // Returns max_y S(y) and writes its y, the first in lexicographic order from
  // the end where several are best. With `truth` (r labels) it is the
  // loss-augmented maximum max_y S(y) + weight · (share of places where y is
  // wrong); empty: without loss.
  double Maximise(const Eigen::MatrixXd& unary,
                  const Eigen::MatrixXd& transitions,
                  std::span<const uint32_t> truth, double weight,
                  std::vector<uint32_t>* labels);

  // Returns log Σ_y exp(S(y)).
  double Sum(const Eigen::MatrixXd& unary, const Eigen::MatrixXd& transitions);
  // After Sum(): P(y_j = a), r × q; and Σ_j P(y_{j-1} = a, y_j = b), q × q: the
  // derivatives of the logarithm by U and T.
  const Eigen::MatrixXd& marginals() const { return marginals_; }
  const Eigen::MatrixXd& transition_counts() const { return counts_; }

 private:
  Eigen::MatrixXd best_;
  Eigen::Matrix<uint32_t, Eigen::Dynamic, Eigen::Dynamic> before_;
  Eigen::MatrixXd forward_;   // log Σ over what comes before a label, r × q;
  Eigen::MatrixXd backward_;  // after it.
  Eigen::MatrixXd marginals_;
  Eigen::MatrixXd counts_;
};

// S(y).
double ChainScore(const Eigen::MatrixXd& unary,
                  const Eigen::MatrixXd& transitions,
                  std::span<const uint32_t> labels);

}  // namespace sortition
