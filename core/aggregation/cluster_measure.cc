#include "core/aggregation/cluster_measure.h"

#include <algorithm>
#include <span>
#include <vector>

#include "core/aggregation/order.h"
#include "core/aggregation/tied_orders.h"

namespace sortition {
namespace {

using Index = Eigen::Index;

// Rounding error of a sum, relative to the sum of the sizes of its terms.
constexpr double kSumTolerance = 1e-12;

double SizeOfTerms(const Eigen::RowVectorXd& h, const ScoreMatrix& vectors,
                   Index i) {
  return h.cwiseAbs().dot(vectors.row(i).cwiseAbs());
}

}  // namespace

ScoreMatrix WithoutLeast(const ScoreMatrix& vectors, const BlockFunction& f) {
  ScoreMatrix result = vectors;
  for (Index i = 0; i < result.rows(); ++i) {
    for (size_t b = 0; b < f.num_blocks(); ++b) {
      auto block = result.row(i).segment(
          static_cast<Index>(f.begin(b)),
          static_cast<Index>(f.begin(b + 1) - f.begin(b)));
      block.array() -= block.minCoeff();
    }
  }
  return result;
}

VectorMeasure::VectorMeasure(const ScoreMatrix& vectors, const BlockFunction& f)
    : vectors_(vectors),
      f_(f),
      extensions_(vectors.rows()),
      reversed_(vectors.rows()),
      by_chance_(vectors.rows()) {
  Eigen::RowVectorXd chance(vectors.cols());
  const std::vector<double> equal(f.num_items());
  MeanSubgradient(f, equal, {chance.data(), f.num_items()});
  for (Index i = 0; i < vectors.rows(); ++i) Measure(i, chance);
}

void VectorMeasure::Measure(Index i, const Eigen::RowVectorXd& chance) {
  Order order = OrderOf({vectors_.row(i).data(), f_.num_items()});
  Eigen::RowVectorXd h(vectors_.cols());
  const std::span<double> entries(h.data(), f_.num_items());
  f_.ExtremeSubgradient(order, entries);
  extensions_(i) = h.dot(vectors_.row(i));
  rounding_ += kSumTolerance * SizeOfTerms(h, vectors_, i);
  std::reverse(order.begin(), order.end());
  f_.ExtremeSubgradient(order, entries);
  reversed_(i) = Divergence(i, h);
  by_chance_(i) = Divergence(i, chance);
}

double VectorMeasure::Divergence(Index i, const Eigen::RowVectorXd& h) const {
  const double divergence = extensions_(i) - h.dot(vectors_.row(i));
  return divergence > kSumTolerance * SizeOfTerms(h, vectors_, i) ? divergence
                                                                  : 0;
}

}  // namespace sortition
