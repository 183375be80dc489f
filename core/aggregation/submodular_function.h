#pragma once
// Submodular functions and their Lovász-Bregman divergences [IyerBilmes13]:
// how far scores x are from an order σ,
//   d(x‖σ) = <x, h_σx - h_σ>  (eq. 12),
// h_σ the extreme subgradient of the Lovász extension f̂ at points of order σ
// (lemma 2.2), σ_x the order of x. It is convex in x, never negative, 0 where σ
// orders x, and small where x hardly tells items apart.
//
// Where f separates pairs in both directions, d is twice what eq. 14 and rows
// 1 and 5 of table 1 print: f̂ counts an inverted pair once, <x, h_σ> once more.
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/aggregation/order.h"

namespace sortition {

// f over the sets of num_items items, f(∅) = 0. Immutable, thread-safe. Orders
// must be valid (ValidateOrder), scores finite.
class SubmodularFunction {
 public:
  virtual ~SubmodularFunction() = default;
  size_t num_items() const { return num_items_; }

  // f(S), `in_set` by item.
  virtual double Value(std::span<const uint8_t> in_set) const = 0;

  // h_σ: h[σ(j)] = f({σ(0) .. σ(j)}) - f({σ(0) .. σ(j-1)}).
  virtual void ExtremeSubgradient(std::span<const uint32_t> order,
                                  std::span<double> h) const = 0;

  // d(x‖σ), as a sum of terms that are not negative.
  virtual double Divergence(std::span<const double> x,
                            std::span<const uint32_t> order) const = 0;

 protected:
  explicit SubmodularFunction(size_t num_items) : num_items_(num_items) {}

 private:
  const size_t num_items_;
};

// f(S) = g(|S|), g concave: table 1, rows 1 to 4, 6 and 7; eq. 15 to 18.
class CardinalityFunction : public SubmodularFunction {
 public:
  // δ(r) = g(r + 1) - g(r), one for each item. InvalidArgument unless they are
  // finite and do not increase.
  static absl::StatusOr<std::unique_ptr<CardinalityFunction>> Create(
      std::vector<double> increments);

  // |S| |V∖S|: twice the sum of |x_i - x_j| over the inverted pairs, a weighted
  // Kendall's tau. For x of 1 (good) and 0 (bad) that is 2 |good| |bad| times
  // the area missing under the ROC curve (eq. 19).
  static std::unique_ptr<CardinalityFunction> AllPairs(size_t num_items);
  // min{|S|, m}: what the m first items lack (eq. 17); m = 1: max x - x(σ(0)).
  // m >= num_items: everything is in order.
  static std::unique_ptr<CardinalityFunction> Top(size_t num_items, size_t m);
  // δ(r) = 1 / log2(r + 2), r < cutoff: the loss in DCG of linear gain x (eq.
  // 18 without its denominator, IdealValue()). cutoff 0: all.
  static std::unique_ptr<CardinalityFunction> Dcg(size_t num_items,
                                                  size_t cutoff);
  // 1 unless S is empty or everything: what the first and the last item lack
  // of max x - min x (table 1, row 6; row 7 prints less for the same f).
  static std::unique_ptr<CardinalityFunction> Ends(size_t num_items);

  std::span<const double> increments() const { return increments_; }

  double Value(std::span<const uint8_t> in_set) const override;
  void ExtremeSubgradient(std::span<const uint32_t> order,
                          std::span<double> h) const override;
  // Σ_r (δ(r) - δ(r+1)) (largest sum of r+1 scores - that of σ's first), which
  // is eq. 15 summed by parts. O(n log n).
  double Divergence(std::span<const double> x,
                    std::span<const uint32_t> order) const override;

  // The same for many orders of one x: `falling` has x's values, falling. O(n).
  double DivergenceOfSorted(std::span<const double> falling,
                            std::span<const double> x,
                            std::span<const uint32_t> order) const;

 private:
  explicit CardinalityFunction(std::vector<double> increments);

  const std::vector<double> increments_;
};

// f(S) = Σ weight over edges from S to V∖S: eq. 14, table 1 row 5. Divergence:
// Σ weight |x_i - x_j| over the edges whose ends x has the other way round than
// σ, whichever way the edge points.
class CutFunction : public SubmodularFunction {
 public:
  struct Edge {
    uint32_t from;
    uint32_t to;
    double weight;  // >= 0.
  };

  // InvalidArgument where an edge has an end that is no item, both ends the
  // same, or a weight that is negative or not finite.
  static absl::StatusOr<std::unique_ptr<CutFunction>> Create(
      size_t num_items, std::vector<Edge> edges);

  // Σ_i |[i in S] - [i+1 in S]| (table 1, row 5).
  static std::unique_ptr<CutFunction> Chain(size_t num_items);

  double Value(std::span<const uint8_t> in_set) const override;
  void ExtremeSubgradient(std::span<const uint32_t> order,
                          std::span<double> h) const override;
  // O(n + edges).
  double Divergence(std::span<const double> x,
                    std::span<const uint32_t> order) const override;

 private:
  CutFunction(size_t num_items, std::vector<Edge> edges);

  const std::vector<Edge> edges_;
};

// f̂(x) = <h_σx, x> (eq. 8).
double LovaszExtension(const SubmodularFunction& f, std::span<const double> x);

// d(x‖σ) by eq. 12 itself.
double DivergenceByDefinition(const SubmodularFunction& f,
                              std::span<const double> x,
                              std::span<const uint32_t> order);

// Distance of scores from a partial order: Σ weight max(0, x_to - x_from) over
// its edges, `from` better than `to` (sec. 3, "Extensions to partial
// orderings"): d(x‖σ) of the cut for any σ that obeys them. Requires valid
// edges.
double PartialOrderDivergence(std::span<const double> x,
                              std::span<const CutFunction::Edge> better);

// An order of the sizes of values and their signs.
struct SignedOrder {
  Order order;
  std::vector<int8_t> signs;  // By item: -1 or 1.
};

// The extended divergence d_|f̂|(x‖σ, s) = f̂(|x|) - Σ x_i s_i h_σ(i) (sec. 2.3):
// orders with signs tell (-1, -2) from (2, 1). InvalidArgument where h_σ has a
// negative entry: f must be monotone, or f̂(|x|) is not convex.
absl::StatusOr<double> ExtendedDivergence(const SubmodularFunction& f,
                                          std::span<const double> x,
                                          const SignedOrder& order);

}  // namespace sortition
