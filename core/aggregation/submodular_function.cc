#include "core/aggregation/submodular_function.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

namespace sortition {

CardinalityFunction::CardinalityFunction(std::vector<double> increments)
    : SubmodularFunction(increments.size()),
      increments_(std::move(increments)) {}

absl::StatusOr<std::unique_ptr<CardinalityFunction>>
CardinalityFunction::Create(std::vector<double> increments) {
  for (size_t r = 0; r < increments.size(); ++r) {
    if (!std::isfinite(increments[r])) {
      return absl::InvalidArgumentError(absl::StrCat(
          "increments[", r, "] is ", increments[r], ", must be finite"));
    }
    if (r > 0 && increments[r] > increments[r - 1]) {
      return absl::InvalidArgumentError(absl::StrCat(
          "increments[", r, "] is ", increments[r],
          ", must be at most increments[", r - 1, "] = ", increments[r - 1]));
    }
  }
  return std::unique_ptr<CardinalityFunction>(
      new CardinalityFunction(std::move(increments)));
}

std::unique_ptr<CardinalityFunction> CardinalityFunction::AllPairs(
    size_t num_items) {
  std::vector<double> increments(num_items);
  for (size_t r = 0; r < num_items; ++r) {
    increments[r] =
        static_cast<double>(num_items) - 1 - 2 * static_cast<double>(r);
  }
  return std::unique_ptr<CardinalityFunction>(
      new CardinalityFunction(std::move(increments)));
}

std::unique_ptr<CardinalityFunction> CardinalityFunction::Top(size_t num_items,
                                                              size_t m) {
  std::vector<double> increments(num_items);
  std::fill_n(increments.begin(), std::min(m, num_items), 1);
  return std::unique_ptr<CardinalityFunction>(
      new CardinalityFunction(std::move(increments)));
}

std::unique_ptr<CardinalityFunction> CardinalityFunction::Dcg(size_t num_items,
                                                              size_t cutoff) {
  std::vector<double> increments(num_items);
  const size_t ranks = cutoff == 0 ? num_items : std::min(cutoff, num_items);
  for (size_t r = 0; r < ranks; ++r) {
    increments[r] = 1 / std::log2(static_cast<double>(r) + 2);
  }
  return std::unique_ptr<CardinalityFunction>(
      new CardinalityFunction(std::move(increments)));
}

std::unique_ptr<CardinalityFunction> CardinalityFunction::Ends(
    size_t num_items) {
  std::vector<double> increments(num_items);
  if (num_items > 1) {
    increments.front() = 1;
    increments.back() = -1;
  }
  return std::unique_ptr<CardinalityFunction>(
      new CardinalityFunction(std::move(increments)));
}

double CardinalityFunction::Value(std::span<const uint8_t> in_set) const {
  double value = 0;
  size_t size = 0;
  for (const uint8_t in : in_set) {
    if (in != 0) value += increments_[size++];
  }
  return value;
}

void CardinalityFunction::ExtremeSubgradient(std::span<const uint32_t> order,
                                             std::span<double> h) const {
  for (size_t r = 0; r < order.size(); ++r) h[order[r]] = increments_[r];
}

double CardinalityFunction::DivergenceOfSorted(
    std::span<const double> falling, std::span<const double> x,
    std::span<const uint32_t> order) const {
  // The scores are read in random order, so they are prefetched this far ahead.
  constexpr size_t kAhead = 32;
  const size_t n = order.size();
  double divergence = 0;
  double lack = 0;
  for (size_t r = 0; r + 1 < n; ++r) {
    __builtin_prefetch(&x[order[std::min(r + kAhead, n - 1)]]);
    lack += falling[r] - x[order[r]];
    divergence += (increments_[r] - increments_[r + 1]) * std::max(0.0, lack);
  }
  return divergence;
}

double CardinalityFunction::Divergence(std::span<const double> x,
                                       std::span<const uint32_t> order) const {
  std::vector<double> falling;
  Sorter().SortValues(x, &falling);
  return DivergenceOfSorted(falling, x, order);
}

void CardinalityFunction::TiedSubgradient(std::span<const uint32_t> ties,
                                          std::span<double> h) const {
  std::vector<size_t> sizes(num_items());
  for (const uint32_t tie : ties) ++sizes[tie];
  std::vector<double> means(num_items());
  for (size_t tie = 0, begin = 0; tie < sizes.size(); begin += sizes[tie++]) {
    double sum = 0;
    for (size_t r = begin; r < begin + sizes[tie]; ++r) sum += increments_[r];
    if (sizes[tie] > 0) means[tie] = sum / static_cast<double>(sizes[tie]);
  }
  for (size_t i = 0; i < ties.size(); ++i) h[i] = means[ties[i]];
}

CutFunction::CutFunction(size_t num_items, std::vector<Edge> edges)
    : SubmodularFunction(num_items), edges_(std::move(edges)) {}

absl::StatusOr<std::unique_ptr<CutFunction>> CutFunction::Create(
    size_t num_items, std::vector<Edge> edges) {
  for (size_t e = 0; e < edges.size(); ++e) {
    const auto& [from, to, weight] = edges[e];
    if (from >= num_items || to >= num_items || from == to) {
      return absl::InvalidArgumentError(
          absl::StrCat("edges[", e, "] is from ", from, " to ", to,
                       ", must join two items below ", num_items));
    }
    if (!(weight >= 0 && weight < HUGE_VAL)) {
      return absl::InvalidArgumentError(
          absl::StrCat("edges[", e, "].weight is ", weight,
                       ", must be at least 0 and finite"));
    }
  }
  return std::unique_ptr<CutFunction>(
      new CutFunction(num_items, std::move(edges)));
}

std::unique_ptr<CutFunction> CutFunction::Chain(size_t num_items) {
  std::vector<Edge> edges;
  for (uint32_t i = 0; i + 1 < num_items; ++i) {
    edges.push_back({i, i + 1, 1});
    edges.push_back({i + 1, i, 1});
  }
  return std::unique_ptr<CutFunction>(
      new CutFunction(num_items, std::move(edges)));
}

double CutFunction::Value(std::span<const uint8_t> in_set) const {
  double value = 0;
  for (const auto& [from, to, weight] : edges_) {
    if (in_set[from] != 0 && in_set[to] == 0) value += weight;
  }
  return value;
}

void CutFunction::ExtremeSubgradient(std::span<const uint32_t> order,
                                     std::span<double> h) const {
  const std::vector<uint32_t> ranks = RanksOf(order);
  std::fill(h.begin(), h.end(), 0);
  // While items are added in this order, an edge is cut from the step that adds
  // `from` until the step that adds `to`.
  for (const auto& [from, to, weight] : edges_) {
    if (ranks[from] > ranks[to]) continue;
    h[from] += weight;
    h[to] -= weight;
  }
}

double CutFunction::Divergence(std::span<const double> x,
                               std::span<const uint32_t> order) const {
  const std::vector<uint32_t> ranks = RanksOf(order);
  double divergence = 0;
  for (const auto& [from, to, weight] : edges_) {
    const double lead =
        ranks[from] < ranks[to] ? x[from] - x[to] : x[to] - x[from];
    divergence += weight * std::max(0.0, -lead);
  }
  return divergence;
}

void CutFunction::TiedSubgradient(std::span<const uint32_t> ties,
                                  std::span<double> h) const {
  std::fill(h.begin(), h.end(), 0);
  // Half of the orders of a tie have `from` first.
  for (const auto& [from, to, weight] : edges_) {
    if (ties[from] > ties[to]) continue;
    const double mean = ties[from] == ties[to] ? weight / 2 : weight;
    h[from] += mean;
    h[to] -= mean;
  }
}

double LovaszExtension(const SubmodularFunction& f, std::span<const double> x) {
  std::vector<double> h(x.size());
  f.ExtremeSubgradient(OrderOf(x), h);
  double value = 0;
  for (size_t i = 0; i < x.size(); ++i) value += h[i] * x[i];
  return value;
}

double DivergenceByDefinition(const SubmodularFunction& f,
                              std::span<const double> x,
                              std::span<const uint32_t> order) {
  std::vector<double> h(x.size());
  f.ExtremeSubgradient(order, h);
  double value = LovaszExtension(f, x);
  for (size_t i = 0; i < x.size(); ++i) value -= h[i] * x[i];
  return value;
}

double PartialOrderDivergence(std::span<const double> x,
                              std::span<const CutFunction::Edge> better) {
  double divergence = 0;
  for (const auto& [from, to, weight] : better) {
    divergence += weight * std::max(0.0, x[to] - x[from]);
  }
  return divergence;
}

absl::StatusOr<double> ExtendedDivergence(const SubmodularFunction& f,
                                          std::span<const double> x,
                                          const SignedOrder& order) {
  std::vector<double> h(x.size());
  f.ExtremeSubgradient(order.order, h);
  std::vector<double> sizes(x.size());
  double product = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (h[i] < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("the function adds ", h[i], " with item ", i,
                       ", must be monotone: at least 0"));
    }
    sizes[i] = std::abs(x[i]);
    product += x[i] * order.signs[i] * h[i];
  }
  return LovaszExtension(f, sizes) - product;
}

}  // namespace sortition
