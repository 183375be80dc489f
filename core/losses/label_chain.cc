#include "core/losses/label_chain.h"

#include <cmath>

namespace sortition {

using Index = Eigen::Index;

namespace {

double LogSum(const Eigen::VectorXd& values) {
  const double largest = values.maxCoeff();
  return largest + std::log((values.array() - largest).exp().sum());
}

}  // namespace

double ChainScore(const Eigen::MatrixXd& unary,
                  const Eigen::MatrixXd& transitions,
                  std::span<const uint32_t> labels) {
  double score = 0;
  for (size_t j = 0; j < labels.size(); ++j) {
    score += unary(static_cast<Index>(j), labels[j]);
    if (j > 0) score += transitions(labels[j - 1], labels[j]);
  }
  return score;
}

double LabelChain::Maximise(const Eigen::MatrixXd& unary,
                            const Eigen::MatrixXd& transitions,
                            std::span<const uint32_t> truth, double weight,
                            std::vector<uint32_t>* labels) {
  const Index r = unary.rows();
  const Index q = unary.cols();
  best_ = unary;
  if (!truth.empty()) {
    const double loss = weight / static_cast<double>(r);
    best_.array() += loss;
    for (Index j = 0; j < r; ++j)
      best_(j, truth[static_cast<size_t>(j)]) -= loss;
  }
  before_.resize(r, q);
  for (Index j = 1; j < r; ++j) {
    for (Index b = 0; b < q; ++b) {
      Index a = 0;
      best_(j, b) +=
          (best_.row(j - 1).transpose() + transitions.col(b)).maxCoeff(&a);
      before_(j, b) = static_cast<uint32_t>(a);
    }
  }
  labels->resize(static_cast<size_t>(r));
  Index last = 0;
  const double score = best_.row(r - 1).maxCoeff(&last);
  for (Index j = r; j-- > 0;) {
    (*labels)[static_cast<size_t>(j)] = static_cast<uint32_t>(last);
    if (j > 0) last = before_(j, last);
  }
  return score;
}

// Computes with logarithms throughout, so that transitions may be arbitrarily
// unlikely.
double LabelChain::Sum(const Eigen::MatrixXd& unary,
                       const Eigen::MatrixXd& transitions) {
  const Index r = unary.rows();
  const Index q = unary.cols();
  forward_ = unary;
  for (Index j = 1; j < r; ++j) {
    for (Index b = 0; b < q; ++b) {
      forward_(j, b) +=
          LogSum(forward_.row(j - 1).transpose() + transitions.col(b));
    }
  }
  const double log_sum = LogSum(forward_.row(r - 1).transpose());
  backward_.setZero(r, q);
  counts_.setZero(q, q);
  for (Index j = r - 1; j > 0; --j) {
    const Eigen::VectorXd below = (unary.row(j) + backward_.row(j)).transpose();
    for (Index a = 0; a < q; ++a) {
      const Eigen::VectorXd paths = transitions.row(a).transpose() + below;
      backward_(j - 1, a) = LogSum(paths);
      counts_.row(a) +=
          (paths.array() + (forward_(j - 1, a) - log_sum)).exp().matrix();
    }
  }
  marginals_ = (forward_.array() + backward_.array() - log_sum).exp();
  return log_sum;
}

}  // namespace sortition
