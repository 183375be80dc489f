#pragma once
// Labellings of a sequence (seed 001, sec. 17.3). A labelling y has a label for
// each of r places; its score has a term for each place and a term for each
// pair of adjacent labels:
//   S(y) = Σ_j U(j, y_j) + Σ_{j>0} T(y_{j-1}, y_j).
// The best labelling is found by dynamic programming (Viterbi), and the sum
// over all labellings, for conditional random fields, by forward and backward
// recursions. Both cost O(r q²) for q labels.
#include <cstdint>
#include <span>
#include <vector>

#include "Eigen/Core"

namespace sortition {

// Reusable. All functions require U of size r × q with r >= 1 and T of size q ×
// q, both finite.
class LabelChain {
 public:
  // Returns max_y S(y) and writes the best y; ties go to the first one in
  // lexicographic order from the last place. If `truth` has r labels, it
  // maximises the loss-augmented score S(y) + weight · (share of places where y
  // is wrong) instead; if it is empty, there is no loss.
  double Maximise(const Eigen::MatrixXd& unary,
                  const Eigen::MatrixXd& transitions,
                  std::span<const uint32_t> truth, double weight,
                  std::vector<uint32_t>* labels);

  // Returns log Σ_y exp(S(y)).
  double Sum(const Eigen::MatrixXd& unary, const Eigen::MatrixXd& transitions);
  // The derivatives of the last Sum() with respect to U and T: P(y_j = a), r ×
  // q, and Σ_j P(y_{j-1} = a, y_j = b), q × q.
  const Eigen::MatrixXd& marginals() const { return marginals_; }
  const Eigen::MatrixXd& transition_counts() const { return counts_; }

 private:
  Eigen::MatrixXd best_;
  Eigen::Matrix<uint32_t, Eigen::Dynamic, Eigen::Dynamic> before_;
  Eigen::MatrixXd forward_;   // log Σ over the labels before a place, r × q.
  Eigen::MatrixXd backward_;  // log Σ over the labels after it, r × q.
  Eigen::MatrixXd marginals_;
  Eigen::MatrixXd counts_;
};

// Returns S(y).
double ChainScore(const Eigen::MatrixXd& unary,
                  const Eigen::MatrixXd& transitions,
                  std::span<const uint32_t> labels);

}  // namespace sortition
