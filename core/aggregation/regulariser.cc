#include "core/aggregation/regulariser.h"

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace sortition {

double AddOrderPenalty(const SubmodularFunction& f,
                       std::span<const uint32_t> order, double lambda,
                       std::span<const double> x, std::span<double> gradient) {
  const size_t n = x.size();
  std::vector<double> h(n);
  f.ExtremeSubgradient(OrderAlong(x, order), h);
  for (size_t i = 0; i < n; ++i) gradient[i] += lambda * h[i];
  f.ExtremeSubgradient(order, h);
  for (size_t i = 0; i < n; ++i) gradient[i] -= lambda * h[i];
  return lambda * f.Divergence(x, order);
}

absl::Status ProximalOrder(const CardinalityFunction& f,
                           std::span<const uint32_t> order, double lambda,
                           std::span<const double> z, std::span<double> x) {
  const size_t n = f.num_items();
  RETURN_IF_ERROR(ValidateOrder(order, n));
  if (z.size() != n || x.size() != n) {
    return absl::InvalidArgumentError(absl::StrCat(
        "z has ", z.size(), " and x ", x.size(), " entries, must have ", n));
  }
  if (!(lambda >= 0 && lambda < HUGE_VAL)) {
    return absl::InvalidArgumentError(
        absl::StrCat("lambda is ", lambda, ", must be at least 0 and finite"));
  }
  const std::span<const double> increments = f.increments();
  std::vector<double> u(z.begin(), z.end());
  for (size_t r = 0; r < n; ++r) u[order[r]] += lambda * increments[r];
  const Order sorted = OrderOf(u);
  struct Block {
    double sum;
    size_t size;
    double mean() const { return sum / static_cast<double>(size); }
  };
  std::vector<Block> blocks;
  for (size_t r = 0; r < n; ++r) {
    blocks.push_back({u[sorted[r]] - lambda * increments[r], 1});
    while (blocks.size() > 1 &&
           blocks[blocks.size() - 2].mean() <= blocks.back().mean()) {
      const Block last = blocks.back();
      blocks.pop_back();
      blocks.back().sum += last.sum;
      blocks.back().size += last.size;
    }
  }
  size_t r = 0;
  for (const Block& block : blocks) {
    for (size_t i = 0; i < block.size; ++i) x[sorted[r++]] = block.mean();
  }
  return absl::OkStatus();
}

}  // namespace sortition
